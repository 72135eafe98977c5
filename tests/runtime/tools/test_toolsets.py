"""Tests that toolsets are found in every spelling, and that unknown names are reported."""

from __future__ import annotations

import json

import pytest

from mcpgen.runtime.errors import UnknownToolsetError
from mcpgen.runtime.tools.tool import select_lines

TOOLSETS = {"code_scanning": {"tools": ["scan"]}, "pets": {"tools": ["get_pet", "list_pets"]}}
LINES = [json.dumps({"name": name}).encode() for name in ("get_pet", "list_pets", "scan", "x")]


@pytest.mark.parametrize("name", ["code_scanning", "Code Scanning", " code-scanning "])
def test_a_toolset_name_matches_its_tag_in_any_spelling(name: str) -> None:
    assert select_lines([name], TOOLSETS, LINES) == [LINES[2]]


def test_several_toolsets_are_joined_in_list_order() -> None:
    assert select_lines(["code_scanning", "pets"], TOOLSETS, LINES) == LINES[:3]


def test_all_selects_every_tool_unless_a_toolset_has_this_name() -> None:
    assert select_lines(["all"], TOOLSETS, LINES) == LINES
    own = {**TOOLSETS, "all": {"tools": ["x"]}}
    assert select_lines(["all"], own, LINES) == [LINES[3]]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pet", "unknown toolset `pet`; did you mean `pets`?"),
        ("zzz", "unknown toolset `zzz`; there are code_scanning, pets"),
    ],
)
def test_an_unknown_toolset_is_reported_with_the_known_ones(name: str, said: str) -> None:
    with pytest.raises(UnknownToolsetError) as refused:
        select_lines(["pets", name], TOOLSETS, LINES)
    assert str(refused.value) == said
