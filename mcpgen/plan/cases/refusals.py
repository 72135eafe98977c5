"""Invalid arguments for generated tests: each rule of the operation's schemas violated once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from mcpgen.contract.flat_bodies import FlatBody
from mcpgen.ir.api import Parameter
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.references import find_reference
from mcpgen.jsonschema.samples import CannotSampleError, Samples
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.jsonschema.values import find_json_type
from mcpgen.plan.arguments.overrides import make_members_optional
from mcpgen.plan.arguments.travelling import travels
from mcpgen.plan.cases.calls import Call, Calls
from mcpgen.plan.cases.parts import iterate_refused_parts
from mcpgen.plan.cases.shared_parameters import ParameterResults
from mcpgen.text.json_pointer import json_pointer, pointer_tokens

_MAX_DEPTH = 6
_LONGEST_TEXT = 2000
_MOST_ITEMS = 200
_UNKNOWN = "no_such_member"
_CHOICES = ("anyOf", "oneOf")
_MOST_OPTIONS = 8
_OF_EACH_TYPE: Mapping[str, JsonValue] = {
    "object": {"no": "such"},
    "string": "no such",
    "number": 0.5,
    "boolean": True,
    "array": [["no"]],
    "null": None,
}
_NOT_MATCHING = ("", "!", "~ ~", "a", "0", "-", "\u00e9\u00e9\u00e9", "A1 b2 C3 d4 E5 f6 G7 h8")
_NUMBERS = frozenset({"integer", "number"})
_RULES_OF_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_RULES_OF_TYPES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_NUMBERS, _RULES_OF_NUMBERS),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "array": ("minItems", "maxItems", "uniqueItems"),
    "object": ("additionalProperties", "minProperties", "maxProperties"),
}


class _Rule(Struct, frozen=True):
    """A keyword that applies to a location inside a value."""

    place: str  # JSON Pointer; "" for all of the value
    keyword: str
    choice: str  # the alternative that has it, such as "2", if it is not the one of the value
    choice_at: str | None  # the location of the outermost choice around its schema
    is_repeated: bool  # whether an earlier rule is this one, at another location

    @property
    def is_in_choice(self) -> bool:
        """Whether another alternative may allow what violates it."""
        return self.choice_at is not None

    @property
    def priority(self) -> tuple[bool, int]:
        """Sort key if there are too many rules: new ones first, then those closer to the root."""
        return self.is_repeated, self.place.count("/")

    def describe(self, name: str) -> str:
        """Return the rule in words; `name` is that of its location."""
        text = f"{name} breaks `{self.keyword}`"
        return f"{text} of choice {self.choice}" if self.choice else text


_Check: TypeAlias = Callable[[JsonValue], bool]
_Broken: TypeAlias = Mapping[_Rule, JsonValue | UnsetType]
"""An invalid value for each rule, or UNSET if none was found."""
_Violation: TypeAlias = tuple[_Rule, JsonValue]
"""A rule, and the whole value that violates it."""


class _Spot(Struct, frozen=True):
    """A location inside a value."""

    place: str
    choice: str
    put: Callable[[JsonValue], JsonValue]  # returns the whole value with another one here
    inside: frozenset[str] = frozenset()  # the definitions that were entered on the way
    choice_at: str | None = None  # the location of the outermost choice around its schema
    is_repeated: bool = False  # whether its schema applies to an earlier location as well

    def violates(self, keyword: str, value: JsonValue, member: str = "") -> _Violation:
        """Return the violation of a rule of this location, or of a member of it."""
        place = self.place + member
        rule = _Rule(place, keyword, self.choice, self.choice_at, self.is_repeated)
        return rule, self.put(value)

    def step(self, token: str, put: Callable[[JsonValue], JsonValue]) -> _Spot:
        """Return a location below this one."""
        place = self.place + json_pointer((token,))
        return _Spot(place, self.choice, put, self.inside, self.choice_at, self.is_repeated)

    def enter(self, name: str, *, is_repeated: bool) -> _Spot:
        """Return this location in a definition, or in a schema without a name."""
        inside = self.inside | {name} if name else self.inside
        return _Spot(self.place, self.choice, self.put, inside, self.choice_at, is_repeated)

    def choose(self, number: int, *, is_fitting: bool) -> _Spot:
        """Return this location in an alternative of its schema, which counts from 1."""
        choice = f"{self.choice}.{number}" if self.choice else str(number)
        return replace(
            self,
            choice=self.choice if is_fitting else choice,
            choice_at=self.place if self.choice_at is None else self.choice_at,
        )


class Violations:
    """Generation of values that violate the rules of schemas."""

    def __init__(self, shapes: Shapes, samples: Samples) -> None:
        self._shapes = shapes
        self._samples = samples
        self._first: dict[str | int, tuple[str, str]] = {}  # locations by definition or schema
        self._patterns: dict[str, _Check] = {}

    def of(self, schema: JsonSchema, value: JsonValue) -> Iterator[_Violation]:
        """Yield values that violate each rule that applies to `value`, the outer rules first.

        Other alternatives of a choice than the one of `value` get a value of their own. `value` is
        valid. The caller checks that the results are invalid: a choice may still allow them, and
        there are several attempts for some rules. A definition is entered once on the way to a
        location, so that recursion ends.
        """
        self._first.clear()
        spot = _Spot("", "", lambda new: new)
        yield from self._iterate_violations(
            schema, value, spot, partial(self._samples.fits, schema)
        )

    def _iterate_violations(
        self, schema: JsonSchema, value: JsonValue, spot: _Spot, is_valid: _Check
    ) -> Iterator[_Violation]:
        name = find_reference(schema)
        if name in spot.inside or spot.place.count("/") > _MAX_DEPTH:
            return
        where = (spot.place, spot.choice)
        is_repeated = self._first.setdefault(name or id(schema), where) != where
        spot = spot.enter(name, is_repeated=is_repeated)
        keywords = self._shapes.of(schema).keywords
        if isinstance(value, dict) and len(value) == keywords.get("maxProperties"):
            yield from self._iterate_further_members(keywords.get("properties", {}), value, spot)
        if isinstance(value, list) and keywords.get("uniqueItems") and "maxItems" in keywords:
            yield from self._iterate_distinct_items(keywords, spot)
        for keyword, broken in _iterate_breaking(keywords, value):
            yield spot.violates(keyword, broken)
        if isinstance(value, dict):
            yield from self._iterate_member_violations(keywords, value, spot, is_valid)
        if isinstance(value, list) and value and "items" in keywords:
            rest = value[1:]
            first = spot.step("0", lambda new: spot.put([new, *rest]))
            yield from self._iterate_violations(keywords["items"], value[0], first, is_valid)
        yield from self._iterate_choice_violations(keywords, value, spot, is_valid)

    def _iterate_member_violations(
        self, keywords: JsonObject, value: JsonObject, spot: _Spot, is_valid: _Check
    ) -> Iterator[_Violation]:
        for name in keywords.get("required", ()):
            if name in value:
                left = {key: member for key, member in value.items() if key != name}
                yield spot.violates("required", left, json_pointer((name,)))
        schemas = {name: self._find_member_schema(keywords, name) for name in sorted(value)}
        for name, schema in schemas.items():

            def put_member(new: JsonValue, name: str = name) -> JsonValue:
                return spot.put({**value, name: new})

            member = spot.step(name, put_member)
            yield from self._iterate_violations(schema, value[name], member, is_valid)

    def _find_member_schema(self, keywords: JsonObject, name: str) -> JsonSchema:
        """Return the schema of a member, declared by its name, by a pattern or for all others."""
        declared: Mapping[str, JsonSchema] = keywords.get("properties", {})
        if name in declared:
            return declared[name]
        by_pattern: Mapping[str, JsonSchema] = keywords.get("patternProperties", {})
        for pattern in sorted(by_pattern):
            if pattern not in self._patterns:
                self._patterns[pattern] = self._samples.checker({"pattern": pattern})
            if self._patterns[pattern](name):
                return by_pattern[pattern]
        others: JsonSchema = keywords.get("additionalProperties", True)
        return others

    def _iterate_distinct_items(self, keywords: JsonObject, spot: _Spot) -> Iterator[_Violation]:
        """Yield a list that has one item too many, and none of them twice."""
        limit, items = int(keywords["maxItems"]), keywords.get("items", True)
        if limit >= _MOST_ITEMS:
            return
        with suppress(CannotSampleError):
            many = [
                self._samples.sample(items, seed=f"item{number}") for number in range(limit + 1)
            ]
            if len({repr(item) for item in many}) == len(many):
                yield spot.violates("maxItems", many)

    def _iterate_further_members(
        self, properties: JsonObject, value: JsonObject, spot: _Spot
    ) -> Iterator[_Violation]:
        """Yield an object that has one declared member too many."""
        for name in sorted(properties.keys() - value.keys())[:1]:
            with suppress(CannotSampleError):
                further = self._samples.sample(properties[name], seed=name)
                yield spot.violates("maxProperties", {**value, name: further})

    def _iterate_choice_violations(
        self, keywords: JsonObject, value: JsonValue, spot: _Spot, is_valid: _Check
    ) -> Iterator[_Violation]:
        for choice in _CHOICES:
            for number, option in enumerate(keywords.get(choice, ())[:_MOST_OPTIONS], start=1):
                chosen, is_fitting = value, self._samples.fits(option, value)
                if not is_fitting:
                    with suppress(CannotSampleError):
                        chosen = self._samples.sample(option, "largest", seed=spot.place)
                    if chosen is value or not is_valid(spot.put(chosen)):
                        continue
                at = spot.choose(number, is_fitting=is_fitting)
                yield from self._iterate_violations(option, chosen, at, is_valid)


def _iterate_breaking(keywords: JsonObject, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield each rule that applies to values of this type, with a value that should violate it."""
    yield from (("type", other) for other in _list_other_types(keywords))
    if "enum" in keywords:
        yield "enum", _find_unlisted(keywords["enum"])
    for rule in _RULES_OF_TYPES.get(find_json_type(value), ()):
        if rule in keywords:
            for other in _BREAKING[rule](keywords[rule], value, keywords):
                yield rule, other


def _list_other_types(keywords: JsonObject) -> list[JsonValue]:
    """Return a value of a type that is not allowed, or no value."""
    declared = keywords.get("type")
    if declared is None:
        return []
    allowed = {declared} if isinstance(declared, str) else declared
    return [other for name, other in _OF_EACH_TYPE.items() if name not in allowed][:1]


def _find_unlisted(values: list[JsonValue]) -> JsonValue:
    """Return a value that is not listed, if possible of the same type."""
    numbers = [item for item in values if find_json_type(item) in _NUMBERS]
    if numbers and len(numbers) == len(values):
        return max(numbers) + 1
    return "no such value"


def _add_unknown_member(
    rule: JsonValue, value: JsonObject, keywords: JsonObject
) -> list[JsonValue]:
    if rule is not False:
        return []
    if len(value) == keywords.get("maxProperties"):  # one member more would violate that as well
        value = {name: it for name, it in value.items() if name in keywords.get("required", ())}
    return [{**value, _UNKNOWN: 1}]


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
"""Rules of one tool that are tested; others, deep inside a body or repeated, are only counted."""

_WHOLE_BODY = "the request body"  # as in the server's messages
_UNKNOWN_ARGUMENT = "no_such_argument"
_FIRST = (False, 0)
_NEVER_REFUSED = frozenset({"format", "type"})  # most formats only describe; a choice allows types


class Refusals:
    """Generation of calls that the tools of one API must reject."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._shapes = calls.shapes
        self._violations = Violations(calls.shapes, calls.sent)
        self._of_parameters: ParameterResults[_Broken] = ParameterResults(calls.bounds)

    def of(
        self, tool: ToolPlan, smallest: Call, fullest: Call
    ) -> tuple[list[JsonObject], list[str]]:
        """Return the entries of `refused`, and the rules that no value was found to violate.

        They differ from the call `smallest`; their values are those of `fullest`, made invalid. If
        there are more than `MOST_REFUSALS`, those that matter most come first.
        """
        unknown: JsonObject = {
            "what": "an unknown argument",
            "arguments": {_UNKNOWN_ARGUMENT: 1},
            "says": _UNKNOWN_ARGUMENT,
        }
        others = (unknown, *iterate_refused_parts(tool), *_iterate_missing(tool, smallest))
        found: list[tuple[tuple[bool, int], JsonObject]] = [(_FIRST, entry) for entry in others]
        unbroken: list[str] = []
        for name, broken in self._iterate_broken_arguments(tool, fullest):
            if tool.flat_body is not None and name == tool.flat_body.argument:
                found += self._iterate_refused_members(tool, broken, smallest, unbroken)
            else:
                found += self._iterate_refused(tool, name, broken, unbroken)
        if len(found) > MOST_REFUSALS:
            found.sort(key=itemgetter(0))
        return [entry for _, entry in found], unbroken

    def _iterate_broken_arguments(
        self, tool: ToolPlan, call: Call
    ) -> Iterator[tuple[str, _Broken]]:
        """Yield the name of each argument of a call, with its invalid values."""
        names = {(item.location, item.wire_name): item.name for item in tool.arguments}
        for parameter in tool.operation.parameters:
            name = names.get((parameter.location, parameter.name))
            if parameter.location == "querystring":
                sent = {parameter.name: call.request.get("querystring")}
            else:
                sent = call.request[parameter.location]
            if name in call.arguments and parameter.name in sent:
                yield name, self._break_parameter(parameter, sent[parameter.name])
        body = names.get(("body", ""), "")
        has_body = body in call.arguments or tool.flat_body is not None
        if has_body and "body" in call.request:
            yield body, self._break_body(tool, call.request["body"])

    def _break_parameter(self, parameter: Parameter, value: JsonValue) -> _Broken:
        return self._of_parameters.get(
            parameter,
            repr(value),  # in Python, true equals 1
            lambda: self._find_breaking_values(
                parameter.schema,
                partial(self._calls.sent.is_surely_invalid, parameter.schema),
                value,
                could_travel=partial(travels, parameter),
            ),
        )

    def _break_body(self, tool: ToolPlan, value: JsonValue) -> _Broken:
        schemas = [
            make_members_optional(self._calls.body_schema(item), tool.members, self._shapes.of)
            for item in tool.body
        ]
        checks = [self._calls.sent.make_invalidity_check(schema) for schema in schemas]
        fixed = {item.wire_name for item in tool.fixed if item.location == "body"}
        return self._find_breaking_values(
            schemas[0], lambda new: all(is_invalid(new) for is_invalid in checks), value, fixed
        )

    def _iterate_refused(
        self, tool: ToolPlan, name: str, broken: _Broken, unbroken: list[str]
    ) -> Iterator[tuple[tuple[bool, int], JsonObject]]:
        for rule, value in broken.items():
            named = f"`/{name}{rule.place}`"
            if value is not UNSET:
                arguments = {name: self._calls.rename_members(tool, name, value)}
                location = f"/{name}"
                what = rule.describe(named)
                yield rule.priority, {"what": what, "arguments": arguments, "says": location}
            elif rule.keyword not in _NEVER_REFUSED:
                unbroken.append(f"`{rule.keyword}` of {named}")

    def _iterate_refused_members(
        self, tool: ToolPlan, broken: _Broken, smallest: Call, unbroken: list[str]
    ) -> Iterator[tuple[tuple[bool, int], JsonObject]]:
        """Yield the refusals of a flat body; some rules no arguments can break."""
        flat = tool.flat_body
        if flat is None:
            return
        for rule, value in broken.items():
            path = _locate_member(tool, flat, rule.place)
            named = f"`{json_pointer(path)}`" if path else _WHOLE_BODY
            if value is UNSET:
                if rule.keyword not in _NEVER_REFUSED:
                    unbroken.append(f"`{rule.keyword}` of {named}")
                continue
            try:
                call = Call(self._calls.spread_body(tool, value), {"body": value})
            except CannotSampleError:
                continue
            if not (call.arguments or flat.required):
                continue  # no body is sent then
            entry: JsonObject = {"what": rule.describe(named), "arguments": call.arguments}
            if omitted := call.leave_out(tool, smallest):
                entry["without"] = omitted
            # The error of a choice is about its closest alternative, which may be another one.
            member = "" if rule.choice_at == "" else json_pointer(path[:1])
            yield rule.priority, {**entry, "says": member or _WHOLE_BODY}

    def _find_breaking_values(
        self,
        schema: JsonSchema,
        is_invalid: _Check,
        value: JsonValue,
        fixed: Collection[str] = (),
        could_travel: _Check = lambda _: True,
    ) -> _Broken:
        """Return an invalid value for each rule of a schema that applies to a value.

        Values that the parameter can carry take priority over those that it cannot. Rules of a
        choice are omitted if another alternative allows all values that violate them, and rules of
        the members that are `fixed`, since callers do not pass these.
        """
        broken: dict[_Rule, JsonValue | UnsetType] = {}
        settled: set[_Rule] = set()
        for rule, new in self._violations.of(schema, value):
            if rule in settled or rule.place.removeprefix("/").partition("/")[0] in fixed:
                continue
            before = UNSET if rule.is_in_choice else broken.setdefault(rule, UNSET)
            if not is_invalid(new):
                continue
            if rule.is_in_choice and new in broken.values():
                continue  # the same value violates the rule of another alternative
            if could_travel(new):
                settled.add(rule)
            elif before is not UNSET:
                continue
            broken[rule] = _drop_fixed_members(new, fixed)
        return broken


def _locate_member(tool: ToolPlan, flat: FlatBody, place: str) -> tuple[str | int, ...]:
    """Return where a place in the body is in the arguments; () for the body itself."""
    offered = {wire: name for name, wire in tool.wire_names.items()}
    tokens = pointer_tokens(place)
    return flat.locate((flat.argument, *(offered.get(it, it) for it in tokens[:1]), *tokens[1:]))


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


def _drop_fixed_members(value: JsonValue, fixed: Collection[str]) -> JsonValue:
    """Return a body without fixed members."""
    if not fixed or not isinstance(value, dict):
        return value
    return {key: member for key, member in value.items() if key not in fixed}
