"""Properties of the changelog: after a harmless change, all old valid arguments are still valid."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
from hypothesis import example, given
from hypothesis import strategies as st

from mcpgen.changelog import Level, compare
from mcpgen.ir.surface import Surface, SurfaceTool

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.sampled_from([None, True, False, 0, 1, 2, 1.5, "", "x", "xyz"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
BOUNDS = st.integers(0, 3)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def _object(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    closed = {
        "type": st.just("object"),
        "additionalProperties": st.just(False),
        "properties": st.dictionaries(NAMES, inner, max_size=3),
    }
    optional = {
        "required": st.lists(NAMES, unique=True, max_size=2),
        "minProperties": BOUNDS,
        "maxProperties": BOUNDS,
    }
    return st.fixed_dictionaries(closed, optional=optional)


def _array(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    optional = {
        "items": inner,
        "minItems": BOUNDS,
        "maxItems": BOUNDS,
        "uniqueItems": st.booleans(),
    }
    return st.fixed_dictionaries({"type": st.just("array")}, optional=optional)


LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    st.just({"$ref": "#/$defs/D"}),
    st.fixed_dictionaries({"type": st.lists(TYPES, min_size=1, max_size=3, unique=True)}),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": BOUNDS,
            "exclusiveMinimum": BOUNDS,
            "maximum": BOUNDS,
            "exclusiveMaximum": BOUNDS,
            "multipleOf": st.integers(1, 3),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={"minLength": BOUNDS, "maxLength": BOUNDS, "pattern": st.sampled_from("xy")},
    ),
    st.fixed_dictionaries({"enum": st.lists(SCALARS, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"const": SCALARS}),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        _object(inner),
        _array(inner),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=4,
)


def arguments(schema: Any, definition: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"x": schema},
        "additionalProperties": False,
        "$defs": {"D": definition},
    }


def level(old: dict[str, Any], new: dict[str, Any]) -> Level:
    before, after = (Surface({"t": SurfaceTool("GET /x", "", "", schema)}) for schema in (old, new))
    return compare(before, after).level


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """Draw two schemas that are often similar."""
    old = draw(SCHEMAS)
    new = draw(SCHEMAS | st.just(old) | SCHEMAS.map(lambda other: {"anyOf": [old, other]}))
    if isinstance(old, dict) and draw(st.booleans()):
        new = {**old, **(new if isinstance(new, dict) else {})}
    return (old, new) if draw(st.booleans()) else (new, old)


@given(pairs(), LEAVES, LEAVES, st.lists(VALUES, min_size=5, max_size=15))
@example(({"const": 1}, {"const": True}), True, True, [1, True])
@example(({"oneOf": [{"type": "number"}]}, {"oneOf": [{"type": "number"}, {}]}), True, True, [1])
def test_valid_arguments_stay_valid_unless_the_change_is_major(
    pair: tuple[Any, Any], before: Any, after: Any, values: list[Any]
) -> None:
    old, new = arguments(pair[0], _leaf(before)), arguments(pair[1], _leaf(after))
    if level(old, new) is Level.MAJOR:
        return
    fitted, fits = (jsonschema_rs.Draft202012Validator(schema) for schema in (old, new))
    refused = [
        value
        for value in values
        if fitted.is_valid({"x": value}) and not fits.is_valid({"x": value})
    ]
    assert refused == []


@given(SCHEMAS, LEAVES)
def test_reordering_the_keys_of_a_schema_is_not_a_change(schema: Any, definition: Any) -> None:
    old = arguments(schema, _leaf(definition))
    assert level(old, dict(reversed(old.items()))) is Level.NONE


def _leaf(schema: Any) -> Any:
    """Return a definition that is not itself a `$ref`, which could refer to itself endlessly."""
    return {} if isinstance(schema, dict) and "$ref" in schema else schema
