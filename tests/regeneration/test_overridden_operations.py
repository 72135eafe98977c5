"""Tests of changes of overridden operations that need no action: `check` reports nothing.

tests/unit/pipeline/project/test_overrides.py tests the changes that need one (see README.md).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpgen.emit.lockfile import sha256
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.override import override
from mcpgen.pipeline.options import GenerateOptions, Report
from tests.regeneration import projects

PETS = f"{projects.GENERATED}/tools/pets.py"
HANDLERS = "src/pet_shop_mcp/handlers/pets.py"


@pytest.fixture
def overridden(project: Path, cache: Path) -> Path:
    options = GenerateOptions(external_validator=False, cache=cache)
    assert override(project, "get_pet", options, projects.silent).outcome == "done"
    return project


def test_a_renamed_operation_keeps_its_tool_and_the_changelog_suggests_a_rename(
    overridden: Path, cache: Path
) -> None:
    projects.replace(overridden / "openapi.yaml", "getPet", "fetchPet")
    report = projects.generate(overridden, cache)
    assert report.changelog is not None
    [renamed] = report.changelog.changes
    assert (renamed.rule, renamed.tool) == ("operation-renamed", "get_pet")
    assert "`fetch_pet`" in renamed.message
    assert "aliases: [get_pet]" in renamed.message
    assert_nobody_has_to_act(overridden, report)


def test_reordered_operations_change_no_generated_file(overridden: Path, cache: Path) -> None:
    reordered = projects.HEAD + projects.ORDERS + projects.PETS + projects.SCHEMAS
    (overridden / "openapi.yaml").write_text(reordered)
    report = projects.generate(overridden, cache)
    assert report.written == ("mcpgen.lock",)
    assert_nobody_has_to_act(overridden, report)


def test_a_newer_generator_does_not_conflict_with_overrides(overridden: Path, cache: Path) -> None:
    """The override wraps the generated function, so the new one is used."""
    newer = (overridden / PETS).read_text()
    an_older_mcpgen_wrote(overridden, PETS, newer.replace("return await", "return  await"))
    handlers = (overridden / HANDLERS).read_bytes()
    report = projects.generate(overridden, cache)
    assert PETS in report.written
    assert (overridden / PETS).read_text() == newer
    assert (overridden / HANDLERS).read_bytes() == handlers
    assert_nobody_has_to_act(overridden, report)


def an_older_mcpgen_wrote(project: Path, path: str, text: str) -> None:
    is_now = sha256((project / path).read_bytes())
    (project / path).write_text(text)
    projects.replace(project / "mcpgen.lock", is_now, sha256(text.encode()))


def assert_nobody_has_to_act(project: Path, report: Report) -> None:
    assert (report.outcome, projects.codes(report)) == ("done", [])
    checked = check(project)
    assert (checked.outcome, projects.codes(checked)) == ("done", [])
