"""The API as the mock upstream knows it: `tests/generated/upstream.json`, read into small types.

It describes what the document says, and nothing of what a tool does with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from urllib.parse import urlsplit

from mcpgen.contract.part_headers import CONTENT_ID, read_fixed_value
from mcpgen.jsonschema.direction import for_requests, for_responses
from mcpgen.jsonschema.schemas import JsonSchema, JsonValue, Schemas
from mcpgen.runtime.content import JsonObject
from mcpgen.testing.mock.routes import Routes
from mcpgen.text.media_types import essence_of


@dataclass(frozen=True, slots=True)
class Parameter:
    """A Parameter Object; `style` is "" where `content_type` says how the value travels."""

    name: str
    location: str  # "path", "query", "header", "cookie" or "querystring"
    required: bool
    schema: JsonSchema
    style: str
    explode: bool
    content_type: str = ""
    allow_reserved: bool = False
    allow_empty_value: bool = False
    is_generated: bool = False  # the server supplies an idempotency key where a call has none

    @classmethod
    def from_json(cls, entry: JsonObject) -> Parameter:
        """Read an entry of `operations[].parameters`."""
        return cls(
            name=entry["name"],
            location=entry["location"],
            required=entry.get("required", False),
            schema=entry.get("schema", True),
            style=entry.get("style", ""),
            explode=entry.get("explode", False),
            content_type=entry.get("content_type", ""),
            allow_reserved=entry.get("allow_reserved", False),
            allow_empty_value=entry.get("allow_empty_value", False),
            is_generated=entry.get("is_generated", False),
        )


@dataclass(frozen=True, slots=True)
class Encoding:
    """How one property of a form or multipart body travels; "" and None: not said."""

    content_type: str = ""
    style: str = ""
    explode: bool | None = None
    content_id: str = ""  # that the part has, by which others refer to it

    @classmethod
    def from_json(cls, entry: JsonObject) -> Encoding:
        """Read an Encoding Object."""
        ids = [
            read_fixed_value(header["schema"])
            for header in entry.get("headers", ())
            if header["name"].lower() == CONTENT_ID
        ]
        return cls(
            entry.get("content_type", ""),
            entry.get("style", ""),
            entry.get("explode"),
            str(ids[0]) if ids and ids[0] is not None else "",
        )

    @property
    def is_styled(self) -> bool:
        """Whether the property travels like a query parameter (OpenAPI 3.1.1, 4.8.15)."""
        return bool(self.style) or self.explode is not None


@dataclass(frozen=True, slots=True)
class MediaType:
    """One entry of a `content` map; `schema` is True where the document gives none."""

    media_type: str
    schema: JsonSchema
    encoding: Mapping[str, Encoding] = field(default_factory=dict)
    examples: tuple[JsonValue, ...] = ()
    item_schema: JsonSchema | None = None  # of each line, where the body is one value a line

    @classmethod
    def from_json(cls, entry: JsonObject) -> MediaType:
        """Read an entry of `content`."""
        schema = entry.get("schema")
        return cls(
            media_type=entry["media_type"],
            schema=True if schema is None else schema,
            encoding={
                name: Encoding.from_json(value) for name, value in entry.get("encoding", {}).items()
            },
            examples=tuple(entry.get("examples", ())),
            item_schema=entry.get("item_schema"),
        )

    @property
    def essence(self) -> str:
        """The media type without parameters, in lower case."""
        return essence_of(self.media_type)


@dataclass(frozen=True, slots=True)
class Response:
    """A Response Object. `status` is "200", "4XX" or "default"."""

    status: str
    content: tuple[MediaType, ...]
    headers: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """A Security Scheme Object."""

    id: str
    type: str  # "apiKey", "http", "oauth2", "openIdConnect" or "mutualTLS"
    location: str = ""
    name: str = ""
    http_scheme: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path, and everything that a request to it must satisfy."""

    method: str
    path: str
    parameters: tuple[Parameter, ...]
    body: tuple[MediaType, ...]
    body_required: bool
    responses: tuple[Response, ...]
    security: tuple[tuple[str, ...], ...]  # alternatives of scheme ids; empty: none is asked for
    base_urls: tuple[str, ...]  # placeholders filled with their defaults
    key: str  # names the operation: "GET /pets/{petId}"
    source: str = ""  # of several APIs, the one that it belongs to

    def parameters_in(self, location: str) -> tuple[Parameter, ...]:
        """Give the parameters of one location, in their order."""
        return tuple(item for item in self.parameters if item.location == location)


class Description:
    """A whole API: its operations by key, its schemas read for requests and for responses."""

    def __init__(self, data: JsonObject) -> None:
        schemas = Schemas(data.get("schemas", {}))
        self.requests = for_requests(schemas)
        self.responses = for_responses(schemas)
        self.base_urls = _read_base_urls(data.get("servers", ()))
        self.security_schemes = {
            entry["id"]: SecurityScheme(
                entry["id"],
                entry["type"],
                entry.get("location", ""),
                entry.get("name", ""),
                entry.get("http_scheme", "").lower(),
            )
            for entry in data.get("security_schemes", ())
        }
        operations = [self._operation(entry) for entry in data.get("operations", ())]
        self.operations = {operation.key: operation for operation in operations}
        self.all_base_urls = tuple(
            dict.fromkeys(base for operation in operations for base in operation.base_urls or ("",))
        )
        self.answers: dict[int, JsonValue] = {}  # made up so far, by the identity of a media type

    @cached_property
    def routes(self) -> Routes:
        """The operations by their paths."""
        return Routes((it.method, it.path, it.key) for it in self.operations.values())

    def _operation(self, entry: JsonObject) -> Operation:
        """Read an entry of `operations`; what is sent has its schemas read for requests."""
        body = entry.get("request_body") or {}
        sent = self.requests.of
        return Operation(
            method=entry["method"],
            path=entry["path"],
            parameters=tuple(
                replace(parameter, schema=sent(parameter.schema))
                for parameter in map(Parameter.from_json, entry.get("parameters", ()))
                if not _is_ignored(parameter)
            ),
            body=tuple(
                replace(media_type, schema=sent(media_type.schema))
                for media_type in map(MediaType.from_json, body.get("content", ()))
            ),
            body_required=body.get("required", False),
            responses=tuple(
                Response(
                    response["status"],
                    tuple(map(MediaType.from_json, response.get("content", ()))),
                    tuple(map(Parameter.from_json, response.get("headers", ()))),
                )
                for response in entry.get("responses", ())
            ),
            security=tuple(
                tuple(use["scheme"] for use in alternative)
                for alternative in entry.get("security", ())
            ),
            base_urls=_read_base_urls(entry.get("servers", ())) or self.base_urls,
            key=entry.get("key", f"{entry['method']} {entry['path']}"),
            source=entry.get("source", ""),
        )


def _is_ignored(parameter: Parameter) -> bool:
    """OpenAPI 3 gives these headers no meaning as parameters (Parameter Object, `name`)."""
    return parameter.location == "header" and parameter.name.lower() in {
        "accept",
        "authorization",
        "content-type",
    }


def _read_base_urls(servers: list[JsonObject]) -> tuple[str, ...]:
    return tuple(_fill_in_defaults(server) for server in servers)


def _fill_in_defaults(server: JsonObject) -> str:
    """Put the defaults of its variables into a server's URL, where they have one.

    It has no slash at its end.
    """
    defaults = {variable["name"]: variable["default"] for variable in server.get("variables", ())}
    url = re.sub(
        r"\{([^{}]*)\}", lambda match: defaults.get(match[1]) or match[0], str(server["url"])
    )
    return url.rstrip("/")


def base_path(url: str) -> str:
    """Give the path of a base URL, without a slash at the end: "/v1", or "" for none."""
    return urlsplit(url).path.rstrip("/")
