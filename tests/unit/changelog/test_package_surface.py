"""Tests of the tool surface of a package, derived from its files."""

from __future__ import annotations

import pytest

from mcpgen.changelog import SurfaceUnreadableError, derive_surface, is_surface_source
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.render.contracts import surface_of
from mcpgen.render.package import render
from tests.support.plans import server_plan

FOLDER = "src/petstore_mcp/_generated"


def files_of(plan: ServerPlan) -> dict[str, bytes]:
    return {file.path: file.content for file in render(plan) if is_surface_source(file.path)}


def test_the_derived_surface_equals_the_surface_of_the_plan() -> None:
    plan = server_plan()
    assert derive_surface(files_of(plan)) == surface_of(plan)


def test_other_files_are_not_read() -> None:
    sources = files_of(server_plan())
    assert f"{FOLDER}/toolsets.json" not in sources
    assert derive_surface({}) is None


@pytest.mark.parametrize("name", ["contract.json", "tools/pets.json"])
def test_a_missing_file_is_named(name: str) -> None:
    files = files_of(server_plan())
    del files[f"{FOLDER}/{name}"]
    with pytest.raises(SurfaceUnreadableError, match="missing") as raised:
        derive_surface(files)
    assert raised.value.path == f"{FOLDER}/{name}"
