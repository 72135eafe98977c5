"""Item 3: what `check` says of a project, in its exit code; it never changes a byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcpgen.pipeline import commands as pipeline
from tests.regeneration import projects


def nothing(project: Path) -> None:
    """Leave it fresh."""


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
    ("happens", "exit_code"),
    [
        (nothing, 0),
        (the_users_edits, 0),
        (changed_document, 1),
        (changed_manifest, 1),
        (deleted_generated_file, 1),
        (hand_edit, 4),
        (markers, 4),
        (offered_version, 4),
        (killed, 5),
    ],
)
def test_the_exit_code_tells_and_nothing_is_written(
    project: Path, happens: Callable[[Path], None], exit_code: int
) -> None:
    happens(project)
    before, written = projects.tree_hash(project), projects.times(project)
    report = pipeline.check(project)
    assert report.exit_code == exit_code
    assert len(report.problems) == (exit_code != 0)
    assert (projects.tree_hash(project), projects.times(project)) == (before, written)
