"""Invalid arguments for generated tests: each rule of the operation's schemas violated once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from mcpgen.contract.flat_bodies import FlatBody
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.references import find_reference
from mcpgen.jsonschema.samples import CannotSampleError, Samples
from mcpgen.jsonschema.schemas import find_json_type
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.arguments.overrides import make_members_optional
from mcpgen.plan.cases.calls import Call, Calls
from mcpgen.plan.cases.parts import iterate_refused_parts
from mcpgen.plan.cases.travelling import travels
from mcpgen.text.json_pointer import json_pointer, pointer_tokens

_MAX_DEPTH = 6
_NONE: frozenset[str] = frozenset()
_LONGEST_TEXT = 2000
_MOST_ITEMS = 200
_MOST_CHOICES = 4
_UNKNOWN = "no_such_member"
_OF_EACH_TYPE: tuple[JsonValue, ...] = ({"no": "such"}, "no such", 0.5, True, [["no"]], None)
_NOT_MATCHING = ("", "!", "~ ~", "a", "0", "-", "\u00e9\u00e9\u00e9", "A1 b2 C3 d4 E5 f6 G7 h8")
_NUMBERS = frozenset({"integer", "number"})
_RULES_OF_TYPES = (
    (_NUMBERS, ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    (frozenset({"string"}), ("minLength", "maxLength", "pattern", "format")),
    (frozenset({"array"}), ("minItems", "maxItems", "uniqueItems")),
    (frozenset({"object"}), ("additionalProperties", "minProperties", "maxProperties")),
)


class Rule(NamedTuple):
    """A rule of a schema that values can violate."""

    place: str  # JSON Pointer of a location inside a value; "" for all of it
    keyword: str
    choice: str  # which alternative has the rule, if it is not the one that the value fits


_Violation: TypeAlias = tuple[Rule, JsonValue]
"""A rule, and a value that violates it."""
_Put = Callable[[JsonValue], JsonValue]
"""A function that returns the whole value with another one at a location."""


class Violations:
    """Generation of values that violate the rules of schemas."""

    def __init__(self, shapes: Shapes, samples: Samples) -> None:
        self._shapes = shapes
        self._samples = samples

    def of(self, schema: JsonSchema, value: JsonValue) -> Iterator[_Violation]:
        """Yield values that violate each rule that applies to `value`, the outer rules first.

        `value` is valid. The caller checks that the results are invalid: a choice may still allow
        them, and there are several attempts for some rules. A definition is entered once on the
        way to a location, so that recursion ends.
        """
        yield from self._iterate_violations(schema, value, Rule("", "", ""), lambda it: it, _NONE)

    def _iterate_violations(
        self, schema: JsonSchema, value: JsonValue, at: Rule, put: _Put, inside: frozenset[str]
    ) -> Iterator[_Violation]:
        place = at.place
        name = find_reference(schema)
        if name in inside or place.count("/") > _MAX_DEPTH:
            return
        inside |= {name} if name else set()
        keywords = self._shapes.of(schema).keywords
        for rule, broken in _iterate_breaking(keywords, value):
            yield at._replace(keyword=rule), put(broken)
        if isinstance(value, dict):
            yield from self._iterate_member_violations(keywords, value, at, put, inside)
        if isinstance(value, list) and value and "items" in keywords:
            items = keywords["items"]
            at_first = at._replace(place=f"{place}/0")
            rest = value[1:]
            yield from self._iterate_violations(
                items, value[0], at_first, lambda new: put([new, *rest]), inside
            )

        yield from self._iterate_choices(keywords, value, at, put, inside)

    def _iterate_choices(
        self, keywords: JsonObject, value: JsonValue, at: Rule, put: _Put, inside: frozenset[str]
    ) -> Iterator[_Violation]:
        """Yield the violations of each alternative: of `value` if it fits, else of a sample."""
        choices = keywords.get("oneOf") or keywords.get("anyOf") or []
        for number, choice in enumerate(choices[:_MOST_CHOICES], 1):
            if self._samples.checker(choice)(value):
                yield from self._iterate_violations(choice, value, at, put, inside)
            elif "properties" in self._shapes.of(choice).keywords:
                with suppress(CannotSampleError):
                    other = self._samples.sample(choice, "largest")
                    named = at._replace(choice=f"{at.choice}/{number}")
                    yield from self._iterate_violations(choice, other, named, put, inside)

    def _iterate_member_violations(
        self, keywords: JsonObject, value: JsonObject, at: Rule, put: _Put, inside: frozenset[str]
    ) -> Iterator[_Violation]:
        place = at.place
        for name in keywords.get("required", ()):
            if name in value:
                left = {key: member for key, member in value.items() if key != name}
                member = at._replace(place=place + json_pointer((name,)), keyword="required")
                yield member, put(left)
        properties = keywords.get("properties", {})
        for name in sorted(value.keys() & properties.keys()):

            def put_member(new: JsonValue, name: str = name) -> JsonValue:
                return put({**value, name: new})

            at_member = at._replace(place=place + json_pointer((name,)))
            yield from self._iterate_violations(
                properties[name], value[name], at_member, put_member, inside
            )


def _iterate_breaking(keywords: JsonObject, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield each rule that applies to values of this type, with a value that should violate it."""
    yield from (("type", other) for other in _list_other_types(keywords))
    if "enum" in keywords:
        yield "enum", _find_unlisted(keywords["enum"])
    for types, rules in _RULES_OF_TYPES:
        if find_json_type(value) in types:
            for rule in rules:
                if rule in keywords:
                    broken = _BREAKING[rule](keywords[rule], value, keywords)
                    yield from ((rule, other) for other in broken)


def _list_other_types(keywords: JsonObject) -> list[JsonValue]:
    """Return a value of a type that is not allowed, or no value."""
    told = keywords.get("type")
    if told is None:
        return []
    allowed = {told} if isinstance(told, str) else set(told)
    if "number" in allowed:
        allowed.add("integer")
    return [other for other in _OF_EACH_TYPE if find_json_type(other) not in allowed][:1]


def _find_unlisted(values: list[JsonValue]) -> JsonValue:
    """Return a value that is not listed, if possible of the same type."""
    numbers = [item for item in values if find_json_type(item) in _NUMBERS]
    if numbers and len(numbers) == len(values):
        return max(numbers) + 1
    return "no such value"


def _add_unknown_member(rule: JsonValue, value: JsonObject, _: JsonObject) -> list[JsonValue]:
    return [{**value, _UNKNOWN: 1}] if rule is False else []


def _list_unmatching_texts(_: JsonValue, _value: str, keywords: JsonObject) -> list[JsonValue]:
    """Return texts of allowed lengths that few formats and patterns match."""
    least, most = keywords.get("minLength", 0), keywords.get("maxLength", _LONGEST_TEXT)
    padded = [text if len(text) >= least else text.ljust(int(least), "!") for text in _NOT_MATCHING]
    return [text for text in padded if len(text) <= most]


def _lengthen_text(limit: int, value: str, _: JsonObject) -> list[JsonValue]:
    filler = value[-1:] or "x"
    return [value.ljust(int(limit) + 1, filler)] if limit < _LONGEST_TEXT else []


def _add_items(limit: int, value: list[JsonValue], _: JsonObject) -> list[JsonValue]:
    if not value or limit >= _MOST_ITEMS:
        return []
    return [[*value, *([value[-1]] * (int(limit) + 1 - len(value)))]]


def _add_members(limit: int, value: JsonObject, keywords: JsonObject) -> list[JsonValue]:
    missing = int(limit) + 1 - len(value)
    if missing > _MOST_ITEMS:
        return []
    declared = keywords.get("properties", {})
    like = next((member for name, member in value.items() if name not in declared), 1)
    return [{**value, **{f"{_UNKNOWN}{number}": like for number in range(missing)}}]


def _drop_members(limit: int, value: JsonObject, _: JsonObject) -> list[JsonValue]:
    return [dict(list(value.items())[: int(limit) - 1])] if limit > 0 else []


_BREAKING: dict[str, Callable[..., list[JsonValue]]] = {
    "minimum": lambda bound, *_: [bound - 1],
    "maximum": lambda bound, *_: [bound + 1],
    "exclusiveMinimum": lambda bound, *_: [bound],
    "exclusiveMaximum": lambda bound, *_: [bound],
    "multipleOf": lambda step, value, *_: [value + step / 2],
    "minLength": lambda limit, value, *_: [value[: int(limit) - 1]] if limit > 0 else [],
    "maxLength": _lengthen_text,
    "pattern": _list_unmatching_texts,
    "format": _list_unmatching_texts,
    "minItems": lambda limit, value, *_: [value[: int(limit) - 1]] if limit > 0 else [],
    "maxItems": _add_items,
    "uniqueItems": lambda rule, value, *_: [[value[0], value[0]]] if rule and value else [],
    "additionalProperties": _add_unknown_member,
    "minProperties": _drop_members,
    "maxProperties": _add_members,
}


MOST_REFUSALS = 60
"""How many rules of one tool are tried; those that come after, deep inside a body, are counted."""

_WHOLE_BODY = "the request body"  # as in the server's messages
_UNKNOWN_ARGUMENT = "no_such_argument"
_NEVER_REFUSED = frozenset({"format", "type"})  # most formats only describe; a choice allows types


class Refusals:
    """Generation of calls that the tools of one API must reject."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._shapes = calls.shapes
        self._violations = Violations(calls.shapes, calls.sent)

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
        found += iterate_refused_parts(tool)
        found += _iterate_missing(tool, smallest)
        unbroken: list[str] = []
        for given in self._iterate_arguments(tool, fullest):
            if tool.flat_body is not None and given.name == tool.flat_body.argument:
                found += self._iterate_refused_members(tool, given, smallest, unbroken)
            else:
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
        body = names.get(("body", ""), "")
        has_body = body in call.arguments or tool.flat_body is not None
        if has_body and "body" in call.request:
            schemas = [
                make_members_optional(self._calls.body_schema(item), tool.members, self._shapes.of)
                for item in tool.body
            ]
            yield _Given(body, call.request["body"], schemas, lambda _: True)

    def _iterate_refused(
        self, tool: ToolPlan, given: _Given, unbroken: list[str]
    ) -> Iterator[JsonObject]:
        broken = self._find_breaking_values(tool, given)
        for rule, value in broken.items():
            named = f"`/{given.name}{rule.place}`"
            if value is not UNSET:
                yield {
                    "what": f"{named} breaks {_describe(rule)}",
                    "arguments": {given.name: self._calls.rename_members(tool, given.name, value)},
                    "says": f"/{given.name}",
                }
            elif rule.keyword not in _NEVER_REFUSED:
                unbroken.append(f"{_describe(rule)} of {named}")

    def _iterate_refused_members(
        self, tool: ToolPlan, given: _Given, smallest: Call, unbroken: list[str]
    ) -> Iterator[JsonObject]:
        """Yield the refusals of a flat body; some rules no arguments can break."""
        flat = tool.flat_body
        if flat is None:
            return
        for rule, value in self._find_breaking_values(tool, given).items():
            path = _locate_member(tool, flat, rule.place)
            named = f"`{json_pointer(path)}`" if path else _WHOLE_BODY
            if value is UNSET:
                if rule.keyword not in _NEVER_REFUSED:
                    unbroken.append(f"{_describe(rule)} of {named}")
                continue
            try:
                call = Call(self._calls.spread_body(tool, value), {"body": value})
            except CannotSampleError:
                continue
            if not (call.arguments or flat.required):
                continue  # no body is sent then
            entry: JsonObject = {
                "what": f"{named} breaks {_describe(rule)}",
                "arguments": call.arguments,
            }
            if left_out := call.leave_out(tool, smallest):
                entry["without"] = left_out
            yield {**entry, "says": json_pointer(path[:1]) or _WHOLE_BODY}

    def _find_breaking_values(
        self, tool: ToolPlan, given: _Given
    ) -> dict[Rule, JsonValue | UnsetType]:
        """Return an invalid value for each rule, or UNSET.

        Values that the parameter can carry take priority over those that it cannot.
        """
        fixed = {item.wire_name for item in tool.fixed if item.location == "body"}
        fitting = [self._calls.sent.checker(schema) for schema in given.schemas]
        broken: dict[Rule, JsonValue | UnsetType] = {}
        settled: set[Rule] = set()
        for rule, value in self._violations.of(given.schemas[0], given.value):
            member = rule.place.removeprefix("/").partition("/")[0]
            if rule in settled or (given.name == "body" and member in fixed):
                continue
            before = broken.setdefault(rule, UNSET)
            if any(fits(value) for fits in fitting):
                continue
            if given.could_travel(value):
                settled.add(rule)
            elif before is not UNSET:
                continue
            broken[rule] = _drop_fixed(value, fixed, given.name)
        return broken


def _describe(rule: Rule) -> str:
    """Return the keyword of a rule, with the alternative that has it."""
    return f"`{rule.keyword}`" + (f" of choice {rule.choice[1:]}" if rule.choice else "")


def _locate_member(tool: ToolPlan, flat: FlatBody, place: str) -> tuple[str | int, ...]:
    """Return where a place in the body is in the arguments; () for the body itself."""
    offered = {wire: name for name, wire in tool.wire_names.items()}
    tokens = pointer_tokens(place)
    return flat.locate((flat.argument, *(offered.get(it, it) for it in tokens[:1]), *tokens[1:]))


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
        if tool.flat_body is not None and item.location == "body":
            continue  # its members are refused
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
