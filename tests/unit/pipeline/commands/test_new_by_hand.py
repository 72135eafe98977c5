"""Tests of servers without a document, made with `new_by_hand`."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.manifest.manifest import read_manifest
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.commands.new import new_by_hand
from mcpgen.pipeline.options import GenerateOptions


def quietly(_: str) -> None:
    """Ignore progress."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    target = tmp_path / "notes-mcp"
    report = new_by_hand("notes", target, {}, quietly)
    assert report.outcome == "done", list(report.problems)
    return target


def files(project: Path) -> dict[str, bytes]:
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in project.rglob("*")
        if path.is_file()
    }


def test_a_project_without_a_document_has_handlers_and_no_api_files(project: Path) -> None:
    made = files(project)
    assert "src/notes_mcp/handlers/greeting.py" in made
    assert made["src/notes_mcp/_generated/listing.json"] == b"[]\n"
    assert [path for path in made if "openapi" in path or "upstream" in path] == []
    assert "src/notes_mcp/_generated/tools" not in {str(Path(path).parent) for path in made}
    assert b"OpenAPI" not in made["README.md"]


def test_generating_again_changes_nothing_and_it_is_current(project: Path) -> None:
    before = files(project)
    report = generate(project, GenerateOptions(), quietly)
    assert (report.outcome, report.written, report.deleted) == ("done", (), ())
    assert files(project) == before
    assert check(project).outcome == "done"


def test_changes_by_the_owner_are_kept(project: Path) -> None:
    handlers = project / "src" / "notes_mcp" / "handlers"
    (handlers / "greeting.py").unlink()
    (handlers / "notes.py").write_text("# mine\n", "utf-8")
    generated = project / "src" / "notes_mcp" / "_generated" / "contract.json"
    generated.unlink()
    report = generate(project, GenerateOptions(), quietly)
    assert report.outcome == "done"
    assert generated.is_file()
    assert sorted(path.name for path in handlers.iterdir()) == ["__init__.py", "notes.py"]


def test_an_invalid_name_is_rejected_and_nothing_is_written(tmp_path: Path) -> None:
    report = new_by_hand("No Name", tmp_path / "x", {}, quietly)
    assert report.outcome == "rejected"
    assert [problem.code for problem in report.problems] == ["server-name"]
    assert not (tmp_path / "x").exists()


def test_a_folder_that_contains_files_is_rejected(project: Path) -> None:
    assert new_by_hand("notes", project, {}, quietly).outcome == "usage"


def test_select_without_a_document_is_rejected() -> None:
    problems = Problems()
    manifest = b"server: {name: notes}\nsources: []\nselect:\n  - include: '*'\n"
    with pytest.raises(RejectedError):
        read_manifest(manifest, problems)
    assert [problem.code for problem in problems] == ["manifest"]
