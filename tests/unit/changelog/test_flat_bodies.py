"""Tests of changes between flat and nested bodies, and in the members of flat ones."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mcpgen.changelog.compare import Level, compare
from mcpgen.contract.flat_bodies import FlatBody
from mcpgen.ir.surface import Surface, SurfaceTool

TEXT = {"type": "string"}
FLAT = FlatBody("body", {"title": "title", "body_id": "id"}, required=True)


def make_tool(**more: Any) -> SurfaceTool:
    schema = {
        "type": "object",
        "properties": {"id": TEXT, "title": TEXT, "body_id": TEXT},
        "required": ["id", "title"],
        "additionalProperties": False,
    }
    return SurfaceTool(**{
        "operation": "PUT /pets/{id}",
        "title": "Put",
        "description": "Put a pet.",
        "input_schema": schema,
        "flat_body": FLAT,
        **more,
    })  # fmt: skip


def nest(tool: SurfaceTool) -> SurfaceTool:
    return replace(tool, input_schema=FLAT.nest_schema(tool.input_schema), flat_body=None)


def find(was: SurfaceTool, now: SurfaceTool) -> list[tuple[str, str, int]]:
    changes = compare(Surface({"put": was}), Surface({"put": now})).changes
    return [(one.rule, one.path, one.level) for one in changes]


def with_properties(tool: SurfaceTool, **properties: Any) -> SurfaceTool:
    listed = {**tool.input_schema["properties"], **properties}
    kept = {name: it for name, it in listed.items() if it is not None}
    return replace(tool, input_schema={**tool.input_schema, "properties": kept})


def test_a_body_that_becomes_flat_is_one_major_change() -> None:
    assert find(nest(make_tool()), make_tool()) == [("input-flattened", "", Level.MAJOR)]
    assert find(make_tool(), nest(make_tool())) == [("input-nested", "", Level.MAJOR)]
    assert find(make_tool(), make_tool()) == []


def test_other_changes_are_reported_beside_it() -> None:
    changed = with_properties(nest(make_tool()), id={"type": "integer"})

    assert ("input-type-changed", "id", Level.MAJOR) in find(changed, make_tool())


def test_changes_of_members_are_placed_in_the_arguments() -> None:
    checked = FLAT.nest_schema(make_tool().input_schema)
    narrowed = FLAT.nest_schema(make_tool().input_schema)
    narrowed["properties"]["body"]["properties"]["id"] = {"type": "string", "maxLength": 3}
    was, now = make_tool(checked_schema=checked), make_tool(checked_schema=narrowed)

    assert find(was, now) == [("input-constraint-narrowed", "body_id", Level.MAJOR)]


def test_a_body_that_becomes_required_shows_in_its_members() -> None:
    optional = replace(FLAT, required=False)
    listed = {**make_tool().input_schema, "required": ["id"]}
    checked = FLAT.nest_schema(make_tool().input_schema)
    was = make_tool(
        input_schema=listed,
        flat_body=optional,
        checked_schema={**checked, "required": ["id"]},
    )

    assert find(was, make_tool(checked_schema=checked)) == [
        ("input-required", "title", Level.MAJOR)
    ]


def test_a_member_under_another_name_is_a_major_change() -> None:
    renamed = replace(FLAT, members={"title": "title", "new_id": "id"})
    schema = with_properties(make_tool(), body_id=None, new_id=TEXT).input_schema
    checked = FLAT.nest_schema(make_tool().input_schema)

    for more in ({}, {"checked_schema": checked}):
        now = make_tool(input_schema=schema, flat_body=renamed, **more)
        assert ("input-removed", "body_id", Level.MAJOR) in find(make_tool(**more), now)
