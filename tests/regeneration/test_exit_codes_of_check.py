"""Tests that `check` reports the state of a project by its exit code and writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.check import check
from tests.regeneration import projects


def nothing(project: Path) -> None:
    """Leave the project unchanged."""


def the_users_edits(project: Path) -> None:
    replace = projects.replace
    replace(project / "README.md", "## Run it\n", "## Run it\n\nMine.\n")
    (project / "Dockerfile").unlink()


def changed_document(project: Path) -> None:
    (project / "openapi.yaml").write_text(projects.CHANGED_DOCUMENT)


def changed_manifest(project: Path) -> None:
    with (project / "mcpgen.yaml").open("a") as manifest:
        manifest.write("models: false\n")


def deleted_generated_file(project: Path) -> None:
    (project / projects.GENERATED / "tools/pets.py").unlink()


def hand_edit(project: Path) -> None:
    (project / projects.GENERATED / "tools/pets.py").write_text("# mine\n")


def markers(project: Path) -> None:
    projects.replace(project / "README.md", "## Run it\n", "<<<<<<< yours\n=======\n>>>>>>> mcpgen")


def offered_version(project: Path) -> None:
    (project / ".mcpgen/conflicts").mkdir()
    (project / ".mcpgen/conflicts/pyproject.toml").write_text("x")


def killed(project: Path) -> None:
    (project / ".mcpgen/journal.json").write_text('{"writes": [], "deletes": [], "before": {}}')


@pytest.mark.parametrize(
    ("happens", "outcome"),
    [
        (nothing, "done"),
        (the_users_edits, "done"),
        (changed_document, "findings"),
        (changed_manifest, "findings"),
        (deleted_generated_file, "findings"),
        (hand_edit, "conflict"),
        (markers, "conflict"),
        (offered_version, "conflict"),
        (killed, "interrupted"),
    ],
)
def test_check_returns_the_outcome_and_writes_nothing(
    project: Path, happens: Callable[[Path], None], outcome: str
) -> None:
    happens(project)
    before, written = projects.tree_hash(project), projects.times(project)
    report = check(project)
    assert report.outcome == outcome
    assert len(report.problems) == (outcome != "done")
    assert (projects.tree_hash(project), projects.times(project)) == (before, written)
