"""Tools that the manifest declares: each one an OpenAPI document of one operation, lowered.

So they go through the same checks, tests and code as operations of documents; their problems are
told at the manifest's places.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.api import Api, ApiSource, Declared, Server
from mcpgen.ir.document import Document, SourceFile
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.json_pointer import pointer_tokens
from mcpgen.ir.json_types import JsonObject
from mcpgen.ir.manifest import LocatedManifest, ToolEntry
from mcpgen.spec.join import joined, with_schema_names
from mcpgen.spec.lower import lower
from mcpgen.spec.mapping import Mapped, map_inputs
from mcpgen.spec.resolve import resolve
from mcpgen.spec.validate import validate

TAG = "declared"
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE")
_OTHERS = re.compile(r"[^a-z0-9]+")


def lower_declared(intent: LocatedManifest, problems: Problems) -> Api | None:
    """Understand the `tools` of a manifest; None where it has none.

    Each host is a source of its own, named after it.

    Raises:
        RejectedError: one of them cannot be followed.
    """
    found = [
        _Lowering(name, entry, intent, problems).api()
        for name, entry in sorted(intent.manifest.tools.items())
    ]
    if problems.has_errors:
        raise RejectedError
    return joined([api for api in found if api is not None]) if found else None


def host_source(url: str) -> str:
    """Name the source that serves a URL: "https://api.example.com/v1" is "api_example_com"."""
    name = _OTHERS.sub("_", urlsplit(url).netloc.lower()).strip("_")
    return name if name[:1].isalpha() else f"host_{name}"


class _Lowering:
    """One declared tool on its way to an operation."""

    def __init__(
        self, name: str, entry: ToolEntry, intent: LocatedManifest, problems: Problems
    ) -> None:
        self._name = name
        self._entry = entry
        self._intent = intent
        self._problems = problems
        self._why = f"`{name}` is made as it is declared, or not at all"
        self._places: dict[tuple[str, ...], tuple[str, ...]] = {(): ("tools", name)}

    def api(self) -> Api | None:
        """An API of the one operation; None where the reasons against it are told."""
        before = len(self._problems)
        parts = self._parts()
        if parts is None:
            return None
        self._check()
        mapped = map_inputs(self._name, self._entry, self._intent, self._problems)
        if len(self._problems) > before or mapped is None:
            return None
        api = self._lowered(self._document(parts.path or "/", mapped))
        source = host_source(self._entry.url)
        servers = (Server(f"{parts.scheme}://{parts.netloc}"),)
        declared = _declared(self._name, mapped)
        api = with_schema_names(api, f"{self._name}.")
        return replace(
            api,
            title="",
            version="",
            operations=tuple(
                replace(operation, source=source, declared=declared, servers=servers)
                for operation in api.operations
            ),
            sources=(ApiSource(source, servers),),
        )

    def _parts(self) -> SplitResult | None:
        """The parts of the URL; None where a request needs others, or has no place for them."""
        try:
            parts = urlsplit(self._entry.url)
            host, _ = parts.hostname, parts.port  # ValueError: it is no number
        except ValueError:
            host = None
        message, hint = "", ""
        if not host:
            message, hint = "the URL names no host", "write `https://api.example.com/path`"
        elif parts.query or parts.fragment:
            message, hint = "the URL has more than a path", "move its query to `query`, by name"
        elif "@" in parts.netloc:
            message = "the URL holds a user name or a password"
            hint = "declare `{type: http, scheme: basic}` under `security_schemes`, and name it"
        if message:
            self._refuse(("url",), message, hint)
            return None
        return parts

    def _check(self) -> None:
        entry = self._entry
        if entry.method not in _METHODS:
            self._refuse(
                ("method",),
                f"`{entry.method}` is no method that a tool can send",
                f"methods are {', '.join(_METHODS)}",
            )
        known = self._intent.manifest.security_schemes
        for number, scheme in enumerate(entry.security):
            if scheme not in known:
                self._refuse(
                    ("security", str(number)),
                    f"no entry of `security_schemes` is called `{scheme}`",
                    f"there are {', '.join(sorted(known))}" if known else "declare it there",
                )

    def _refuse(self, tokens: tuple[str, ...], message: str, help: str) -> None:
        self._problems.error(
            "declared-tool",
            message,
            at=self._intent.locate(("tools", self._name, *tokens)),
            why=self._why,
            help=help,
        )

    def _document(self, path: str, mapped: Mapped) -> Document:
        """The OpenAPI document that says the same as the manifest's entry."""
        entry = self._entry
        operation: JsonObject = {
            "operationId": self._name,
            "tags": [TAG],
            "summary": entry.title,
            "description": entry.description,
            "parameters": [parameter.declared for parameter in mapped.parameters],
            "responses": {"2XX": self._response()},
            "security": [{scheme: [] for scheme in entry.security}] if entry.security else [],
        }
        if entry.body is not None:
            operation["requestBody"] = {
                "required": mapped.body_is_sent,
                "content": {entry.body.media_type: {"schema": mapped.body_schema}},
            }
        base = ("paths", path, entry.method.lower())
        for number, parameter in enumerate(mapped.parameters):
            self._places[*base, "parameters", str(number)] = parameter.tokens
            self._places[*base, "parameters", str(number), "schema"] = parameter.schema_tokens
        self._places |= {
            base: ("tools", self._name),
            (*base, "requestBody"): ("tools", self._name, "body"),
            (*base, "responses"): ("tools", self._name, "output"),
            (*base, "responses", "2XX", "content", entry.media_type, "schema"): (
                "tools",
                self._name,
                "output",
            ),
            ("components", "schemas"): ("tools", self._name, "inputs", "$defs"),
            ("components", "securitySchemes"): ("security_schemes",),
        }
        root: JsonObject = {
            "openapi": "3.2.0" if entry.method == "QUERY" else "3.1.0",
            "info": {"title": self._name, "version": "1"},
            "paths": {path: {entry.method.lower(): operation}},
            "components": {
                "schemas": mapped.definitions,
                "securitySchemes": {name: self._scheme(name) for name in entry.security},
            },
        }
        return Document(
            root=root,
            version="3.2" if entry.method == "QUERY" else "3.1",
            shown_as=MANIFEST_FILE,
            path=None,
            url=None,
            files=(SourceFile(MANIFEST_FILE, b""),),
            locate=self._locate,
        )

    def _response(self) -> JsonObject:
        entry = self._entry
        schema = {} if entry.output is None else {"schema": entry.output}
        return {"description": "What it answers.", "content": {entry.media_type: schema}}

    def _scheme(self, name: str) -> JsonObject:
        stated: JsonObject = msgspec.to_builtins(self._intent.manifest.security_schemes[name])
        return {key: value for key, value in stated.items() if value not in ("", {})}

    def _locate(self, pointer: str) -> Location:
        tokens = pointer_tokens(pointer)
        for length in range(len(tokens), -1, -1):
            if tokens[:length] in self._places:
                return self._intent.locate((*self._places[tokens[:length]], *tokens[length:]))
        return self._intent.locate(("tools", self._name))

    def _lowered(self, document: Document) -> Api:
        """Lower it. What would be made the best of in a stranger's document is an error here."""
        found = Problems()
        document = resolve(document, found)
        validate(document, found, outside_judge=False)
        api = lower(document, found)
        places: set[Location | None] = set()
        for problem in found:
            if problem.at not in places:  # else it was told in other words already
                places.add(problem.at)
                self._problems.error(
                    problem.code, problem.message, at=problem.at, why=self._why, help=problem.help
                )
        return api


def _declared(name: str, mapped: Mapped) -> Declared:
    return Declared(
        tool=name,
        inputs={
            parameter.place: parameter.input for parameter in mapped.parameters if parameter.input
        },
        fixed={
            parameter.place: parameter.value
            for parameter in mapped.parameters
            if not parameter.input
        },
        body=mapped.body,
        required=mapped.required,
    )
