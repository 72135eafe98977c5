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
    """What became of the set of values that a schema accepts."""

    NARROWED = "narrowed"
    WIDENED = "widened"
    UNDECIDED = "undecided"


class Aspect(enum.Enum):
    """Which part of a schema says so."""

    TYPE = "type"
    ENUM = "enum"
    CONSTRAINT = "constraint"


class ValueDifference(NamedTuple):
    """One keyword that says something else than before; `detail` is the end of a sentence."""

    aspect: Aspect
    effect: Effect
    detail: str


def kinds(schema: JsonObject) -> frozenset[str]:
    """The kinds of values that a schema accepts by its `type`, or else by its `enum`."""
    named = schema.get("type")
    if named is None:
        listed = allowed(schema)
        return ALL_KINDS if listed is None else frozenset(map(_kind, listed.values()))
    names = {named} if isinstance(named, str) else set(named)
    if "number" in names:
        names = (names - {"number"}) | {"integer", "fraction"}
    return frozenset(names)


def value_differences(old: JsonObject, new: JsonObject) -> Iterator[ValueDifference]:
    """Compare all that two schemas say of the value itself, its types excepted."""
    yield from _enum_differences(allowed(old), allowed(new))
    shared = kinds(old) & kinds(new)
    for lower, upper, kind in _RANGES:
        if kind in shared:
            yield from _bound_differences(old, new, lower, is_lower=True)
            yield from _bound_differences(old, new, upper, is_lower=False)
    if "integer" in shared:
        yield from _multiple_differences(old.get("multipleOf"), new.get("multipleOf"))
    if "array" in shared and bool(old.get("uniqueItems")) != bool(new.get("uniqueItems")):
        is_new = bool(new.get("uniqueItems"))
        yield _constraint(
            Effect.NARROWED if is_new else Effect.WIDENED,
            "now wants distinct items" if is_new else "no longer wants distinct items",
        )
    if "string" in shared:
        yield from _text_rule_differences("pattern", old.get("pattern"), new.get("pattern"))
    yield from _text_rule_differences("format", old.get("format"), new.get("format"))


def canonical(value: Any) -> str:
    """Spell a JSON value so that equal ones are alike: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:  # half a surrogate pair, which no JSON text has but as an escape
        return json.dumps(value, sort_keys=True)


def shown(value: Any) -> str:
    """Spell a value for a sentence."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def allowed(schema: JsonObject) -> dict[str, Any] | None:
    """The values that `enum` or `const` lists; None where neither does."""
    if "const" in schema:
        return {canonical(schema["const"]): schema["const"]}
    listed = schema.get("enum")
    return None if listed is None else {canonical(value): value for value in listed}


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


def _enum_differences(
    old: dict[str, Any] | None, new: dict[str, Any] | None
) -> Iterator[ValueDifference]:
    if old is None and new is None:
        return
    if old is None or new is None:
        values = ", ".join(shown(value) for value in (new or old or {}).values())
        yield ValueDifference(
            Aspect.ENUM,
            Effect.NARROWED if old is None else Effect.WIDENED,
            f"is now one of {values}" if old is None else f"is no longer held to {values}",
        )
        return
    if lost := [shown(old[key]) for key in old if key not in new]:
        yield ValueDifference(Aspect.ENUM, Effect.NARROWED, f"can no longer be {', '.join(lost)}")
    if gained := [shown(new[key]) for key in new if key not in old]:
        yield ValueDifference(Aspect.ENUM, Effect.WIDENED, f"can now be {', '.join(gained)}")


# The keywords of a lower and an upper bound, and the kind of value that they hold for.
_RANGES = (
    ("minimum", "maximum", "integer"),
    ("minLength", "maxLength", "string"),
    ("minItems", "maxItems", "array"),
    ("minProperties", "maxProperties", "object"),
)
_EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
_NEVER_BELOW_ZERO = {"minLength", "minItems", "minProperties"}


def _bound_differences(
    old: JsonObject, new: JsonObject, keyword: str, *, is_lower: bool
) -> Iterator[ValueDifference]:
    before, after = (_bound(schema, keyword, is_lower=is_lower) for schema in (old, new))
    if before == after:
        return
    if before is None or (after is not None and (after > before) == is_lower):
        effect = Effect.NARROWED
    else:
        effect = Effect.WIDENED
    now, then = (_shown_bound(schema, keyword) for schema in (new, old))
    yield _constraint(effect, f"has {now or f'no `{keyword}`'}, had {then or 'none'}")


def _bound(schema: JsonObject, keyword: str, *, is_lower: bool) -> tuple[Decimal, int] | None:
    """The bound as what can be ordered; the exclusive one of two equal ones is the tighter."""
    towards = 1 if is_lower else -1
    found: list[tuple[Decimal, int]] = []
    bound = _number(schema.get(keyword))
    says_nothing = bound == 0 and keyword in _NEVER_BELOW_ZERO
    if bound is not None and not says_nothing:
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


def _shown_bound(schema: JsonObject, keyword: str) -> str:
    words = [name for name in (keyword, _EXCLUSIVE.get(keyword, "")) if name in schema]
    return " and ".join(f"`{name}` {shown(schema[name])}" for name in words)


def _multiple_differences(old: Any, new: Any) -> Iterator[ValueDifference]:
    before, after = _number(old), _number(new)
    if before == after:
        return
    if after is None:
        yield _constraint(Effect.WIDENED, f"need not be a multiple of {shown(old)} any more")
        return
    if before is None or after % before == 0:
        effect = Effect.NARROWED
    else:
        effect = Effect.WIDENED if before % after == 0 else Effect.UNDECIDED
    yield _constraint(effect, f"has to be a multiple of {shown(new)}")


# Every value of the first format is one of the second.
_WIDER_FORMATS = frozenset(
    {("int32", "int64"), ("float", "double"), ("email", "idn-email"), ("uri", "uri-reference"),
     ("hostname", "idn-hostname"), ("uri", "iri"), ("uri-reference", "iri-reference")}
)  # fmt: skip


def _text_rule_differences(keyword: str, old: Any, new: Any) -> Iterator[ValueDifference]:
    if old == new:
        return
    if old is None or new is None:
        yield _constraint(
            Effect.NARROWED if old is None else Effect.WIDENED,
            f"has a `{keyword}`: {shown(new)}" if old is None else f"has no `{keyword}` any more",
        )
        return
    if keyword == "format" and (old, new) in _WIDER_FORMATS:
        effect = Effect.WIDENED
    elif keyword == "format" and (new, old) in _WIDER_FORMATS:
        effect = Effect.NARROWED
    else:
        effect = Effect.UNDECIDED
    yield _constraint(effect, f"has the `{keyword}` {shown(new)}, had {shown(old)}")


def _constraint(effect: Effect, detail: str) -> ValueDifference:
    return ValueDifference(Aspect.CONSTRAINT, effect, detail)
