"""Default headers of requests, planned as a header parameter of every operation.

The mock API and the generated tests thereby expect them. The HTTP client adds them, not handlers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from mcpgen.diagnostics import Location, OperationRefusedError, Place
from mcpgen.ir.api import Operation, Parameter
from mcpgen.ir.manifest import HeaderEntry, Tokens
from mcpgen.ir.tool_plan import Fixed, SettingUse
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.samples import Samples
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.plan.arguments.overrides import OverriddenOperation, WirePlace
from mcpgen.plan.policy import Policy
from mcpgen.text.secret_names import is_secret_name

_ORDER = ("path", "query", "header", "cookie")


def plan_default_headers(policy: Policy, source: str) -> tuple[Fixed, ...]:
    """Return the headers of requests to a source's API; the source overrides the server."""
    found: dict[str, Fixed] = {}
    for tokens, name, entry in _iterate_entries(policy, source):
        if name.lower() not in found:
            found[name.lower()] = _make_header(name, entry, policy.intent.locate((*tokens, name)))
    return tuple(found[name] for name in sorted(found))


def _iterate_entries(
    policy: Policy, source: str
) -> Iterator[tuple[Tokens, str, str | HeaderEntry]]:
    manifest = policy.manifest
    for number, (each, name) in enumerate(zip(manifest.sources, policy.source_names, strict=False)):
        if source == name:
            tokens = ("sources", str(number), "headers")
            yield from ((tokens, name, entry) for name, entry in each.headers.items())
    yield from ((("headers",), name, entry) for name, entry in manifest.headers.items())


def _make_header(name: str, entry: str | HeaderEntry, at: Location) -> Fixed:
    if isinstance(entry, str):
        return Fixed("header", name, entry, is_default_header=True, at=at)
    setting = SettingUse(
        entry.from_environment,
        {"type": "string"},
        entry.description or f"Value of the header `{name}`, sent with every request.",
        required=entry.required and not entry.default,
        secret=is_secret_name(name.lower()) if entry.secret is None else entry.secret,
        at=at,
        default=entry.default or UNSET,
    )
    return Fixed("header", name, UNSET, setting, is_default_header=True, at=at)


def apply_default_headers(
    adjusted: OverriddenOperation,
    headers: Sequence[Fixed],
    stated: Collection[WirePlace],
    shapes: Shapes,
) -> OverriddenOperation:
    """Add default headers to an operation.

    A header parameter of the same name is hidden from clients, unless its place is in `stated`,
    the parameters that the manifest configures.

    Raises:
        OperationRefusedError: a header parameter of the operation cannot have the value.
    """
    for header in headers:
        name, at = header.wire_name, header.at or Location("")
        declared = _find_declared(adjusted.sent, name)
        place = ("header", name if declared is None else declared.name)
        if place in stated or place in adjusted.names:
            continue
        schema: JsonSchema = {"type": "string"} if declared is None else declared.schema
        if header.setting is None:
            _check(header.value, schema, shapes, adjusted.sent, name, at)
            schema = {"const": header.value}
        parameter = Parameter(
            name=place[1],
            location="header",
            required=header.setting is None or header.setting.required,
            schema=schema,
            style="simple",
            explode=False,
            at=_locate(at),
        )
        adjusted = replace(
            adjusted,
            sent=_replace_parameter(adjusted.sent, place, parameter),
            offered=_replace_parameter(adjusted.offered, place, None),
            fixed=(*adjusted.fixed, replace(header, wire_name=place[1])),
        )
    return adjusted


def _locate(at: Location) -> Place:
    return Place("", lambda _: at)


def _find_declared(operation: Operation, name: str) -> Parameter | None:
    for parameter in operation.parameters:
        if parameter.location == "header" and parameter.name.lower() == name.lower():
            return parameter
    return None


def _check(
    value: JsonValue,
    schema: JsonSchema,
    shapes: Shapes,
    operation: Operation,
    name: str,
    at: Location,
) -> None:
    samples = Samples(shapes.schemas, "request")
    problem = samples.problem(schema, value)
    if problem and samples.problem(schema, _parse_scalar(value)):
        raise OperationRefusedError(
            "header",
            f"`{operation.key}` cannot have this value of the header `{name}`",
            at,
            problem,
        )


def _parse_scalar(text: JsonValue) -> JsonValue:
    """Parse a text as JSON, such as a number or a boolean, or return it."""
    try:
        return msgspec.json.decode(str(text))
    except msgspec.DecodeError:
        return text


def _replace_parameter(
    operation: Operation, place: WirePlace, parameter: Parameter | None
) -> Operation:
    """Return the operation with another parameter at a place, or with none there."""
    others = [each for each in operation.parameters if (each.location, each.name) != place]
    if parameter is not None:
        others.append(parameter)
        others.sort(key=lambda each: _ORDER.index(each.location) if each.location in _ORDER else 4)
    return replace(operation, parameters=tuple(others))
