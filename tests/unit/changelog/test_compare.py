"""Tests of the level that the changelog gives each kind of change."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mcpgen.changelog import Changelog, Level, compare
from mcpgen.ir.surface import Surface, SurfaceTool

MAJOR, MINOR, PATCH, NONE = Level.MAJOR, Level.MINOR, Level.PATCH, Level.NONE


def inputs(*required: str, **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    return {**schema, "required": list(required)} if required else schema


def outputs(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
TOOL = SurfaceTool(
    operation="GET /pets",
    title="List pets",
    description="Lists pets.",
    input_schema=inputs("shop", shop=TEXT, limit=NUMBER),
    annotations={"readOnlyHint": True, "destructiveHint": False},
    output_schema=outputs(items={"type": "array", "items": TEXT}),
    security=({"oauth": ("pets:read",)},),
)
OLD = Surface({"list_pets": TOOL}, "A shop.")


def changelog(old: SurfaceTool, new: SurfaceTool, **levels: Level) -> Changelog:
    return compare(
        Surface({"list_pets": old}),
        Surface({"list_pets": new}),
        {rule.replace("_", "-"): level for rule, level in levels.items()},
    )


def found(result: Changelog) -> list[tuple[str, Level]]:
    return [(change.rule, change.level) for change in result.changes]


def of_input(old: Any, new: Any) -> Changelog:
    """Return the changelog of a changed schema of the optional argument `x`."""
    return changelog(
        replace(TOOL, input_schema=inputs(x=old)), replace(TOOL, input_schema=inputs(x=new))
    )


def of_output(old: Any, new: Any) -> Changelog:
    return changelog(
        replace(TOOL, output_schema=outputs(x=old)), replace(TOOL, output_schema=outputs(x=new))
    )


TOOLS = [
    # (the case in regeneration.md, the tools afterwards, rule, level)
    ("tool removed", {}, "tool-removed", MAJOR),
    ("tool renamed", {"find_pets": TOOL}, "tool-renamed", MAJOR),
    (
        "tool renamed, the old name kept as an alias",
        {"find_pets": replace(TOOL, aliases=("list_pets",))},
        "tool-renamed-aliased",
        MINOR,
    ),
    (
        "tool added",
        {"list_pets": TOOL, "get_pet": replace(TOOL, operation="GET /pets/{id}")},
        "tool-added",
        MINOR,
    ),
    (
        "operationId renamed, the issued name kept",
        {"list_pets": replace(TOOL, document_name="find_pets")},
        "operation-renamed",
        NONE,
    ),
    (
        "another operation under the same name",
        {"list_pets": replace(TOOL, operation="GET /animals")},
        "operation-changed",
        MAJOR,
    ),
    (
        "another method under the same name",
        {"list_pets": replace(TOOL, operation="POST /pets")},
        "operation-changed",
        MAJOR,
    ),
    (
        "the operation of another version of the API",
        {"list_pets": replace(TOOL, operation="GET /v2beta1/pets")},
        "operation-moved",
        MINOR,
    ),
    ("alias added", {"list_pets": replace(TOOL, aliases=("pets",))}, "alias-added", MINOR),
]


@pytest.mark.parametrize(
    ("tools", "rule", "level"), [case[1:] for case in TOOLS], ids=[case[0] for case in TOOLS]
)
def test_a_change_of_the_tool_list_has_a_rule_and_a_level(
    tools: dict[str, SurfaceTool], rule: str, level: Level
) -> None:
    assert found(compare(OLD, replace(OLD, tools=tools))) == [(rule, level)]


def test_another_name_of_a_parameter_in_the_path_is_no_other_operation() -> None:
    old, new = (
        Surface({"get_pet": replace(TOOL, operation=f"GET /pets/{{{name}}}")})
        for name in ("id", "petId")
    )
    assert found(compare(old, new)) == []


def test_a_part_that_the_listing_leaves_out_was_not_removed() -> None:
    part = outputs(item=outputs(tags={"type": "array", "items": TEXT}, name=TEXT))
    cut = outputs(item={"type": "object"})
    whole, shortened = (
        Surface({"list_pets": replace(TOOL, output_schema=part)}),
        Surface({"list_pets": replace(TOOL, output_schema=cut, output_is_cut=True)}),
    )
    assert found(compare(whole, shortened)) == [("output-text", PATCH)]
    assert found(compare(shortened, whole)) == [("output-text", PATCH)]
    stated = Surface({"list_pets": replace(TOOL, output_schema=cut)})
    assert {rule for rule, _ in found(compare(whole, stated))} == {"output-removed"}


def test_a_part_that_is_listed_is_compared_though_another_one_is_left_out() -> None:
    old = outputs(item=outputs(name=TEXT), pet=outputs(name=TEXT, age=NUMBER))
    new = outputs(item={"type": "object"}, pet=outputs(name=TEXT))
    before, after = (
        Surface({"list_pets": replace(TOOL, output_schema=schema, output_is_cut=True)})
        for schema in (old, new)
    )
    assert found(compare(before, after)) == [("output-removed", MAJOR), ("output-text", PATCH)]


ONE_TOOL: list[tuple[str, dict[str, Any], str, Level]] = [
    ("input removed", {"input_schema": inputs("shop", shop=TEXT)}, "input-removed", MAJOR),
    (
        "input newly required",
        {"input_schema": inputs("shop", "limit", shop=TEXT, limit=NUMBER)},
        "input-required",
        MAJOR,
    ),
    (
        "required input added",
        {"input_schema": inputs("shop", "tag", shop=TEXT, limit=NUMBER, tag=TEXT)},
        "input-added-required",
        MAJOR,
    ),
    (
        "optional input added",
        {"input_schema": inputs("shop", shop=TEXT, limit=NUMBER, tag=TEXT)},
        "input-added",
        MINOR,
    ),
    (
        "input made optional",
        {"input_schema": inputs(shop=TEXT, limit=NUMBER)},
        "input-optional",
        MINOR,
    ),
    ("output field removed", {"output_schema": outputs()}, "output-removed", MAJOR),
    (
        "output field's type changed",
        {"output_schema": outputs(items=TEXT)},
        "output-type-changed",
        MAJOR,
    ),
    (
        "output field added",
        {"output_schema": outputs(items={"type": "array", "items": TEXT}, next=TEXT)},
        "output-added",
        MINOR,
    ),
    ("output schema removed", {"output_schema": None}, "output-removed", MAJOR),
    (
        "readOnly hint flipped",
        {"annotations": {"readOnlyHint": False, "destructiveHint": False}},
        "read-only-hint",
        MAJOR,
    ),
    (
        "auth scope added",
        {"security": ({"oauth": ("pets:read", "pets:all")},)},
        "scope-added",
        MAJOR,
    ),
    ("auth scope removed", {"security": ({"oauth": ()},)}, "scope-removed", MINOR),
    ("anonymous calls allowed", {"security": ()}, "scope-removed", MINOR),
    (
        "another way in",
        {"security": ({"oauth": ("pets:read",)}, {"key": ()})},
        "scope-removed",
        MINOR,
    ),
    ("one way in exchanged", {"security": ({"key": ()},)}, "scope-added", MAJOR),
    ("description", {"description": "Lists all pets."}, "description", PATCH),
    ("title", {"title": "Pets"}, "title", PATCH),
    (
        "description of an argument",
        {"input_schema": inputs("shop", shop={**TEXT, "description": "Its id."}, limit=NUMBER)},
        "input-text",
        PATCH,
    ),
    (
        "example of an argument",
        {"input_schema": inputs("shop", shop={**TEXT, "examples": ["a"]}, limit=NUMBER)},
        "input-example",
        PATCH,
    ),
    (
        "default of an argument",
        {"input_schema": inputs("shop", shop=TEXT, limit={**NUMBER, "default": 5})},
        "input-default",
        PATCH,
    ),
    (
        "title of an output field",
        {"output_schema": outputs(items={"type": "array", "items": TEXT, "title": "Pets"})},
        "output-text",
        PATCH,
    ),
    (
        "idempotent hint",
        {"annotations": {**TOOL.annotations, "idempotentHint": True}},
        "other-hint",
        PATCH,
    ),
]


@pytest.mark.parametrize(
    ("changed", "rule", "level"),
    [case[1:] for case in ONE_TOOL],
    ids=[case[0] for case in ONE_TOOL],
)
def test_a_change_of_a_tool_has_a_rule_and_a_level(
    changed: dict[str, Any], rule: str, level: Level
) -> None:
    assert found(changelog(TOOL, replace(TOOL, **changed))) == [(rule, level)]


def test_a_changed_destructive_hint_of_a_writing_tool_is_major() -> None:
    writes = replace(TOOL, annotations={"readOnlyHint": False, "destructiveHint": False})
    destroys = replace(TOOL, annotations={"readOnlyHint": False})  # true where it is absent
    assert found(changelog(writes, destroys)) == [("destructive-hint", MAJOR)]
    assert found(changelog(destroys, writes)) == [("destructive-hint", MAJOR)]


def test_changed_instructions_are_a_patch_without_a_tool() -> None:
    (change,) = compare(OLD, replace(OLD, instructions="Another shop.")).changes
    assert (change.rule, change.level, change.tool) == ("instructions", PATCH, "")


def test_reordered_properties_are_not_a_change() -> None:
    reordered = replace(
        TOOL, input_schema=dict(reversed(inputs("shop", limit=NUMBER, shop=TEXT).items()))
    )
    assert compare(OLD, replace(OLD, tools={"list_pets": reordered})) == Changelog()


NARROWED_AND_WIDENED: list[tuple[str, Any, Any, str]] = [
    # (name, schema of the wider argument, of the narrower one, the rule without -narrowed)
    ("types", {"type": ["string", "null"]}, TEXT, "type"),
    ("number and integer", {"type": "number"}, NUMBER, "type"),
    ("anything and a type", {}, TEXT, "type"),
    ("enum", {"enum": ["a", "b"]}, {"enum": ["a"]}, "enum"),
    ("enum and none", TEXT, {**TEXT, "enum": ["a"]}, "enum"),
    ("const", {"enum": [1, 2]}, {"const": 1.0}, "enum"),
    ("minimum", {**NUMBER, "minimum": 1}, {**NUMBER, "minimum": 2}, "constraint"),
    ("maximum", {**NUMBER, "maximum": 2}, {**NUMBER, "maximum": 1}, "constraint"),
    (
        "exclusive bound",
        {"type": "number", "minimum": 1},
        {"type": "number", "exclusiveMinimum": 1},
        "constraint",
    ),
    ("maxLength", TEXT, {**TEXT, "maxLength": 5}, "constraint"),
    ("minLength", {**TEXT, "minLength": 0}, {**TEXT, "minLength": 1}, "constraint"),
    (
        "maxItems",
        {"type": "array", "maxItems": 9},
        {"type": "array", "maxItems": 8},
        "constraint",
    ),
    ("multipleOf", {**NUMBER, "multipleOf": 2}, {**NUMBER, "multipleOf": 4}, "constraint"),
    ("uniqueItems", {"type": "array"}, {"type": "array", "uniqueItems": True}, "constraint"),
    ("pattern", TEXT, {**TEXT, "pattern": "^a$"}, "constraint"),
    ("format", {**NUMBER, "format": "int64"}, {**NUMBER, "format": "int32"}, "constraint"),
    (
        "additionalProperties",
        {"type": "object"},
        {"type": "object", "additionalProperties": False},
        "constraint",
    ),
    (
        "additionalProperties with a schema",
        {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        {"type": "object", "additionalProperties": TEXT},
        "type",
    ),
    (
        "items",
        {"type": "array", "items": {"enum": ["a", "b"]}},
        {"type": "array", "items": {"enum": ["a"]}},
        "enum",
    ),
    (
        "nested objects",
        inputs(y=inputs(z={"maxLength": 9, **TEXT})),
        inputs(y=inputs(z={"maxLength": 8, **TEXT})),
        "constraint",
    ),
    ("anyOf and one of its members", {"anyOf": [TEXT, NUMBER]}, TEXT, "type"),
    ("anyOf", {"anyOf": [TEXT, NUMBER]}, {"anyOf": [NUMBER]}, "type"),
    ("oneOf of distinct types", {"oneOf": [TEXT, NUMBER]}, {"oneOf": [TEXT]}, "type"),
    ("anyOf, one member", {"anyOf": [TEXT, NUMBER]},
     {"anyOf": [TEXT, {**NUMBER, "minimum": 1}]}, "constraint"),
    ("nullable in two spellings", {"anyOf": [TEXT, {"type": "null"}]}, TEXT, "type"),
    ("allOf", TEXT, {"allOf": [TEXT, {"maxLength": 3}]}, "constraint"),
    ("not", TEXT, {**TEXT, "not": {"const": "a"}}, "constraint"),
    ("nothing fits", TEXT, False, "type"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "less", "aspect"),
    [case[1:] for case in NARROWED_AND_WIDENED],
    ids=[case[0] for case in NARROWED_AND_WIDENED],
)
def test_a_narrowed_input_is_major_and_a_widened_input_is_minor(
    more: Any, less: Any, aspect: str
) -> None:
    narrowed, widened = of_input(more, less), of_input(less, more)
    assert (f"input-{aspect}-narrowed", MAJOR) in found(narrowed)
    assert narrowed.level is MAJOR
    assert (f"input-{aspect}-widened", MINOR) in found(widened)
    assert widened.level is MINOR
    assert all(change.is_certain for change in (*narrowed.changes, *widened.changes))


@pytest.mark.parametrize(
    ("more", "less", "aspect"),
    [case[1:] for case in NARROWED_AND_WIDENED],
    ids=[case[0] for case in NARROWED_AND_WIDENED],
)
def test_a_narrowed_output_is_minor_and_a_widened_output_is_major(
    more: Any, less: Any, aspect: str
) -> None:
    """A changed type is always major: clients have code for the old one."""
    narrowed, widened = of_output(more, less), of_output(less, more)
    level = MAJOR if aspect == "type" else MINOR
    assert (f"output-{aspect}-narrowed", level) in found(narrowed)
    assert narrowed.level is level
    assert (f"output-{aspect}-widened", MAJOR) in found(widened)


def test_a_required_output_field_that_becomes_optional_is_major() -> None:
    sure = replace(TOOL, output_schema={**outputs(x=TEXT), "required": ["x"]})
    unsure = replace(TOOL, output_schema=outputs(x=TEXT))
    assert found(changelog(unsure, sure)) == [("output-required", MINOR)]
    assert found(changelog(sure, unsure)) == [("output-optional", MAJOR)]


def test_a_removed_alias_is_major() -> None:
    assert found(changelog(replace(TOOL, aliases=("pets",)), TOOL)) == [("alias-removed", MAJOR)]


def test_a_replaced_type_is_major_and_reported_once() -> None:
    assert found(of_input({**TEXT, "maxLength": 3}, NUMBER)) == [("input-type-changed", MAJOR)]
    assert found(of_output(TEXT, NUMBER)) == [("output-type-changed", MAJOR)]


def test_a_narrowed_or_widened_output_type_is_major() -> None:
    assert found(of_output({"type": ["string", "null"]}, TEXT)) == [("output-type-narrowed", MAJOR)]
    assert found(of_output(TEXT, {"type": ["string", "null"]})) == [("output-type-widened", MAJOR)]


def test_an_enum_that_loses_and_gains_a_value_is_narrowed_and_widened() -> None:
    result = of_input({"enum": ["a", "b"]}, {"enum": ["a", "c"]})
    assert found(result) == [("input-enum-narrowed", MAJOR), ("input-enum-widened", MINOR)]
    assert result.changes[0].message == 'input `x` can no longer be "b"'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({**TEXT, "pattern": "^a+$"}, {**TEXT, "pattern": "^a*$"}),
        ({**TEXT, "format": "date"}, {**TEXT, "format": "uuid"}),
        ({**TEXT, "not": {"const": "a"}}, {**TEXT, "not": {"const": "b"}}),
        ({"oneOf": [TEXT]}, {"oneOf": [TEXT, {"minLength": 3}]}),
        ({**NUMBER, "multipleOf": 4}, {**NUMBER, "multipleOf": 6}),
        ({"$ref": "#/$defs/Gone"}, {"$ref": "#/$defs/Lost"}),
    ],
)
def test_an_undecidable_change_has_the_higher_level_and_is_uncertain(old: Any, new: Any) -> None:
    change, *others = of_input(old, new).changes
    assert (change.level, change.is_certain) == (MAJOR, False)
    assert all(other.level is MINOR for other in others)
    assert change.message.endswith(", which may break clients")


@pytest.mark.parametrize(
    "spoilt",
    [
        {"type": 5},
        {"properties": None},
        {"properties": {"x": None}},
        {"required": 5},
        {"required": [5, "x"]},
        {"$ref": 5},
        {"properties": {"x": {"format": []}}},
    ],
)
def test_an_invalid_schema_is_always_a_change(spoilt: Any) -> None:
    """An invalid schema means that its file was edited by hand."""
    good, bad = replace(TOOL, output_schema=TEXT), replace(TOOL, output_schema=spoilt)
    for old, new in ((good, bad), (bad, good)):
        (change,) = changelog(old, new).changes
        assert (change.rule, change.level) == ("output-constraint-widened", MAJOR)
        assert "no JSON Schema" in change.message
        assert not change.is_certain
    (change,) = changelog(TOOL, replace(TOOL, input_schema=spoilt)).changes
    assert (change.rule, change.level) == ("input-constraint-narrowed", MAJOR)


def test_a_changed_text_inside_overlapping_alternatives_is_a_patch() -> None:
    old = {"oneOf": [inputs(a=TEXT), inputs(a=TEXT, b=TEXT)]}
    new = {"oneOf": [inputs(a=TEXT), inputs(a={**TEXT, "description": "New."}, b=TEXT)]}
    assert found(of_input(old, new)) == [("input-text", PATCH)]


def test_a_change_behind_a_shared_reference_is_reported_once() -> None:
    def schema(**status: Any) -> dict[str, Any]:
        one = {"$ref": "#/$defs/Status"}
        return {**inputs(a=one, b=one), "$defs": {"Status": {**TEXT, **status}}}

    result = changelog(
        replace(TOOL, input_schema=schema()), replace(TOOL, input_schema=schema(maxLength=3))
    )
    assert found(result) == [("input-constraint-narrowed", MAJOR)]


def test_inlining_a_reference_changes_nothing() -> None:
    by_name = {**inputs(x={"$ref": "#/$defs/a~1b"}), "$defs": {"a/b": TEXT}}
    result = changelog(
        replace(TOOL, input_schema=by_name), replace(TOOL, input_schema=inputs(x=TEXT))
    )
    assert found(result) == []


def test_a_recursive_schema_is_compared_completely() -> None:
    def tree(leaf: Any) -> SurfaceTool:
        node = {
            "type": "object",
            "properties": {
                "leaf": leaf,
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                "either": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
            },
        }
        root = {**inputs(root={"$ref": "#/$defs/Node"}), "$defs": {"Node": node}}
        return replace(TOOL, input_schema=root)

    assert found(changelog(tree(TEXT), tree(NUMBER))) == [("input-type-changed", MAJOR)]


def test_a_long_chain_of_schemas_does_not_overflow_the_stack() -> None:
    def chain(last: Any) -> SurfaceTool:
        links = {f"L{n}": inputs(next={"$ref": f"#/$defs/L{n + 1}"}) for n in range(3000)}
        root = {**inputs(x={"$ref": "#/$defs/L0"}), "$defs": {**links, "L3000": last}}
        return replace(TOOL, input_schema=root)

    assert found(changelog(chain(TEXT), chain(NUMBER))) == [("input-type-changed", MAJOR)]


def test_schemas_above_the_size_limit_are_an_uncertain_change() -> None:
    def wide(kind: str) -> SurfaceTool:
        return replace(
            TOOL, input_schema=inputs(**{f"p{n}": {"type": kind} for n in range(20_001)})
        )

    result = changelog(wide("string"), wide("string"))
    assert found(result) == []
    result = changelog(
        replace(wide("string"), title="x"),
        replace(wide("string"), input_schema={**wide("string").input_schema, "minProperties": 1}),
    )
    assert result.level is MAJOR
    assert any(not change.is_certain for change in result.changes)


def test_inputs_are_compared_by_the_schema_used_for_validation() -> None:
    checked = replace(
        TOOL, checked_schema=inputs("shop", shop={**TEXT, "pattern": "^a"}, limit=NUMBER)
    )
    assert found(changelog(TOOL, checked)) == [("input-constraint-narrowed", MAJOR)]


def test_a_description_that_repeats_a_changed_bound_is_not_reported_twice() -> None:
    def limited(bound: int) -> dict[str, Any]:
        return {**NUMBER, "maximum": bound, "description": f"At most {bound}."}

    assert found(of_input(limited(9), limited(8))) == [("input-constraint-narrowed", MAJOR)]


def test_the_level_of_a_rule_can_be_overridden() -> None:
    result = changelog(TOOL, replace(TOOL, description="Else."), description=Level.MAJOR)
    assert found(result) == [("description", MAJOR)]


def test_changes_are_sorted_by_level_and_tool() -> None:
    new = {
        "get_pet": replace(TOOL, operation="GET /pets/{id}"),
        "list_pets": replace(TOOL, title="P"),
    }
    old = {"list_pets": TOOL, "zap": replace(TOOL, operation="DELETE /pets")}
    result = compare(Surface(old), Surface(new))
    assert [change.tool for change in result.changes] == ["zap", "get_pet", "list_pets"]
    assert result.level is MAJOR


def test_two_tools_that_swap_their_names_are_two_renames() -> None:
    one, other = replace(TOOL, operation="GET /a"), replace(TOOL, operation="GET /b")
    result = compare(Surface({"a": one, "b": other}), Surface({"a": other, "b": one}))
    assert found(result) == [("tool-renamed", MAJOR)] * 2


def test_lone_surrogates_are_compared_like_other_text() -> None:
    assert found(of_input({"enum": ["\ud800"]}, {"enum": ["\ud800"]})) == []
    assert found(of_input({"enum": ["\ud800"]}, {"enum": ["\ud801"]})) != []
