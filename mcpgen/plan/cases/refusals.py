"""Invalid arguments for generated tests: each rule of the operation's schemas violated once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from msgspec import UNSET, Struct, UnsetType

from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.arguments.overrides import make_members_optional
from mcpgen.plan.cases.calls import Call, Calls
from mcpgen.plan.cases.travelling import travels
from mcpgen.plan.cases.violations import Violations

MOST_REFUSALS = 60
"""How many rules of one tool are tried; those that come after, deep inside a body, are counted."""

_UNKNOWN_ARGUMENT = "no_such_argument"
_NEVER_REFUSED = frozenset({"format", "type"})  # most formats only describe; a choice allows types


class Refusals:
    """Generation of calls that the tools of one API must reject."""

    def __init__(self, calls: Calls, schemas: Shapes) -> None:
        self._calls = calls
        self._shapes = schemas
        self._violations = Violations(schemas)

    def of(
        self, tool: ToolPlan, smallest: Call, fullest: Call
    ) -> tuple[list[JsonObject], list[str]]:
        """Return the entries of `refused`, and the rules that no value was found to violate.

        They differ from the call `smallest`; their values are those of `fullest`, made invalid.
        """
        found = [
            {
                "what": "an unknown argument",
                "arguments": {_UNKNOWN_ARGUMENT: 1},
                "says": _UNKNOWN_ARGUMENT,
            }
        ]
        found += _iterate_missing(tool, smallest)
        unbroken: list[str] = []
        for given in self._iterate_arguments(tool, fullest):
            found += self._iterate_refused(tool, given, unbroken)
        return found, unbroken

    def _iterate_arguments(self, tool: ToolPlan, call: Call) -> Iterator[_Given]:
        names = {(item.location, item.wire_name): item.name for item in tool.arguments}
        for parameter in tool.operation.parameters:
            name = names.get((parameter.location, parameter.name))
            if parameter.location == "querystring":
                sent = {parameter.name: call.request.get("querystring")}
            else:
                sent = call.request[parameter.location]
            if name in call.arguments and parameter.name in sent:
                value = sent[parameter.name]
                yield _Given(name, value, [parameter.schema], partial(travels, parameter))
        body = names.get(("body", ""))
        if body in call.arguments and "body" in call.request:
            schemas = [
                make_members_optional(self._calls.body_schema(item), tool.members, self._shapes.of)
                for item in tool.body
            ]
            yield _Given(body, call.request["body"], schemas, lambda _: True)

    def _iterate_refused(
        self, tool: ToolPlan, given: _Given, unbroken: list[str]
    ) -> Iterator[JsonObject]:
        broken = self._find_breaking_values(tool, given)
        for (place, rule), value in broken.items():
            if value is not UNSET:
                yield {
                    "what": f"`/{given.name}{place}` breaks `{rule}`",
                    "arguments": {given.name: self._calls.rename_members(tool, given.name, value)},
                    "says": f"/{given.name}",
                }
        unbroken += [
            f"`{rule}` of `/{given.name}{place}`"
            for (place, rule), value in broken.items()
            if value is UNSET and rule not in _NEVER_REFUSED
        ]

    def _find_breaking_values(
        self, tool: ToolPlan, given: _Given
    ) -> dict[tuple[str, str], JsonValue | UnsetType]:
        """Return an invalid value for each rule, by location and keyword, or UNSET.

        Values that the parameter can carry take priority over those that it cannot.
        """
        fixed = {item.wire_name for item in tool.fixed if item.location == "body"}
        fitting = [self._calls.sent.checker(schema) for schema in given.schemas]
        broken: dict[tuple[str, str], JsonValue | UnsetType] = {}
        settled: set[tuple[str, str]] = set()
        for violation in self._violations.of(given.schemas[0], given.value):
            rule = (violation.place, violation.rule)
            member = violation.place.removeprefix("/").partition("/")[0]
            if rule in settled or (given.name == "body" and member in fixed):
                continue
            before = broken.setdefault(rule, UNSET)
            if any(fits(violation.value) for fits in fitting):
                continue
            if given.could_travel(violation.value):
                settled.add(rule)
            elif before is not UNSET:
                continue
            broken[rule] = _drop_fixed(violation.value, fixed, given.name)
        return broken


class _Given(Struct, frozen=True):
    """An argument of a call."""

    name: str
    value: JsonValue  # with the names of the API
    schemas: list[JsonSchema]  # alternatives
    could_travel: Callable[[JsonValue], bool]  # whether the parameter can carry a value


def _iterate_missing(tool: ToolPlan, smallest: Call) -> Iterator[JsonObject]:
    """Yield calls without a required argument."""
    body = tool.operation.request_body
    required = {(item.location, item.name) for item in tool.operation.parameters if item.required}
    required |= {("body", "")} if body is not None and body.required else set()
    for item in tool.arguments:
        is_needed = (item.location, item.wire_name) in required
        if is_needed and item.default is UNSET and item.name in smallest.arguments:
            yield {
                "what": f"`{item.name}` is missing",
                "without": [item.name],
                "says": f"/{item.name}",
            }


def _drop_fixed(value: JsonValue, fixed: set[str], name: str) -> JsonValue:
    """Return a body without fixed members, which callers do not pass."""
    if name != "body" or not isinstance(value, dict):
        return value
    return {key: member for key, member in value.items() if key not in fixed}
