"""Responses of the mock API: examples of the document, else samples of its schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from msgspec.structs import replace

from mcpgen.jsonschema.samples import CannotSampleError, choose_example, sample
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.runtime.upstream.response.results import is_binary
from mcpgen.testing.mock.description import Description, MediaType, Operation, Response
from mcpgen.text.media_types import JSON_LINES, essence_of, is_json

_BEFORE_AND_AFTER = {
    "text/event-stream": ("data: ", "\n\n"),  # HTML, section 9.2
    "application/json-seq": ("\x1e", "\n"),  # RFC 7464
    **dict.fromkeys(JSON_LINES, ("", "\n")),
}


def is_stream(media_type: str) -> bool:
    """Return whether a media type is a sequence of JSON values."""
    return essence_of(media_type) in _BEFORE_AND_AFTER


def write_stream(media_type: str, items: list[JsonValue]) -> bytes:
    """Return the sequence of these values."""
    before, after = _BEFORE_AND_AFTER[essence_of(media_type)]
    return "".join(f"{before}{json.dumps(item)}{after}" for item in items).encode()


def read_stream(media_type: str, body: bytes) -> list[JsonValue]:
    """Return the items of a sequence from `write_stream`, as they are in a tool's result."""
    before, after = _BEFORE_AND_AFTER[essence_of(media_type)]
    pieces = [piece.removeprefix(before) for piece in body.decode().split(after) if piece]
    items = [json.loads(piece) for piece in pieces]
    if essence_of(media_type) != "text/event-stream":
        return items
    # The data of an event is a value if it is an object or a list, else text.
    return [
        {"data": item if isinstance(item, list | dict) else piece}
        for item, piece in zip(items, pieces, strict=True)
    ]


_SAMPLE_BYTES = b"\x89SAMPLE\r\n\x1a\n\x00\xff"


@dataclass(frozen=True, slots=True)
class Reply:
    """The difference of a reply from the usual response.

    Without `body`, a `status` gets the response of the document, else a problem document
    (RFC 9457). `fault` is "" or

    - "json": half of the body, with its length as `Content-Length`;
    - "cut": the connection breaks in the middle of the body;
    - "connection": the connection breaks before the response;
    - "refused": the connection is refused (a mock on a socket breaks it instead);
    - "echo": an error whose detail is the whole request, including credentials.
    """

    status: int = 0  # 0: the success that the document describes
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    delay_seconds: float = 0.0
    fault: str = ""

    @classmethod
    def from_json(cls, entry: JsonObject) -> Reply:
        """Read the `reply` of a case; its `body` is a JSON value, its `text` is sent unchanged."""
        headers = entry.get("headers", {})
        body = entry.get("text")
        if "body" in entry:
            body = json.dumps(entry["body"])
            headers = {"Content-Type": "application/json", **headers}
        return cls(
            status=entry.get("status", 0),
            headers=tuple(headers.items()),
            body=None if body is None else body.encode(),
            delay_seconds=entry.get("delay_seconds", 0.0),
            fault=entry.get("fault", ""),
        )


def build_usual_response(operation: Operation, api: Description, accept: str) -> HttpResponse:
    """Return the success response of the document, in an accepted media type."""
    described = find_success(operation)
    if described is None:
        return HttpResponse(204)
    status = int(described.status) if described.status.isdigit() else 200
    return _build_described_response(described, status, api, accept)


def build_response(
    operation: Operation, api: Description, accept: str, status: int
) -> HttpResponse:
    """Return the response of the document for a status, else a problem document."""
    by_status = {response.status.upper(): response for response in operation.responses}
    described = next(
        (
            by_status[key]
            for key in (str(status), f"{status // 100}XX", "DEFAULT")
            if key in by_status and by_status[key].content
        ),
        None,
    )
    if described is not None:
        return _build_described_response(described, status, api, accept)
    return HttpResponse(status) if status < 300 else build_problem(status, "as this test wants")


def build_problem(status: int, detail: str, problems: Sequence[str] = ()) -> HttpResponse:
    """Return a problem document (RFC 9457)."""
    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = "Problem"
    document: JsonObject = {"title": title, "status": status, "detail": detail}
    if problems:
        document["problems"] = list(problems)
    body = json.dumps(document).encode()
    return HttpResponse(status, (("Content-Type", "application/problem+json"),), body)


def find_success(operation: Operation) -> Response | None:
    """Return the Response Object of the lowest 2xx status, a range before `default`."""
    fits = [entry for entry in operation.responses if re.fullmatch("2[0-9Xx]{2}", entry.status)]
    fits += [entry for entry in operation.responses if entry.status == "default"]
    return min(fits, key=lambda entry: entry.status.upper().replace("X", "~"), default=None)


def _build_described_response(
    described: Response, status: int, api: Description, accept: str
) -> HttpResponse:
    media_type = _choose_media_type(described.content, accept)
    if media_type is None or status in {204, 205, 304}:
        return HttpResponse(status, _build_headers(described, api))
    name = _replace_range(media_type.media_type)
    headers = (("Content-Type", name), *_build_headers(described, api))
    return HttpResponse(status, headers, _build_body(media_type, name, api))


def _choose_media_type(content: Sequence[MediaType], accept: str) -> MediaType | None:
    """Return the described media type that `Accept` prefers, else the first one."""
    for media_range in accept.split(","):
        kind = essence_of(media_range)
        for entry in content:
            if kind in {entry.essence, "*/*"} or (
                kind.endswith("/*") and entry.essence.startswith(kind[:-1])
            ):
                return entry
    return content[0] if content else None


def find_accept_problems(operation: Operation, accept: str) -> list[str]:
    """Return a problem if `Accept` matches no media type of the success response."""
    success = find_success(operation)
    described = {entry.essence for entry in success.content} if success else set()
    accepted = {essence_of(entry) for entry in accept.split(",") if entry.strip()}
    if not described or not accepted or any(_overlap(a, b) for a in accepted for b in described):
        return []
    return [f"`Accept: {accept}` matches no media type of the response"]


def _overlap(one: str, other: str) -> bool:
    """Return whether two media types or ranges overlap."""
    if one == other or "*/*" in (one, other):
        return True
    is_range = one.endswith("/*") or other.endswith("/*")
    return is_range and one.partition("/")[0] == other.partition("/")[0]


def _replace_range(media_type: str) -> str:
    """Return a media type for a range."""
    ranges = {"*/*": "application/json", "image/*": "image/png", "text/*": "text/plain"}
    kind = essence_of(media_type)
    return ranges.get(kind, f"{kind[:-1]}octet-stream" if kind.endswith("/*") else media_type)


def _build_body(media_type: MediaType, name: str, api: Description) -> bytes:
    if is_json(name):
        if id(media_type) not in api.answers:
            api.answers[id(media_type)] = choose_value(media_type, api)
        return json.dumps(api.answers[id(media_type)], ensure_ascii=False).encode()
    if is_stream(name):
        described = replace(media_type, schema=_item_schema(media_type, api))
        return write_stream(name, [choose_value(described, api)] * 2)
    texts = [example for example in media_type.examples if isinstance(example, str)]
    kind = essence_of(name)
    if kind.endswith(("/xml", "+xml")):
        return (texts[0] if texts else "<sample/>").encode()
    if not is_binary(kind):
        value = texts[0] if texts else choose_value(media_type, api)
        return (value if isinstance(value, str) else json.dumps(value)).encode()
    return _SAMPLE_BYTES


def _item_schema(media_type: MediaType, api: Description) -> JsonSchema:
    """Return the schema of one item of a sequence."""
    if media_type.item_schema is not None:
        return media_type.item_schema
    schema = api.responses.of(media_type.schema)
    schemas = api.responses.schemas
    is_list = schemas.likely_types(schema) == {"array"}
    return schemas.item_schema(schema) if is_list else media_type.schema


def choose_value(media_type: MediaType, api: Description) -> JsonValue:
    """Return the document's first valid example, else a sample, else an empty object."""
    schema = api.responses.of(media_type.schema)
    try:
        return choose_example(schema, media_type.examples, api.responses.schemas)
    except CannotSampleError:
        return {}


def _build_headers(described: Response, api: Description) -> tuple[tuple[str, str], ...]:
    """Return the required headers of a response that are scalars."""
    found = []
    for header in described.headers:
        if not header.required or header.name.lower() == "content-type":
            continue
        try:
            value = sample(header.schema, schemas=api.responses.schemas, seed=header.name)
        except CannotSampleError:
            continue
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            found.append((header.name, str(value)))
    return tuple(found)
