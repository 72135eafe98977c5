"""Tests that files that mcpgen did not write are never deleted or changed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.check import check
from tests.regeneration import projects

FOLDERS = (
    "", "docs", "src", "src/other", "src/pet_shop_mcp", projects.GENERATED, "tests",
    f"{projects.GENERATED}/tools", f"{projects.GENERATED}/models", "tests/generated", ".mcpgen",
    "src/pet_shop_mcp/handlers", "src/pet_shop_mcp/handlers/deep",
)  # fmt: skip
NAMES = ("orders.md", "a b.txt", "x.py.bak", ".hidden", "__main__.txt", "ünïcode.md", "data.bin")


def strew(project: Path, choose: random.Random) -> dict[Path, bytes]:
    """Write files into folders where users may have some, and into generated folders."""
    files: dict[Path, bytes] = {}
    for _ in range(20):
        path = project / choose.choice(FOLDERS) / choose.choice(NAMES)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(choose.randbytes(choose.randrange(40)))
        files[path] = path.read_bytes()
    return files


@pytest.mark.parametrize("seed", range(5))
def test_foreign_files_are_kept_and_reported_inside_generated_folders(
    project: Path, cache: Path, seed: int
) -> None:
    files = strew(project, random.Random(seed))
    written = {path: path.stat().st_mtime_ns for path in files}
    among = sorted(
        path.relative_to(project).as_posix()
        for path in files
        if "_generated" in path.parts or "generated" in path.parts
    )
    assert among
    told = [problem.message.split(" is in a folder")[0] for problem in check(project).problems]
    assert told == among

    # A tag is removed, and with it all generated files of some folder.
    (project / "openapi.yaml").write_text(projects.CHANGED_DOCUMENT)
    report = projects.generate(project, cache)
    assert report.outcome == "done"
    assert f"{projects.GENERATED}/tools/orders.py" in report.deleted
    told = [problem.at.file for problem in report.problems if problem.code == "foreign-file"]
    assert told == among
    assert {path: path.read_bytes() for path in files} == files
    assert {path: path.stat().st_mtime_ns for path in files} == written


def test_an_edited_generated_file_is_kept_when_it_becomes_obsolete(
    project: Path, cache: Path
) -> None:
    edited = project / projects.GENERATED / "tools/orders.py"
    edited.write_text("# mine\n")
    (project / "openapi.yaml").write_text(projects.CHANGED_DOCUMENT)
    report = projects.generate(project, cache)
    assert (report.outcome, "orphan-kept" in projects.codes(report)) == ("done", True)
    assert edited.read_text() == "# mine\n"
    assert not edited.with_name("orders.json").exists()


def test_a_foreign_file_at_a_generated_path_is_a_conflict(project: Path, cache: Path) -> None:
    mine = project / projects.GENERATED / "tools/users.py"
    mine.write_text("# mine\n")
    (project / "openapi.yaml").write_text(projects.CHANGED_DOCUMENT)
    before = projects.tree_hash(project)
    assert projects.generate(project, cache).outcome == "conflict"
    assert projects.tree_hash(project) == before
