"""Lowering of a resolved document to an `Api`, independent of the OpenAPI version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from msgspec import Struct

from mcpgen.absent import ABSENT
from mcpgen.diagnostics import OperationRefusedError, Problems
from mcpgen.ir.api import (
    VENDOR_EXTENSIONS,
    Api,
    ApiInfo,
    ExtensionPrompt,
    Operation,
    Parameter,
    SecurityRequirement,
    Server,
    SkippedOperation,
    VendorExtensions,
    skip_operation,
)
from mcpgen.ir.document import Document
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.jsonschema.values import value_at
from mcpgen.openapi.lower import swagger
from mcpgen.openapi.lower.content import ContentLowering, with_roots
from mcpgen.openapi.lower.file_parts import with_file_parts
from mcpgen.openapi.lower.nodes import Node, Source, object_of
from mcpgen.openapi.lower.parameters import (
    CREDENTIAL_HEADERS,
    ParameterLowering,
    match_template,
    merge,
)
from mcpgen.openapi.lower.schema import SchemaLowering
from mcpgen.openapi.lower.security import read_schemes, read_security
from mcpgen.openapi.lower.servers import read_servers
from mcpgen.openapi.validate.grammar import METHODS
from mcpgen.text.json_pointer import pointer_tokens

_METHODS = ("delete", "get", "head", "options", "patch", "post", "put", "trace")
_METHOD_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,32}\Z")
DEFAULT_TAG = "default"


def lower(document: Document, problems: Problems) -> Api:
    """Lower a resolved document; operations that cannot be served are added to `skipped`.

    Each `$ref` in `document` starts with "#".
    """
    return _Lowering(Source(document, problems), document.skipped).api()


class _Lowering:
    def __init__(self, source: Source, skipped: tuple[SkippedOperation, ...]) -> None:
        self.source = source
        self.already_skipped = frozenset(left.operation for left in skipped)
        self.skipped = list(skipped)
        self.schemas = SchemaLowering(source)
        self.parameters = ParameterLowering(source, self.schemas)
        self.content = ContentLowering(source, self.schemas, self.parameters)
        self.is_2_0 = source.version == "2.0"

    def api(self) -> Api:
        root = self.source.root
        components = root if self.is_2_0 else root.child("components")
        home = "securityDefinitions" if self.is_2_0 else "securitySchemes"
        self.schemes = read_schemes(components.child(home), self.source)
        self.known_schemes = {scheme.id: scheme for scheme in self.schemes}
        self.security = read_security(root.child("security"), self.known_schemes, self.source) or ()
        self.servers = (
            swagger.read_servers(self.source)
            if self.is_2_0
            else read_servers(root.child("servers"), self.source)
        )
        found = list(self._operations())
        schemas = self.schemas.finish()
        operations = [
            with_file_parts(with_roots(operation, schemas), schemas) for operation in found
        ]
        info = root.child("info")
        return Api(
            title=info.text("title"),
            version=str(object_of(info.value).get("version") or ""),
            description=info.text("description"),
            servers=self.servers,
            security_schemes=self.schemes,
            operations=tuple(sorted(operations, key=lambda it: (it.tag, it.path, it.method))),
            schemas=schemas,
            tag_descriptions={
                tag.text("name"): tag.text("description")
                for tag in root.child("tags").elements()
                if tag.text("name")
            },
            skipped=tuple(sorted(self.skipped, key=lambda left: left.operation)),
            prompts=tuple(self._prompts(root.child("x-mcp-prompts"))),
            infos=(ApiInfo(info.text("title"), info.text("summary"), info.text("description")),),
        )

    def _prompts(self, node: Node) -> Iterator[ExtensionPrompt]:
        """Yield the prompts of a list, or of an object by name."""
        for item in node.elements():
            if isinstance(item.value, dict):
                yield ExtensionPrompt(item.text("name"), item.value, self.source.at(item.pointer))
        for name, item in node.members():
            if isinstance(item.value, dict):
                yield ExtensionPrompt(name, item.value, self.source.at(item.pointer))

    def _operations(self) -> Iterator[Operation]:
        for path, declared in self.source.root.child("paths").members():
            if path.startswith("x-"):
                continue
            try:
                item = self._path_item(declared)
            except OperationRefusedError as refused:
                self.skipped.append(skip_operation(f"* {path}", refused, self.source.problems))
                continue
            if not isinstance(item.value, dict):
                self.source.warn("path-item", "invalid path item: expected an object", item.pointer)
                continue
            for method, node in self._methods(item):
                if f"{method} {path}" in self.already_skipped:
                    continue
                try:
                    yield self._operation(path, method, node, item)
                except OperationRefusedError as refused:
                    self.skipped.append(
                        skip_operation(f"{method} {path}", refused, self.source.problems)
                    )

    def _path_item(self, node: Node) -> Node:
        """Return the path item at `node`; keys beside its `$ref` take priority."""
        found = self.source.follow(node)
        beside = {key: value for key, value in object_of(node.value).items() if key != "$ref"}
        if found is node or not beside:
            return found
        return Node({**object_of(found.value), **beside}, found.pointer)

    def _methods(self, item: Node) -> Iterator[tuple[str, Node]]:
        methods = (*_METHODS, "query") if self.source.version == "3.2" else _METHODS
        for key, node in item.members():
            if key.lower() in methods and isinstance(node.value, dict):
                if key.lower() != key:
                    self.source.warn("method-case", f"`{key}` must be in lower case", node.pointer)
                yield key.upper(), node
        if self.source.version == "3.2":
            for key, node in item.child("additionalOperations").members():
                if isinstance(node.value, dict):
                    yield key, node

    def _operation(self, path: str, method: str, node: Node, item: Node) -> Operation:
        self._check_target(path, method, node)
        named = [element.value for element in node.child("tags").elements()]
        tags = tuple(tag for tag in named if isinstance(tag, str) and tag)
        if self.is_2_0:
            exchange = swagger.Exchange(node, self.source, self.schemas)
            parameters, body, responses = exchange.read(item)
        else:
            shared = self.parameters.read(item.child("parameters").elements())
            own = self.parameters.read(node.child("parameters").elements())
            parameters = merge(shared, own, self.source)
            body = self.content.request_body(node.child("requestBody"))
            responses = self.content.responses(node.child("responses"))
        own_security = read_security(node.child("security"), self.known_schemes, self.source)
        security = self.security if own_security is None else own_security
        reserved = [parameter for parameter in parameters if _is_reserved(parameter)]
        parameters = [parameter for parameter in parameters if not _is_reserved(parameter)]
        parameters = self._without_credentials(parameters, security)
        return Operation(
            method=method,
            path=path,
            operation_id=node.text("operationId").strip(),
            tag=tags[0] if tags else DEFAULT_TAG,
            summary=node.text("summary") or item.text("summary"),
            description=node.text("description") or item.text("description"),
            parameters=tuple(match_template(path, parameters, node, self.source)),
            request_body=body,
            responses=responses,
            security=security,
            reserved=tuple(reserved),
            is_public=object_of(node.value).get("security") == [],
            servers=self._servers(node, item),
            at=self.source.at(node.pointer),
            deprecated=node.flag("deprecated"),
            tags=tags,
            extensions={
                key: value for key, value in sorted(node.value.items()) if key.startswith("x-")
            },
            outer_extensions=tuple(self._outer_extensions(item)),
        )

    def _outer_extensions(self, item: Node) -> Iterator[VendorExtensions]:
        """Yield the vendor extensions of the path item, then of the document."""
        for holder, node in (("a path item", item), ("the root", self.source.root)):
            stated = {key: node.value[key] for key in VENDOR_EXTENSIONS if key in node.value}
            if stated:
                yield VendorExtensions(holder, self.source.at(node.pointer), stated)

    def _check_target(self, path: str, method: str, node: Node) -> None:
        at = self.source.at(node.pointer)
        if not _METHOD_TOKEN.match(method) or method.upper() == "CONNECT":
            raise OperationRefusedError("method", f"invalid method `{method}`", at)
        if not path.startswith("/"):
            raise OperationRefusedError(
                "path-template", f"its path `{path}` does not start with `/`", at, "add the slash"
            )

    def _servers(self, node: Node, item: Node) -> tuple[Server, ...]:
        own = read_servers(node.child("servers"), self.source)
        return own or read_servers(item.child("servers"), self.source) or self.servers

    def _without_credentials(
        self, parameters: list[Parameter], security: tuple[SecurityRequirement, ...]
    ) -> list[Parameter]:
        """Remove the parameters that a security scheme of the operation sends."""
        used = {use.scheme for requirement in security for use in requirement}
        sent = {
            (scheme.location, scheme.name.lower())
            for scheme in self.schemes
            if scheme.id in used and scheme.type == "apiKey"
        }
        kept = []
        for parameter in parameters:
            if (parameter.location, parameter.name.lower()) in sent:
                self.source.problems.note(
                    "credential-parameter",
                    f"the {parameter.location} parameter `{parameter.name}` is not an argument: a"
                    " security scheme sends it",
                    at=parameter.at,
                )
            else:
                kept.append(parameter)
        return kept


def _is_reserved(parameter: Parameter) -> bool:
    return parameter.location == "header" and parameter.name.lower() in CREDENTIAL_HEADERS


class RawOperation(Struct, frozen=True):
    """An operation of the document, not lowered, with its path item."""

    method: str  # in upper case; an additional one as the document spells it
    path: str
    tokens: tuple[str, ...]  # of the operation, after following the path item's `$ref`
    node: JsonObject
    path_item: JsonObject

    @property
    def key(self) -> str:
        """The key of the operation, as in `mcpgen.ir.api.Operation.key`."""
        return f"{self.method} {self.path}"


def operations(root: JsonObject) -> Iterator[RawOperation]:
    """Yield every operation under `paths`, in the document's order; ignore invalid objects."""
    paths = root.get("paths")
    for path, written in paths.items() if isinstance(paths, dict) else ():
        if path.startswith("x-"):
            continue
        tokens, item = follow(root, ("paths", path), written)
        if not isinstance(item, dict):
            continue
        for key in METHODS:
            if isinstance(node := item.get(key), dict):
                yield RawOperation(key.upper(), path, (*tokens, key), node, item)
        further = item.get("additionalOperations")
        for method, node in further.items() if isinstance(further, dict) else ():
            if isinstance(node, dict):
                place = (*tokens, "additionalOperations", method)
                yield RawOperation(method, path, place, node, item)


def follow(
    root: JsonObject, tokens: tuple[str, ...], node: JsonValue
) -> tuple[tuple[str, ...], JsonValue]:
    """Follow local references from a node; the value is None if they are broken or circular."""
    seen = set()
    while isinstance(node, dict) and isinstance(reference := node.get("$ref"), str):
        if reference in seen or not reference.startswith("#/"):
            return tokens, None
        seen.add(reference)
        pointer = unquote(reference[1:])
        tokens, node = pointer_tokens(pointer), value_at(root, pointer)
    return tokens, None if node is ABSENT else node
