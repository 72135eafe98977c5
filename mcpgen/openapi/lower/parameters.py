"""Lowering of Parameter Objects and Header Objects of OpenAPI 3."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from mcpgen.contract.http_names import is_reserved_header, is_token
from mcpgen.diagnostics import OperationRefusedError, Repair
from mcpgen.ir.api import Parameter
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.openapi.lower.nodes import Node, Source, object_of
from mcpgen.openapi.lower.schema import SchemaLowering

LOCATIONS = ("path", "query", "querystring", "header", "cookie")
_STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),
}
_DESCRIBED_ELSEWHERE = frozenset({"accept", "content-type", "authorization"})
CREDENTIAL_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
"""Headers with credentials; only a security scheme may set them, not an argument."""


def credential_header(node: Node, source: Source) -> Parameter | None:
    """Return a declared header that carries a credential; None for other parameters.

    Its schema is not lowered, since it is not an argument.
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


def check_header(name: str, pointer: str, source: Source) -> bool:
    """Return whether a tool may set the header `name`; report why not."""
    lowered = name.lower()
    if lowered in _DESCRIBED_ELSEWHERE:
        source.note(
            "reserved-header",
            f"the header parameter `{name}` is ignored: mcpgen derives it from the media types or"
            " `security`",
            pointer,
        )
        return False
    if is_reserved_header(name):
        source.warn(
            "framing-header",
            f"the header parameter `{name}` was dropped",
            pointer,
            why="with it, a caller could control the connection or the credentials",
        )
        return False
    if not is_token(name):
        source.warn(
            "header-name",
            f"invalid header name `{name}`; the parameter was dropped",
            pointer,
        )
        return False
    return True


def check_name(node: Node, location: str, source: Source) -> bool:
    """Return whether a parameter has a name; report one without that is optional.

    Raises:
        OperationRefusedError: a required parameter has none.
    """
    if node.text("name"):
        return True
    place = f"{node.pointer}/name" if "name" in node.value else node.pointer
    remedy = "add its wire name"
    if location == "path" or node.flag("required"):
        raise OperationRefusedError(
            "parameter-name", "missing `name` of a parameter", source.at(place), remedy
        )
    message = "missing `name` of an optional parameter; it was dropped"
    source.warn("parameter-name", message, place, help=remedy)
    return False


class ParameterLowering:
    """Lowering of parameters; shared ones are cached by pointer."""

    def __init__(self, source: Source, schemas: SchemaLowering) -> None:
        self._source = source
        self._schemas = schemas
        self._known: dict[str, Parameter | None] = {}

    def read(self, declared: Iterable[Node]) -> list[Parameter]:
        """Lower the parameters at `declared`, without those that a tool cannot set.

        Headers with credentials are included, for the security of the operation.
        """
        parameters = []
        for node in declared:
            found = self._source.follow(node)
            if found.pointer not in self._known:
                self._known[found.pointer] = self._parameter(found)
            parameters.append(self._known[found.pointer])
        return [parameter for parameter in parameters if parameter is not None]

    def _parameter(self, node: Node) -> Parameter | None:
        name, location = node.text("name"), node.text("in").strip().lower()
        if location not in LOCATIONS:
            raise OperationRefusedError(
                "parameter-location",
                f"invalid `in` of a parameter: expected {', '.join(LOCATIONS)}, found"
                f" `{node.text('in')}`",
                self._source.at(f"{node.pointer}/in" if node.text("in") else node.pointer),
            )
        if location != "querystring" and not check_name(node, location, self._source):
            return None
        if location == "header" and not check_header(name, node.pointer, self._source):
            return credential_header(node, self._source)
        if location == "cookie" and not is_token(name):
            self._source.warn(
                "cookie-name",
                f"invalid cookie name `{name}`; the parameter was dropped",
                node.pointer,
            )
            return None
        return self.build(node, name, location)

    def build(self, node: Node, name: str, location: str) -> Parameter:
        """Lower the Parameter Object or Header Object at `node`."""
        content_type, schema, described = self._schema(node)
        self._schemas.drop_secret(name, schema, f"{node.pointer}/schema")
        style, explode = ("", False) if content_type else self._style(node, location)
        is_required = node.flag("required")
        if location == "path" and not is_required:
            self._source.note(
                "path-parameter-optional",
                f"path parameter `{name}` without `required: true`; it is required",
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
            media_type = min(content.value)
            described = content.child(media_type)
            if "schema" in object_of(described.value):
                return media_type, self._schemas.lower(described.child("schema")), described
            return media_type, {}, described
        if "schema" in node.value:
            return "", self._schemas.lower(node.child("schema")), Node(None, node.pointer)
        if isinstance(node.value.get("type"), str):
            self._source.warn(
                "parameter-type",
                "`type` in a parameter, as in Swagger 2.0; it was read as its schema",
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
                f"invalid style `{style}` for {location} parameters; `{styles[0]}` is used",
                f"{node.pointer}/style",
            )
            style = styles[0]
        explode = node.value.get("explode")
        return style, explode if isinstance(explode, bool) else style in ("form", "cookie")


_OF_PARAMETERS = frozenset({"name", "in", "required", "description", "examples"})


def examples_of(node: Node, source: Source) -> tuple[JsonValue, ...]:
    """Return the values of `example` and of the Example Objects in `examples`."""
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
            found += [example[key] for key in ("dataValue", "value") if key in example][:1]
    return tuple(found)


def merge(shared: list[Parameter], own: list[Parameter], source: Source) -> list[Parameter]:
    """Merge path-level parameters with an operation's own, which take priority."""
    merged: dict[tuple[str, str], Parameter] = {}
    for parameter in shared:
        merged.setdefault(_identity(parameter), parameter)
    seen: set[tuple[str, str]] = set()
    for parameter in own:
        identity = _identity(parameter)
        if identity in seen:
            source.problems.warning(
                "duplicate-parameter",
                f"duplicate {parameter.location} parameter `{parameter.name}`; "
                "the first one is used",
                at=parameter.at,
            )
            continue
        seen.add(identity)
        merged[identity] = parameter
    return sorted(merged.values(), key=lambda parameter: LOCATIONS.index(parameter.location))


def _identity(parameter: Parameter) -> tuple[str, str]:
    name = parameter.name.lower() if parameter.location == "header" else parameter.name
    return (name, parameter.location)


_VARIABLE = re.compile(r"\{([^{}]*)\}")
_FILLED_PAIR = re.compile(r"([^={}]+)=\{([^{}]+)\}\Z")


def match_template(
    path: str, parameters: list[Parameter], node: Node, source: Source
) -> list[Parameter]:
    """Return one parameter for each variable of `path`, and the other parameters.

    Missing parameters are added, unused path parameters dropped, with a warning. The fragment of a
    path is never sent. A query in the path is sent unchanged; its variables are query parameters.
    """
    template, _, query = path.partition("#")[0].partition("?")
    if query:
        parameters = _merge_query(query, parameters, node, source)
    variables = list(dict.fromkeys(_VARIABLE.findall(template)))
    if "" in variables:
        raise OperationRefusedError(
            "path-template", "its path has a variable without a name", source.at(node.pointer)
        )
    declared = {item.name: item for item in parameters if item.location == "path"}
    for name, parameter in declared.items():
        if name not in variables:
            source.problems.warning(
                "unused-path-parameter",
                f"unused path parameter `{name}` of `{path}`; it was dropped",
                at=parameter.at,
            )
    missing = [_make_parameter(it, "path", node, source) for it in variables if it not in declared]
    return missing + [it for it in parameters if it.location != "path" or it.name in variables]


def _merge_query(
    query: str, parameters: list[Parameter], node: Node, source: Source
) -> list[Parameter]:
    """Add the variables of a query in the path; remove the parameters that it fixes."""
    found = list(parameters)
    for pair in filter(None, query.split("&")):
        filled = _FILLED_PAIR.match(pair)
        name = filled.group(1) if filled else pair.partition("=")[0]
        if filled is None and _VARIABLE.search(pair):
            raise OperationRefusedError(
                "path-query",
                f"invalid `{pair}` in the query of its path: expected `name={{variable}}`",
                source.at(node.pointer),
                "declare a query parameter for it",
            )
        same = [item for item in found if item.location == "query" and item.name == name]
        if filled is None:  # the path fixes the value
            found = [item for item in found if item not in same]
            continue
        variable = filled.group(2)
        template = [item for item in found if item.location == "path" and item.name == variable]
        found = [item for item in found if item not in template]
        if not same:
            found.append(
                replace(template[0], location="query", name=name, style="form", explode=True)
                if template
                else _make_parameter(name, "query", node, source)
            )
    return found


def _make_parameter(name: str, location: str, node: Node, source: Source) -> Parameter:
    """Return a string parameter for an undeclared variable of the path, with a warning."""
    source.warn(
        f"missing-{location}-parameter",
        f"undeclared parameter `{{{name}}}` in the path; it is treated as a string",
        node.pointer,
        help=f"declare a parameter `{name}` with `in: {location}`",
        repair=Repair(declares=name),
    )
    return Parameter(
        name=name,
        location=location,
        required=True,
        schema={"type": "string"},
        style="simple" if location == "path" else "form",
        explode=location == "query",
        at=source.at(node.pointer),
    )
