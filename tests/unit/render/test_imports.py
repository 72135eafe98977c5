"""Tests of the order of imports: ruff, which projects of users run, would not change it."""

from __future__ import annotations

import random

import pytest

from mcpgen.emit.format import format_files
from mcpgen.ir.file_set import Owner, PlannedFile
from mcpgen.render.imports import ImportSections, sort_names, spell_sections

FIRST = "aAbBzZ"
LATER = "aAbBcC_019"
MODULES = ("typing", "collections.abc", "mcpgen.runtime", "mcpgen", "a_mcp._generated.models")


def random_names(chance: random.Random) -> set[str]:
    return {
        chance.choice(FIRST) + "".join(chance.choices(LATER, k=chance.randrange(5)))
        for _ in range(chance.randrange(1, 12))
    }


def write(sections: ImportSections) -> str:
    return "\n".join(
        "".join(f"from {line.module} import {line.names}\n" for line in section)
        for section in sections
    )


def test_ruff_sorts_names_and_modules_in_the_same_order() -> None:
    chance = random.Random(1)
    modules = [
        {module: random_names(chance) for module in chance.sample(MODULES, 3)} for _ in range(300)
    ]
    files = tuple(
        PlannedFile(f"src/a_mcp/module{number}.py", write(sections).encode(), Owner.GENERATED)
        for number, sections in enumerate(spell_sections(each, "a_mcp") for each in modules)
    )
    assert format_files(files, sort_imports=True) == format_files(files)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"b", "A", "ABC", "a"}, ["ABC", "A", "a", "b"]),
        ({"Thing10", "Thing9", "thing2"}, ["Thing9", "Thing10", "thing2"]),
        ({"X01", "X1", "Xa"}, ["X01", "X1", "Xa"]),
    ],
)
def test_constants_come_first_and_numbers_by_their_value(
    names: set[str], expected: list[str]
) -> None:
    assert sort_names(names) == expected


def test_a_module_without_names_is_not_imported() -> None:
    sections = spell_sections({"typing": set(), "a_mcp.x": {"B"}, "os": {"sep"}}, "a_mcp")
    assert write(sections) == "from os import sep\n\nfrom a_mcp.x import B\n"
