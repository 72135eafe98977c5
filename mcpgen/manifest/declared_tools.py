"""Lowering of the tools in the manifest: each is converted to an OpenAPI document and lowered.

Declared tools therefore have the same checks and generated code as operations of documents. Their
problems have places in the manifest.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.api import Api, ApiSource, DeclaredRequest, Server
from mcpgen.ir.document import Document, SourceFile
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.ir.manifest_entries import ToolEntry
from mcpgen.jsonschema.types import JsonObject
from mcpgen.manifest.input_mapping import Mapped, map_inputs
from mcpgen.openapi.lower.join import join_apis, with_schema_names
from mcpgen.openapi.lower.lower import lower
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.validate.validate import validate
from mcpgen.text.json_pointer import pointer_tokens

TAG = "declared"
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE")
_OTHERS = re.compile(r"[^a-z0-9]+")


def lower_declared(intent: LocatedManifest, problems: Problems) -> Api | None:
    """Lower the `tools` of a manifest to an API; return None if there are none.

    Each host is a source, named after the host.

    Raises:
        RejectedError: a tool is invalid.
    """
    found = [
        _ToolLowering(name, entry, intent, problems).lower()
        for name, entry in sorted(intent.manifest.tools.items())
    ]
    if problems.has_errors:
        raise RejectedError
    return join_apis([api for api in found if api is not None]) if found else None


def derive_host_source(url: str) -> str:
    """Return the source name of a URL's host: "api_example_com" for "https://api.example.com"."""
    name = _OTHERS.sub("_", urlsplit(url).netloc.lower()).strip("_")
    return name if name[:1].isalpha() else f"host_{name}"


class _ToolLowering:
    """Lowering of one declared tool."""

    def __init__(
        self, name: str, entry: ToolEntry, intent: LocatedManifest, problems: Problems
    ) -> None:
        self._name = name
        self._entry = entry
        self._intent = intent
        self._problems = problems
        self._why = f"`{name}` cannot be generated as declared"
        self._places: dict[tuple[str, ...], tuple[str, ...]] = {(): ("tools", name)}

    def lower(self) -> Api | None:
        """Return an API with one operation; None after reporting problems."""
        before = len(self._problems)
        parts = self._parse_url()
        if parts is None:
            return None
        self._check()
        mapped = map_inputs(self._name, self._entry, self._refuse)
        if len(self._problems) > before:
            return None
        api = self._lower_document(self._build_document(parts.path or "/", mapped))
        source = derive_host_source(self._entry.url)
        servers = (Server(f"{parts.scheme}://{parts.netloc}"),)
        parameters = mapped.parameters
        declared = DeclaredRequest(
            tool=self._name,
            inputs={it.place: it.input for it in parameters if it.input},
            fixed={it.place: it.value for it in parameters if not it.input},
            body=mapped.body,
            required=tuple(sorted(mapped.required)),
        )
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

    def _parse_url(self) -> SplitResult | None:
        """Return the parts of the URL; None after reporting an invalid one."""
        try:
            parts = urlsplit(self._entry.url)
            host, _ = parts.hostname, parts.port  # ValueError: invalid port
        except ValueError:
            host = None
        message, hint = "", ""
        if not host:
            message, hint = "missing host in the URL", "write `https://api.example.com/path`"
        elif parts.query or parts.fragment:
            message = "invalid URL: it has a query or a fragment"
            hint = "move the query parameters to `query`"
        elif "@" in parts.netloc:
            message = "invalid URL: it has a user name or a password"
            hint = (
                "declare `{type: http, scheme: basic}` in `security_schemes`, and add its name to"
                " `security`"
            )
        if message:
            self._refuse(("url",), message, hint)
            return None
        return parts

    def _check(self) -> None:
        entry = self._entry
        if entry.method not in _METHODS:
            self._refuse(
                ("method",),
                f"unsupported method `{entry.method}`",
                f"supported methods are {', '.join(_METHODS)}",
            )
        known = self._intent.manifest.security_schemes
        for number, scheme in enumerate(entry.security):
            if scheme not in known:
                self._refuse(
                    ("security", str(number)),
                    f"unknown security scheme `{scheme}`",
                    f"known schemes are {', '.join(sorted(known))}"
                    if known
                    else "declare it in `security_schemes`",
                )

    def _refuse(self, tokens: tuple[str, ...], message: str, help: str) -> None:
        self._problems.error(
            "declared-tool",
            message,
            at=self._intent.locate(("tools", self._name, *tokens)),
            why=self._why,
            help=help,
        )

    def _build_document(self, path: str, mapped: Mapped) -> Document:
        """Return the OpenAPI document that is equivalent to the manifest's entry."""
        entry = self._entry
        output = {} if entry.output is None else {"schema": entry.output}
        operation: JsonObject = {
            "operationId": self._name,
            "tags": [TAG],
            "summary": entry.title,
            "description": entry.description,
            "parameters": [parameter.declared for parameter in mapped.parameters],
            "responses": {
                "2XX": {"description": "What it answers.", "content": {entry.media_type: output}}
            },
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
        schemes = self._intent.manifest.security_schemes
        root: JsonObject = {
            "openapi": "3.2.0" if entry.method == "QUERY" else "3.1.0",
            "info": {"title": self._name, "version": "1"},
            "paths": {path: {entry.method.lower(): operation}},
            "components": {
                "schemas": mapped.definitions,
                "securitySchemes": {
                    name: msgspec.to_builtins(schemes[name]) for name in entry.security
                },
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

    def _locate(self, pointer: str) -> Location:
        tokens = pointer_tokens(pointer)
        for length in range(len(tokens), -1, -1):
            if tokens[:length] in self._places:
                return self._intent.locate((*self._places[tokens[:length]], *tokens[length:]))
        return self._intent.locate(("tools", self._name))

    def _lower_document(self, document: Document) -> Api:
        """Resolve, validate and lower the document; warnings are errors here."""
        found = Problems()
        document = resolve(document, found)
        validate(document, found, external_validator=False)
        api = lower(document, found)
        places: set[Location | None] = set()
        for problem in found:
            if problem.at not in places:  # several stages may report the same fault
                places.add(problem.at)
                self._problems.error(
                    problem.code, problem.message, at=problem.at, why=self._why, help=problem.help
                )
        return api
