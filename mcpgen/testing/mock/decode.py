"""Decoding of an HTTP request into values, by the description of its operation.

This is the inverse of every `style` of the Parameter Object (OpenAPI 3.2, with the tables of 3.0
and 3.1), written from the specification alone, since it checks the upstream client. If the
specification allows several spellings, all of them are accepted:

- `|` and `,` between items raw or percent-encoded; `+` or `%20` for a space in queries and forms;
- `label` without `explode` as `.a,b` or `.a.b`;
- lists under `deepObject` as `a[0]=x`, `a[]=x` or a repeated `a=x`;
- values nested deeper than their style reaches as JSON;
- several values of a cookie as cookies of one name, or joined with `&`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote

from mcpgen.jsonschema.schemas import Schemas
from mcpgen.runtime.content import JsonObject
from mcpgen.testing.mock.bodies import read_body
from mcpgen.testing.mock.description import Operation, Parameter
from mcpgen.testing.mock.routes import match_path
from mcpgen.testing.mock.styles import (
    Pairs,
    Reading,
    Shape,
    header_shapes,
    path_shapes,
    query_shapes,
    read_shapes,
    read_values,
    unescape,
)
from mcpgen.text.media_types import is_json

_ILLEGAL_IN_URLS = re.compile(r"[^\x21-\x7e]|[\"<>\\^`{}#]")
_ALWAYS_SENT = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-length", "content-type"),
        *("cookie", "host", "keep-alive", "transfer-encoding", "user-agent"),
    }
)


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A received request. `path` and `query` are raw, and below the base URL."""

    method: str
    path: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """Return the fields of this name, in any case, joined by commas; None without one."""
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(found) if found else None


@dataclass(slots=True)
class DecodedRequest:
    """The values of a request by wire name, and its problems."""

    path: dict[str, Reading] = field(default_factory=dict)
    query: dict[str, Reading] = field(default_factory=dict)
    header: dict[str, Reading] = field(default_factory=dict)
    cookie: dict[str, Reading] = field(default_factory=dict)
    querystring: Reading | None = None
    body: Reading | None = None
    content_type: str = ""
    key_header: str = ""  # the header with an idempotency key, as the document spells it
    problems: list[str] = field(default_factory=list)

    def values(self, location: str) -> JsonObject:
        """Return the likeliest values of one location ("path", "query", "header", "cookie")."""
        readings: dict[str, Reading] = getattr(self, location)
        return {name: reading.value for name, reading in readings.items()}


def decode_request(
    operation: Operation,
    raw: RawRequest,
    schemas: Schemas,
    *,
    credentials: Iterable[tuple[str, str]] = (),
) -> DecodedRequest:
    """Decode a request by the description of `operation`.

    `credentials` are the places of security schemes, such as ("query", "api_key") or ("header",
    "authorization"). Everything else that is not a parameter is a problem.
    """
    decoder = _Decoder(operation, raw, schemas, frozenset(credentials))
    decoder.read_path()
    decoder.read_query()
    decoder.read_headers()
    decoder.read_cookies()
    decoder.read_body()
    return decoder.decoded


class _Decoder:
    """Reads one request, part by part, into `decoded`."""

    def __init__(
        self,
        operation: Operation,
        raw: RawRequest,
        schemas: Schemas,
        credentials: frozenset[tuple[str, str]],
    ) -> None:
        self.operation = operation
        self.raw = raw
        self.schemas = schemas
        self.credentials = credentials
        self.decoded = DecodedRequest()

    def _store(self, parameter: Parameter, reading: Reading) -> None:
        if parameter.location == "querystring":
            self.decoded.querystring = reading
        else:
            getattr(self.decoded, parameter.location)[parameter.name] = reading
        if reading.problem:
            self._report(f"{_describe(parameter)}: {reading.problem}")

    def _report(self, problem: str) -> None:
        self.decoded.problems.append(problem)

    def _parameters_in(self, location: str) -> list[Parameter]:
        """Return the parameters of a location, without those in the place of a credential."""
        key = str.lower if location == "header" else str
        found = self.operation.parameters_in(location)
        return [item for item in found if (location, key(item.name)) not in self.credentials]

    def _read(self, parameter: Parameter, shapes: Iterable[Shape]) -> None:
        found = list(shapes)
        if not found:
            self._report(f"{_describe(parameter)}: this is not in style `{parameter.style}`")
            return
        self._store(parameter, read_shapes(found, parameter.schema, self.schemas))

    def _read_content(self, parameter: Parameter, text: str) -> None:
        """Read a parameter that has `content`."""
        if not is_json(parameter.content_type):
            self._read(parameter, [text])
            return
        try:
            values = [json.loads(text)]
        except ValueError:
            self._report(f"{_describe(parameter)}: `{text}` is not JSON")
            return
        self._store(parameter, read_values(values, parameter.schema, self.schemas))

    def _report_missing(self, parameter: Parameter) -> None:
        if parameter.required:
            self._report(f"{_describe(parameter)} is required and was not sent")

    # Path

    def read_path(self) -> None:
        illegal = _ILLEGAL_IN_URLS.search(self.raw.path)
        if illegal:
            self._report(f"the path has a raw `{illegal[0]}`, which must be percent-encoded")
        texts = match_path(self.operation.path, self.raw.path) or {}
        for parameter in self.operation.parameters_in("path"):
            possible = texts.get(parameter.name)
            if possible is None:
                self._report_missing(parameter)
            elif parameter.content_type:
                self._read_content(parameter, unescape(possible[0]))
            else:
                shapes = (path_shapes(parameter, text) for text in possible)
                self._read(parameter, itertools.chain.from_iterable(shapes))

    # Query

    def read_query(self) -> None:
        illegal = _ILLEGAL_IN_URLS.search(self.raw.query)
        if illegal:
            self._report(f"the query has a raw `{illegal[0]}`, which must be percent-encoded")
        whole = self.operation.parameters_in("querystring")
        if whole:
            self._read_querystring(whole[0])
            return
        pairs = Pairs(self.raw.query)
        for name, value in parse_literal_query(self.operation.path):
            pairs.take_pair(name, value)
        self._read_all_pairs("query", pairs)
        for name in pairs.list_names():
            self._report(f"query parameter `{name}` is not described, or not in this way")

    def _read_all_pairs(self, location: str, pairs: Pairs) -> None:
        """Read the credentials and parameters of a location that consists of pairs."""
        for place, name in self.credentials:
            if place == location:
                pairs.take(name)
        for parameter in sorted(self._parameters_in(location), key=self._is_spread):
            self._read_pairs(parameter, pairs)

    def _is_spread(self, parameter: Parameter) -> bool:
        """Return whether a parameter is an exploded object; these are read after all others."""
        types = self.schemas.likely_types(parameter.schema)
        return parameter.style != "deepObject" and parameter.explode and "object" in types

    def _find_claimed_names(self, parameter: Parameter) -> frozenset[str]:
        """Return the names that exploded objects other than `parameter` declare."""
        return frozenset(
            name
            for other in self._parameters_in(parameter.location)
            if other is not parameter and self._is_spread(other)
            for name in self.schemas.property_names(other.schema)
        )

    def _read_querystring(self, parameter: Parameter) -> None:
        if not self.raw.query:
            self._report_missing(parameter)
            return
        if is_json(parameter.content_type):
            self._read_content(parameter, unescape(self.raw.query))
        else:
            pairs = Pairs(self.raw.query)
            shape = {name: _decode_texts(pairs.take(name)) for name in pairs.list_names()}
            self._store(parameter, read_shapes([shape], parameter.schema, self.schemas))

    def _read_pairs(self, parameter: Parameter, pairs: Pairs) -> None:
        """Read a parameter of the query or of a cookie."""
        if parameter.content_type:
            texts = pairs.take(parameter.name)
            if texts:
                self._read_content(parameter, unescape(texts[0], plus=pairs.plus_is_space))
            else:
                self._report_missing(parameter)
            return
        claimed = self._find_claimed_names(parameter)
        shapes = list(query_shapes(parameter, pairs, self.schemas, claimed=claimed))
        if not shapes:
            self._report_missing(parameter)
        elif parameter.location == "query" and parameter.allow_empty_value and "" in shapes:
            self._store(parameter, Reading(("", [], {}, None)))
        else:
            self._read(parameter, shapes)

    # Headers and cookies

    def read_headers(self) -> None:
        known = {name.lower() for place, name in self.credentials if place == "header"}
        for parameter in self._parameters_in("header"):
            if parameter.is_generated:
                self.decoded.key_header = parameter.name
            known.add(parameter.name.lower())
            text = self.raw.header(parameter.name)
            if text is None:
                self._report_missing(parameter)
            elif parameter.content_type:
                self._read_content(parameter, text.strip())
            else:
                self._read(parameter, header_shapes(parameter, text.strip()))
        for name, _ in self.raw.headers:
            if name.lower() not in known | _ALWAYS_SENT:
                self._report(f"header `{name}` is not described")

    def read_cookies(self) -> None:
        sent = [value for name, value in self.raw.headers if name.lower() == "cookie"]
        pairs = Pairs(re.sub(r";\s*", "&", ";".join(sent)), plus_is_space=False)
        self._read_all_pairs("cookie", pairs)
        if ("header", "cookie") in self.credentials:  # a scheme has the whole header
            return
        for name in pairs.list_names():
            self._report(f"cookie `{name}` is not described")

    # Body

    def read_body(self) -> None:
        content_type = self.raw.header("content-type") or ""
        self.decoded.content_type = content_type
        if not self.raw.body and not content_type:
            if self.operation.body_required:
                self._report("a body is required and was not sent")
            return
        if not self.operation.body:
            self._report("a body was sent, and the operation has none")
            return
        reading, problem = read_body(self.operation.body, content_type, self.raw.body, self.schemas)
        self.decoded.body = reading
        if problem:
            self._report(f"body: {problem}")


def _describe(parameter: Parameter) -> str:
    return f"{parameter.location} parameter `{parameter.name}`"


def _decode_texts(texts: list[str]) -> Shape:
    decoded: list[Shape] = [unescape(text, plus=True) for text in texts]
    return decoded[0] if len(decoded) == 1 else decoded


def parse_literal_query(template: str) -> list[tuple[str, str]]:
    """Return the query that some documents write into the path, as decoded pairs."""
    _, _, query = template.partition("#")[0].partition("?")
    pairs = (pair.partition("=") for pair in query.split("&") if pair and "{" not in pair)
    return [(unquote(name), unquote(value)) for name, _, value in pairs]
