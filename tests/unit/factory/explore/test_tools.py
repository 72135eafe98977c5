"""Tests of the list of tools for users: effects, order, and the filter."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.factory.explore.tools import ExploredTool, collect_tools, filter_tools


@pytest.mark.parametrize(
    ("annotations", "effect"),
    [
        ({"readOnlyHint": True, "destructiveHint": True}, "read-only"),
        ({"destructiveHint": True}, "destructive"),
        ({"readOnlyHint": False, "destructiveHint": False}, "writes"),
        ({}, "effect unknown"),
        ({"readOnlyHint": "yes"}, "effect unknown"),
        ("none", "effect unknown"),
    ],
)
def test_the_effect_is_what_the_annotations_state(annotations: Any, effect: str) -> None:
    assert ExploredTool({"name": "x", "annotations": annotations}).effect == effect


def test_tools_of_any_shape_are_collected() -> None:
    listed: list[Any] = [{"name": "a"}, 7, {"name": 8}, {}, {"name": "a", "title": "again"}]
    tools = collect_tools(listed, [{"name": "a"}, {"name": "hidden", "inputSchema": []}])
    assert [(it.name, it.is_listed) for it in tools] == [("a", True), ("hidden", False)]
    assert tools[0].title == ""
    assert tools[1].input_schema == {}


TOOLS = collect_tools(
    [
        {"name": "create_pet", "description": "Add a pet"},
        {"name": "get_order", "title": "Fetch an order", "description": "With its Pet"},
        {"name": "list_pets"},
        {"name": "login"},
    ]
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["create_pet", "get_order", "list_pets", "login"]),
        ("PET", ["create_pet", "list_pets", "get_order"]),
        ("pet list", ["list_pets"]),
        ("order fetch", ["get_order"]),
        ("nothing", []),
    ],
)
def test_the_filter_finds_every_word_and_names_first(text: str, names: list[str]) -> None:
    assert [it.name for it in filter_tools(TOOLS, text)] == names
