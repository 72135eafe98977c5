"""Parameter Objects of OpenAPI 3 (section "Parameter Object"), and those of encodings' headers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcpgen.diagnostics import OperationRefusedError
from mcpgen.ir.api import Parameter
from mcpgen.ir.json_types import JsonSchema, JsonValue
from mcpgen.spec.lower_schema import SchemaLowering
from mcpgen.spec.lower_source import Node, Source, object_of

LOCATIONS = ("path", "query", "querystring", "header", "cookie")
_STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),
}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")  # RFC 9110, section 5.6.2
_DESCRIBED_ELSEWHERE = frozenset({"accept", "content-type", "authorization"})
_FRAMING = frozenset(
    {
        "accept-encoding", "connection", "content-encoding", "content-length", "cookie", "expect",
        "forwarded", "host", "keep-alive", "set-cookie", "te", "trailer", "transfer-encoding",
        "upgrade", "via",
    }
)  # fmt: skip


def is_reserved_header(name: str) -> bool:
    """Return whether a header belongs to the HTTP client, to proxies or to credentials."""
    lowered = name.lower()
    return lowered in _DESCRIBED_ELSEWHERE | _FRAMING or lowered.startswith(
        ("proxy-", "x-forwarded-")
    )


CREDENTIAL_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
"""Headers that carry credentials and are no arguments: only a security scheme may set them."""


def credential_header(node: Node, source: Source) -> Parameter | None:
    """Read a declared header that carries a credential; None for any other parameter.

    Its schema is not lowered: no argument has it.
    """
    name, declared = node.text("name"), object_of(node.value)
    if node.text("in").strip().lower() != "header" or name.lower() not in CREDENTIAL_HEADERS:
        return None
    schema = object_of(declared.get("schema"))
    stated = (schema.get("example"), schema.get("default"), declared.get("x-example"))
    return Parameter(
        name=name,
        location="header",
        required=node.flag("required"),
        schema={},
        style="simple",
        explode=False,
        at=source.at(node.pointer),
        description=node.text("description") or str(schema.get("description") or ""),
        examples=(*examples_of(node, source), *(text for text in stated if isinstance(text, str))),
    )


def sendable_header(name: str, pointer: str, source: Source) -> bool:
    """Whether a tool may set the header `name`; says why when it may not."""
    lowered = name.lower()
    if lowered in _DESCRIBED_ELSEWHERE:
        source.note(
            "reserved-header",
            f"the header parameter `{name}` is ignored: bodies, responses and `security` decide it",
            pointer,
        )
        return False
    if is_reserved_header(name):
        source.warn(
            "framing-header",
            f"the header parameter `{name}` was dropped",
            pointer,
            why="it would let a caller steer the connection or the credentials",
        )
        return False
    if not _TOKEN.match(name):
        source.warn(
            "header-name",
            f"`{name}` cannot be the name of a header; the parameter was dropped",
            pointer,
        )
        return False
    return True


class ParameterLowering:
    """Reads parameters, each shared one once."""

    def __init__(self, source: Source, schemas: SchemaLowering) -> None:
        self._source = source
        self._schemas = schemas
        self._known: dict[str, Parameter | None] = {}

    def read(self, declared: Iterable[Node]) -> list[Parameter]:
        """The parameters at `declared`, without those that a tool cannot set.

        Headers that carry credentials are among them, for the security of the operation.
        """
        parameters = []
        for node in declared:
            found = self._source.follow(node)
            if found.pointer not in self._known:
                self._known[found.pointer] = self._parameter(found)
            parameter = self._known[found.pointer]
            if parameter is not None:
                parameters.append(parameter)
        return parameters

    def _parameter(self, node: Node) -> Parameter | None:
        name, location = node.text("name"), node.text("in").strip().lower()
        if location not in LOCATIONS:
            raise OperationRefusedError(
                "parameter-location",
                f"a parameter stands in one of {', '.join(LOCATIONS)}, not in `{node.text('in')}`",
                self._source.at(f"{node.pointer}/in" if node.text("in") else node.pointer),
            )
        if not name and location != "querystring":
            raise OperationRefusedError(
                "parameter-name",
                "a parameter has no name",
                self._source.at(f"{node.pointer}/name" if "name" in node.value else node.pointer),
                "give it the name that goes on the wire",
            )
        if location == "header" and not sendable_header(name, node.pointer, self._source):
            return credential_header(node, self._source)
        if location == "cookie" and not _TOKEN.match(name):
            self._source.warn(
                "cookie-name",
                f"`{name}` cannot be the name of a cookie; the parameter was dropped",
                node.pointer,
            )
            return None
        return self.build(node, name, location)

    def build(self, node: Node, name: str, location: str) -> Parameter:
        """The parameter at `node`, a Parameter Object or a Header Object."""
        content_type, schema, described = self._schema(node)
        self._schemas.drop_secret(name, schema, f"{node.pointer}/schema")
        style, explode = ("", False) if content_type else self._style(node, location)
        is_required = node.flag("required")
        if location == "path" and not is_required:
            self._source.note(
                "path-parameter-optional",
                f"the path parameter `{name}` is required, as all of them are",
                node.pointer,
            )
        return Parameter(
            name=name,
            location=location,
            required=is_required or location == "path",
            schema=schema,
            style=style,
            explode=explode,
            at=self._source.at(node.pointer),
            allow_reserved=node.flag("allowReserved"),
            allow_empty_value=location == "query" and node.flag("allowEmptyValue"),
            content_type=content_type,
            description=node.text("description"),
            deprecated=node.flag("deprecated"),
            examples=(*examples_of(node, self._source), *examples_of(described, self._source)),
        )

    def _schema(self, node: Node) -> tuple[str, JsonSchema, Node]:
        content = node.child("content")
        if object_of(content.value):
            media_type = next(iter(sorted(content.value)))
            described = content.child(media_type)
            if "schema" in object_of(described.value):
                return media_type, self._schemas.lower(described.child("schema")), described
            return media_type, {}, described
        if "schema" in node.value:
            return "", self._schemas.lower(node.child("schema")), Node(None, node.pointer)
        if isinstance(node.value.get("type"), str):
            self._source.warn(
                "parameter-type",
                "`type` stands in the parameter, as in Swagger 2.0; it was read as its schema",
                f"{node.pointer}/type",
            )
            plain = {key: value for key, value in node.value.items() if key not in _OF_PARAMETERS}
            return "", self._schemas.lower(Node(plain, node.pointer)), Node(None, node.pointer)
        return "", {}, Node(None, node.pointer)

    def _style(self, node: Node, location: str) -> tuple[str, bool]:
        styles = _STYLES.get(location, ("form",))
        style = node.text("style") or styles[0]
        if style not in styles:
            self._source.warn(
                "parameter-style",
                f"the style `{style}` does not exist in {location}; `{styles[0]}` is used",
                f"{node.pointer}/style",
            )
            style = styles[0]
        explode = node.value.get("explode")
        return style, explode if isinstance(explode, bool) else style in ("form", "cookie")


_OF_PARAMETERS = frozenset({"name", "in", "required", "description", "examples"})


def examples_of(node: Node, source: Source) -> tuple[JsonValue, ...]:
    """The values of `example` and `examples`, Example Objects opened."""
    value = object_of(node.value)
    found: list[JsonValue] = [value["example"]] if "example" in value else []
    named = value.get("examples")
    if isinstance(named, list):
        found.extend(named)
    elif isinstance(named, dict):
        for _, item in sorted(node.child("examples").members()):
            reference = object_of(item.value).get("$ref")
            target = source.target(reference) if isinstance(reference, str) else item
            example = object_of(target.value) if target is not None else {}
            for keyword in ("dataValue", "value"):
                if keyword in example:
                    found.append(example[keyword])
                    break
    return tuple(found)


def merge(shared: list[Parameter], own: list[Parameter], source: Source) -> list[Parameter]:
    """Path-level parameters and an operation's own, which win by (name, location)."""
    merged: dict[tuple[str, str], Parameter] = {}
    for parameter in shared:
        merged.setdefault(_identity(parameter), parameter)
    seen: set[tuple[str, str]] = set()
    for parameter in own:
        identity = _identity(parameter)
        if identity in seen:
            source.problems.warning(
                "duplicate-parameter",
                f"the {parameter.location} parameter `{parameter.name}` is declared twice; "
                "the first declaration counts",
                at=parameter.at,
            )
            continue
        seen.add(identity)
        merged[identity] = parameter
    return sorted(merged.values(), key=lambda parameter: LOCATIONS.index(parameter.location))


def _identity(parameter: Parameter) -> tuple[str, str]:
    name = parameter.name.lower() if parameter.location == "header" else parameter.name
    return (name, parameter.location)
