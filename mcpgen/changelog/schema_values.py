"""Comparison of the keywords of two JSON Schemas that constrain a value: types, enums, bounds.

Nested schemas are compared by `schema_changes`.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from mcpgen.jsonschema.types import JsonObject

_encode = msgspec.json.Encoder(order="sorted").encode

ALL_KINDS = frozenset({"array", "boolean", "fraction", "integer", "null", "object", "string"})
"""Into what values fall; a JSON Schema `number` is an integer or a fraction."""


class Effect(enum.Enum):
    """Effect of a change on the set of values that a schema accepts."""

    NARROWED = "narrowed"
    WIDENED = "widened"
    UNDECIDED = "undecided"


class ValueDifference(NamedTuple):
    """A changed keyword; `detail` is the end of a sentence."""

    aspect: str  # "enum" or "constraint"
    effect: Effect
    detail: str


def kinds(schema: JsonObject) -> frozenset[str]:
    """The kinds of values that a schema accepts by its `type`, or else by its `enum`."""
    named = schema.get("type")
    if named is None:
        listed = list_allowed(schema)
        return ALL_KINDS if listed is None else frozenset(map(_kind, listed.values()))
    names = {named} if isinstance(named, str) else set(named)
    if "number" in names:
        names = (names - {"number"}) | {"integer", "fraction"}
    return frozenset(names)


def compare_values(old: JsonObject, new: JsonObject) -> Iterator[ValueDifference]:
    """Compare the keywords about the value itself, except `type`."""
    yield from _compare_enums(list_allowed(old), list_allowed(new))
    shared = kinds(old) & kinds(new)
    for lower, upper, kind in _RANGES:
        if kind in shared:
            yield from _compare_bounds(old, new, lower, is_lower=True)
            yield from _compare_bounds(old, new, upper, is_lower=False)
    if "integer" in shared:
        yield from _compare_multiples(old.get("multipleOf"), new.get("multipleOf"))
    if "array" in shared and bool(old.get("uniqueItems")) != bool(new.get("uniqueItems")):
        is_new = bool(new.get("uniqueItems"))
        yield _constraint(
            Effect.NARROWED if is_new else Effect.WIDENED,
            "now wants distinct items" if is_new else "no longer wants distinct items",
        )
    if "string" in shared:
        yield from _compare_text_rules("pattern", old.get("pattern"), new.get("pattern"))
    yield from _compare_text_rules("format", old.get("format"), new.get("format"))


def encode_canonically(value: Any) -> str:
    """Encode a JSON value so that equal ones have the same text: 1 and 1.0, but not 1 and true."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:  # half a surrogate pair, which no JSON text has but as an escape
        return json.dumps(value, sort_keys=True)


def is_same_value(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; 1 and true are not."""
    return encode_canonically(one) == encode_canonically(other)


def format_value(value: Any) -> str:
    """Format a value for a sentence, in at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def list_allowed(schema: JsonObject) -> dict[str, Any] | None:
    """Return the values of `enum` or `const` by their encoding; None without either."""
    if "const" in schema:
        return {encode_canonically(schema["const"]): schema["const"]}
    listed = schema.get("enum")
    return None if listed is None else {encode_canonically(value): value for value in listed}


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "fraction"
        case dict():
            return "object"
        case _:
            return "array"


def _compare_enums(
    old: dict[str, Any] | None, new: dict[str, Any] | None
) -> Iterator[ValueDifference]:
    if old is None and new is None:
        return
    if old is None or new is None:
        values = ", ".join(format_value(value) for value in (new or old or {}).values())
        yield ValueDifference(
            "enum",
            Effect.NARROWED if old is None else Effect.WIDENED,
            f"is now one of {values}" if old is None else f"is no longer held to {values}",
        )
        return
    if lost := [format_value(old[key]) for key in old if key not in new]:
        yield ValueDifference("enum", Effect.NARROWED, f"can no longer be {', '.join(lost)}")
    if gained := [format_value(new[key]) for key in new if key not in old]:
        yield ValueDifference("enum", Effect.WIDENED, f"can now be {', '.join(gained)}")


# The keywords of a lower and an upper bound, and the kind of value that they hold for.
_RANGES = (
    ("minimum", "maximum", "integer"),
    ("minLength", "maxLength", "string"),
    ("minItems", "maxItems", "array"),
    ("minProperties", "maxProperties", "object"),
)
_EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
_NEVER_BELOW_ZERO = {"minLength", "minItems", "minProperties"}


def _compare_bounds(
    old: JsonObject, new: JsonObject, keyword: str, *, is_lower: bool
) -> Iterator[ValueDifference]:
    before, after = (_find_bound(schema, keyword, is_lower=is_lower) for schema in (old, new))
    if before == after:
        return
    is_tighter = before is None or (after is not None and (after > before) == is_lower)
    effect = Effect.NARROWED if is_tighter else Effect.WIDENED
    now, then = (_format_bound(schema, keyword) for schema in (new, old))
    yield _constraint(effect, f"has {now or f'no `{keyword}`'}, had {then or 'none'}")


def _find_bound(schema: JsonObject, keyword: str, *, is_lower: bool) -> tuple[Decimal, int] | None:
    """Return the tighter of the inclusive and the exclusive bound, in an ordered form."""
    towards = 1 if is_lower else -1
    found: list[tuple[Decimal, int]] = []
    bound = _number(schema.get(keyword))
    is_redundant = bound == 0 and keyword in _NEVER_BELOW_ZERO
    if bound is not None and not is_redundant:
        found.append((bound, 0))
    bound = _number(schema.get(_EXCLUSIVE.get(keyword, "")))
    if bound is not None:
        if schema.get("type") == "integer" and bound == bound.to_integral_value():
            found.append((bound + towards, 0))
        else:
            found.append((bound, towards))
    if not found:
        return None
    return max(found) if is_lower else min(found)


def _number(value: Any) -> Decimal | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return Decimal(str(value)) if is_number else None


def _format_bound(schema: JsonObject, keyword: str) -> str:
    words = [name for name in (keyword, _EXCLUSIVE.get(keyword, "")) if name in schema]
    return " and ".join(f"`{name}` {format_value(schema[name])}" for name in words)


def _compare_multiples(old: Any, new: Any) -> Iterator[ValueDifference]:
    before, after = _number(old), _number(new)
    if before == after:
        return
    if after is None:
        yield _constraint(Effect.WIDENED, f"need not be a multiple of {format_value(old)} any more")
        return
    if before is None or after % before == 0:
        effect = Effect.NARROWED
    else:
        effect = Effect.WIDENED if before % after == 0 else Effect.UNDECIDED
    yield _constraint(effect, f"has to be a multiple of {format_value(new)}")


# Every value of the first format is valid in the second.
_WIDER_FORMATS = frozenset(
    {("int32", "int64"), ("float", "double"), ("email", "idn-email"), ("uri", "uri-reference"),
     ("hostname", "idn-hostname"), ("uri", "iri"), ("uri-reference", "iri-reference")}
)  # fmt: skip


def _compare_text_rules(keyword: str, old: Any, new: Any) -> Iterator[ValueDifference]:
    if old == new:
        return
    if old is None or new is None:
        yield _constraint(
            Effect.NARROWED if old is None else Effect.WIDENED,
            f"has a `{keyword}`: {format_value(new)}"
            if old is None
            else f"has no `{keyword}` any more",
        )
        return
    if keyword == "format" and (old, new) in _WIDER_FORMATS:
        effect = Effect.WIDENED
    elif keyword == "format" and (new, old) in _WIDER_FORMATS:
        effect = Effect.NARROWED
    else:
        effect = Effect.UNDECIDED
    yield _constraint(effect, f"has the `{keyword}` {format_value(new)}, had {format_value(old)}")


def _constraint(effect: Effect, detail: str) -> ValueDifference:
    return ValueDifference("constraint", effect, detail)
