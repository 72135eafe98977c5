"""The API as the mock sees it: `tests/generated/upstream.json`, converted to small types.

It contains the contents of the document, and nothing about the use of it by tools.
"""

from __future__ import annotations

import re
from functools import cached_property
from urllib.parse import urlsplit

from msgspec import Struct, convert, field
from msgspec.structs import force_setattr, replace

from mcpgen.contract.http_names import CONTENT_ID, read_fixed_value
from mcpgen.jsonschema.direction import Direction
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.runtime.content import JsonObject
from mcpgen.testing.mock.routes import Routes
from mcpgen.text.media_types import essence_of


class Parameter(Struct, frozen=True):
    """A Parameter Object or Header Object; `style` is "" if it has a `content_type`."""

    name: str
    location: str  # "path", "query", "header", "cookie" or "querystring"
    required: bool = False
    schema: JsonSchema = True
    style: str = ""
    explode: bool = False
    content_type: str = ""
    allow_reserved: bool = False
    allow_empty_value: bool = False
    is_generated: bool = False  # the server adds an idempotency key to calls without one


class Encoding(Struct, frozen=True):
    """The Encoding Object of one property of a form or multipart body; "" and None: absent."""

    content_type: str = ""
    style: str = ""
    explode: bool | None = None
    headers: tuple[JsonObject, ...] = ()

    @property
    def content_id(self) -> str:
        """The `Content-ID` of the part, by which other parts refer to it."""
        for header in self.headers:
            if header["name"].lower() == CONTENT_ID:
                value = read_fixed_value(header["schema"])
                return "" if value is None else str(value)
        return ""

    @property
    def is_styled(self) -> bool:
        """Whether the property travels like a query parameter (OpenAPI 3.1.1, 4.8.15)."""
        return bool(self.style) or self.explode is not None


class MediaType(Struct, frozen=True):
    """One entry of a `content` map; `schema` is True if the document has none."""

    media_type: str
    schema: JsonValue = True  # a JSON Schema
    encoding: dict[str, Encoding] = field(default_factory=dict)
    examples: tuple[JsonValue, ...] = ()
    item_schema: JsonSchema | None = None  # of each line, if the body has one value per line

    def __post_init__(self) -> None:
        """Replace a null schema."""
        if self.schema is None:
            force_setattr(self, "schema", True)

    @property
    def essence(self) -> str:
        """The media type without parameters, in lower case."""
        return essence_of(self.media_type)


class Response(Struct, frozen=True):
    """A Response Object. `status` is "200", "4XX" or "default"."""

    status: str
    content: tuple[MediaType, ...] = ()
    headers: tuple[Parameter, ...] = ()


class SecurityScheme(Struct, frozen=True):
    """A Security Scheme Object."""

    id: str
    type: str  # "apiKey", "http", "oauth2", "openIdConnect" or "mutualTLS"
    location: str = ""
    name: str = ""
    http_scheme: str = ""


class Operation(Struct, frozen=True):
    """One method of one path, and everything that a request to it must satisfy."""

    method: str
    path: str
    parameters: tuple[Parameter, ...]
    body: tuple[MediaType, ...]
    body_required: bool
    responses: tuple[Response, ...]
    security: tuple[tuple[str, ...], ...]  # alternatives of scheme ids; empty: no credentials
    base_urls: tuple[str, ...]  # with the defaults of their variables
    key: str  # names the operation: "GET /pets/{petId}"
    source: str = ""  # the API that it belongs to, if there are several

    def parameters_in(self, location: str) -> tuple[Parameter, ...]:
        """Return the parameters of one location, in their order."""
        return tuple(item for item in self.parameters if item.location == location)


class Description:
    """A whole API: its operations by key, and its schemas for requests and for responses."""

    def __init__(self, data: JsonObject) -> None:
        schemas = Schemas(data.get("schemas", {}))
        self.requests = Direction(schemas, "request")
        self.responses = Direction(schemas, "response")
        self.base_urls = _read_base_urls(data.get("servers", ()))
        self.security_schemes = {
            scheme.id: scheme
            for scheme in convert(data.get("security_schemes", ()), tuple[SecurityScheme, ...])
        }
        operations = [self._operation(entry) for entry in data.get("operations", ())]
        self.operations = {operation.key: operation for operation in operations}
        self.all_base_urls = tuple(
            dict.fromkeys(base for operation in operations for base in operation.base_urls or ("",))
        )
        self.answers: dict[int, JsonValue] = {}  # generated values, by the identity of a media type

    @cached_property
    def routes(self) -> Routes:
        """The operations by their paths."""
        return Routes((it.method, it.path, it.key) for it in self.operations.values())

    def _operation(self, entry: JsonObject) -> Operation:
        """Read an entry of `operations`; parameters and bodies get the schemas for requests."""
        body = entry.get("request_body") or {}
        sent = self.requests.of
        return Operation(
            method=entry["method"],
            path=entry["path"],
            parameters=tuple(
                replace(parameter, schema=sent(parameter.schema))
                for parameter in convert(entry.get("parameters", ()), tuple[Parameter, ...])
                if not _is_ignored(parameter)
            ),
            body=tuple(
                replace(media_type, schema=sent(media_type.schema))
                for media_type in convert(body.get("content", ()), tuple[MediaType, ...])
            ),
            body_required=body.get("required", False),
            responses=convert(entry.get("responses", ()), tuple[Response, ...]),
            security=tuple(
                tuple(use["scheme"] for use in alternative)
                for alternative in entry.get("security", ())
            ),
            base_urls=_read_base_urls(entry.get("servers", ())) or self.base_urls,
            key=entry.get("key", f"{entry['method']} {entry['path']}"),
            source=entry.get("source", ""),
        )


def _is_ignored(parameter: Parameter) -> bool:
    """Return whether OpenAPI ignores a parameter (Parameter Object, `name`)."""
    ignored = {"accept", "authorization", "content-type"}
    return parameter.location == "header" and parameter.name.lower() in ignored


def _read_base_urls(servers: list[JsonObject]) -> tuple[str, ...]:
    return tuple(_fill_in_defaults(server) for server in servers)


def _fill_in_defaults(server: JsonObject) -> str:
    """Return a server's URL with the defaults of its variables, without a slash at the end."""
    defaults = {variable["name"]: variable["default"] for variable in server.get("variables", ())}
    url = re.sub(
        r"\{([^{}]*)\}", lambda match: defaults.get(match[1]) or match[0], str(server["url"])
    )
    return url.rstrip("/")


def base_path(url: str) -> str:
    """Return the path of a base URL, without a slash at the end: "/v1", or "" for none."""
    return urlsplit(url).path.rstrip("/")
