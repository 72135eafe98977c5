"""A resolved document, understood: the same `Api` whatever version of OpenAPI said it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcpgen.diagnostics import OperationRefusedError, Problems
from mcpgen.ir.api import (
    PEER_EXTENSIONS,
    Api,
    ApiInfo,
    LeftOut,
    Operation,
    Parameter,
    PeerExtensions,
    SecurityRequirement,
    Server,
    WantedPrompt,
    leave_out,
)
from mcpgen.ir.document import Document
from mcpgen.spec import lower_swagger as swagger
from mcpgen.spec.lower_content import ContentLowering
from mcpgen.spec.lower_parameters import CREDENTIAL_HEADERS, ParameterLowering, merge
from mcpgen.spec.lower_schema import SchemaLowering
from mcpgen.spec.lower_security import read_schemes, read_security
from mcpgen.spec.lower_servers import read_servers
from mcpgen.spec.lower_source import Node, Source, object_of
from mcpgen.spec.lower_templates import match_template
from mcpgen.spec.lower_xml import with_roots

_METHODS = ("delete", "get", "head", "options", "patch", "post", "put", "trace")
_METHOD_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,32}\Z")
DEFAULT_TAG = "default"


def lower(document: Document, problems: Problems) -> Api:
    """What the document offers. Operations that cannot be served stand in `left_out`.

    `document` is resolved: each `$ref` in it starts with "#".
    """
    return _Lowering(Source(document, problems), document.left_out).api()


class _Lowering:
    def __init__(self, source: Source, left_out: tuple[LeftOut, ...]) -> None:
        self.source = source
        self.told = frozenset(left.operation for left in left_out)
        self.left_out = list(left_out)
        self.schemas = SchemaLowering(source)
        self.parameters = ParameterLowering(source, self.schemas)
        self.content = ContentLowering(source, self.schemas, self.parameters)
        self.is_2_0 = source.version == "2.0"

    def api(self) -> Api:
        root = self.source.root
        components = root if self.is_2_0 else root.child("components")
        home = "securityDefinitions" if self.is_2_0 else "securitySchemes"
        schemes = read_schemes(components.child(home), self.source)
        self.schemes = schemes
        self.known_schemes = frozenset(scheme.id for scheme in schemes)
        self.security = read_security(root.child("security"), self.known_schemes, self.source) or ()
        self.servers = (
            swagger.read_servers(self.source)
            if self.is_2_0
            else read_servers(root.child("servers"), self.source)
        )
        found = list(self._operations())
        schemas = self.schemas.finish()
        operations = [with_roots(operation, schemas) for operation in found]
        info = root.child("info")
        return Api(
            title=info.text("title"),
            version=str(object_of(info.value).get("version") or ""),
            description=info.text("description"),
            servers=self.servers,
            security_schemes=schemes,
            operations=tuple(sorted(operations, key=_order)),
            schemas=schemas,
            tag_descriptions={
                tag.text("name"): tag.text("description")
                for tag in root.child("tags").elements()
                if tag.text("name")
            },
            left_out=tuple(sorted(self.left_out, key=lambda left: left.operation)),
            prompts=tuple(self._prompts(root.child("x-mcp-prompts"))),
            infos=(ApiInfo(info.text("title"), info.text("summary"), info.text("description")),),
        )

    def _prompts(self, node: Node) -> Iterator[WantedPrompt]:
        """What a list, or an object by name, says of prompts."""
        for item in node.elements():
            if isinstance(item.value, dict):
                yield WantedPrompt(item.text("name"), item.value, self.source.at(item.pointer))
        if isinstance(node.value, dict):
            for name in node.value:
                item = node.child(name)
                if isinstance(item.value, dict):
                    yield WantedPrompt(name, item.value, self.source.at(item.pointer))

    def _operations(self) -> Iterator[Operation]:
        for path, declared in self.source.root.child("paths").members():
            if path.startswith("x-"):
                continue
            try:
                item = self._path_item(declared)
            except OperationRefusedError as refused:
                self.left_out.append(leave_out(f"* {path}", refused, self.source.problems))
                continue
            if not isinstance(item.value, dict):
                self.source.warn("path-item", "a path item is an object", item.pointer)
                continue
            for method, node in self._methods(item):
                if f"{method} {path}" in self.told:
                    continue
                try:
                    yield self._operation(path, method, node, item)
                except OperationRefusedError as refused:
                    self.left_out.append(
                        leave_out(f"{method} {path}", refused, self.source.problems)
                    )

    def _path_item(self, node: Node) -> Node:
        """The path item at `node`; what stands beside its `$ref` wins."""
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
                    self.source.warn("method-case", f"`{key}` is written small", node.pointer)
                yield key.upper(), node
        if self.source.version == "3.2":
            for key, node in item.child("additionalOperations").members():
                if isinstance(node.value, dict):
                    yield key, node

    def _operation(self, path: str, method: str, node: Node, item: Node) -> Operation:
        self._check_target(path, method, node)
        tags = tuple(
            tag for tag in object_of(node.value).get("tags") or () if isinstance(tag, str) and tag
        )
        if self.is_2_0:
            parameters, body, responses = swagger.read_exchange(
                node, item, self.source, self.schemas, self.parameters
            )
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
            around=tuple(self._around(item)),
        )

    def _around(self, item: Node) -> Iterator[PeerExtensions]:
        """What the path item and the document tell other generators, the nearer first."""
        for holder, node in (("a path item", item), ("the root", self.source.root)):
            stated = {key: node.value[key] for key in PEER_EXTENSIONS if key in node.value}
            if stated:
                yield PeerExtensions(holder, self.source.at(node.pointer), stated)

    def _check_target(self, path: str, method: str, node: Node) -> None:
        at = self.source.at(node.pointer)
        if not _METHOD_TOKEN.match(method) or method.upper() == "CONNECT":
            raise OperationRefusedError("method", f"`{method}` cannot be sent as a method", at)
        if not path.startswith("/"):
            raise OperationRefusedError(
                "path-template", f"a path starts with `/`, unlike `{path}`", at, "add the slash"
            )

    def _servers(self, node: Node, item: Node) -> tuple[Server, ...]:
        for holder in (node, item):
            found = read_servers(holder.child("servers"), self.source)
            if found:
                return found
        return self.servers

    def _without_credentials(
        self, parameters: list[Parameter], security: tuple[SecurityRequirement, ...]
    ) -> list[Parameter]:
        """Parameters that no security scheme of the operation sends already."""
        used = {use.scheme for requirement in security for use in requirement}
        if not used:
            return parameters
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
                    f"the {parameter.location} parameter `{parameter.name}` is sent by a security "
                    "scheme, so it is no argument",
                    at=parameter.at,
                )
            else:
                kept.append(parameter)
        return kept


def _is_reserved(parameter: Parameter) -> bool:
    return parameter.location == "header" and parameter.name.lower() in CREDENTIAL_HEADERS


def _order(operation: Operation) -> tuple[str, str, str]:
    return (operation.tag, operation.path, operation.method)
