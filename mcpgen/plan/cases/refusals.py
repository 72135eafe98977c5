"""Arguments that must stop a call: each rule of the operation's schemas, broken once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from mcpgen.ir.json_types import JsonObject, JsonSchema, JsonValue
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.plan.cases.calls import Call, Calls
from mcpgen.plan.cases.violations import Violations
from mcpgen.plan.shapes import Shapes

MOST_REFUSALS = 60
"""How many rules of one tool are tried; those that come after, deep inside a body, are counted."""

_UNKNOWN_ARGUMENT = "no_such_argument"
_NEVER_REFUSED = frozenset({"format", "type"})  # most formats only describe; a choice allows types


class Refusals:
    """Makes what must be refused, for the tools of one API."""

    def __init__(self, calls: Calls, schemas: Shapes) -> None:
        self._calls = calls
        self._violations = Violations(schemas)

    def of(
        self, tool: ToolPlan, smallest: Call, fullest: Call
    ) -> tuple[list[JsonObject], list[str]]:
        """Give the entries of `refused`, and the rules that no value was found to break.

        `smallest` is the call that they differ from; of `fullest` come the values to be spoilt.
        """
        found = [
            {
                "what": "an unknown argument",
                "arguments": {_UNKNOWN_ARGUMENT: 1},
                "says": _UNKNOWN_ARGUMENT,
            }
        ]
        found += _missing(tool, smallest)
        unbroken: list[str] = []
        for name, value, schemas in self._arguments(tool, fullest):
            found += self._refused(tool, name, value, schemas, unbroken)
        return found, unbroken

    def _arguments(
        self, tool: ToolPlan, call: Call
    ) -> Iterator[tuple[str, JsonValue, list[JsonSchema]]]:
        """Each argument, its value in the API's own names, and the schemas that may allow it."""
        names = {(item.location, item.wire_name): item.name for item in tool.arguments}
        for parameter in tool.operation.parameters:
            name = names.get((parameter.location, parameter.name))
            if parameter.location == "querystring":
                sent = {parameter.name: call.request.get("querystring")}
            else:
                sent = call.request[parameter.location]
            if name in call.arguments and parameter.name in sent:
                yield name, sent[parameter.name], [parameter.schema]
        body = names.get(("body", ""))
        if body in call.arguments and "body" in call.request:
            yield body, call.request["body"], [self._calls.body_schema(item) for item in tool.body]

    def _refused(
        self,
        tool: ToolPlan,
        name: str,
        value: JsonValue,
        schemas: Sequence[JsonSchema],
        unbroken: list[str],
    ) -> Iterator[JsonObject]:
        fixed = {item.wire_name for item in tool.fixed if item.location == "body"}
        fitting = [self._calls.sent.checker(schema) for schema in schemas]
        tried: dict[tuple[str, str], bool] = {}
        for violation in self._violations.of(schemas[0], value):
            rule = (violation.place, violation.rule)
            member = violation.place.removeprefix("/").partition("/")[0]
            if tried.get(rule) or (name == "body" and member in fixed):
                continue
            tried[rule] = not any(fits(violation.value) for fits in fitting)
            if tried[rule]:
                spoilt = self._calls.offered(tool, name, _without(violation.value, fixed, name))
                yield {
                    "what": f"`/{name}{violation.place}` breaks `{violation.rule}`",
                    "arguments": {name: spoilt},
                    "says": f"/{name}",
                }
        unbroken += [
            f"`{rule}` of `/{name}{place}`"
            for (place, rule), is_broken in tried.items()
            if not is_broken and rule not in _NEVER_REFUSED
        ]


def _missing(tool: ToolPlan, smallest: Call) -> Iterator[JsonObject]:
    """What the operation requires, left out."""
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


def _without(value: JsonValue, fixed: set[str], name: str) -> JsonValue:
    """What a caller gives of a body: not the members that are fixed."""
    if name != "body" or not isinstance(value, dict):
        return value
    return {key: member for key, member in value.items() if key not in fixed}
