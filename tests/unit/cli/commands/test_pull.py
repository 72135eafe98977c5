"""Tests of `pull` and `changelog`: confirmation prompts and JSON output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.pipeline.project.evidence import is_evidence_current

DOCUMENT = """\
openapi: 3.1.0
info: {title: Pets, version: "1"}
servers: [{url: "https://pets.example"}]
paths:
  /pets:
    get:
      operationId: listPets
      summary: List pets
      parameters: [{name: limit, in: query, schema: {type: integer, maximum: 50}}]
      responses: {"204": {description: None.}}
"""
NARROWER = DOCUMENT.replace("maximum: 50", "maximum: 49")
NARROWED = {
    "rule": "input-constraint-narrowed",
    "level": "major",
    "tool": "list_pets",
    "path": "limit",
    "certain": True,
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a server whose document has changed at its origin."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pets.yaml").write_text(DOCUMENT)
    assert run(["new", "pets.yaml", "project", "--defaults"]) == 0
    (tmp_path / "pets.yaml").write_text(NARROWER)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("answer", "said", "document"),
    [(False, "nothing was written\n", DOCUMENT), (True, "written: openapi.yaml", NARROWER)],
)
def test_pull_asks_for_confirmation_after_showing_the_changes(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: bool,
    said: str,
    document: str,
) -> None:
    shown_before: list[str] = []

    class Question:
        def unsafe_ask(self) -> bool:
            shown_before.append(capsys.readouterr().out)
            return answer

    monkeypatch.delenv("CI", raising=False)  # where nobody is asked
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("questionary.confirm", lambda *_, **__: Question())
    capsys.readouterr()
    assert run(["pull"]) == 0
    [shown] = shown_before
    assert "1 change (1 major) in the tools" in shown
    assert said in capsys.readouterr().out
    assert (project / "openapi.yaml").read_text() == document


def changes(tools: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in change.items() if key != "message"}
        for change in tools["changes"]
    ]


def test_pull_and_changelog_print_the_changes_as_json(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["pull", "--json"]) == 0
    pulled = json.loads(capsys.readouterr().out)
    assert (pulled["outcome"], pulled["source"]) == ("changed", "pets.yaml")
    assert pulled["files"] == ["openapi.yaml", "mcpgen.lock"]
    assert (pulled["tools"]["level"], changes(pulled["tools"])) == ("major", [NARROWED])

    assert run(["changelog", "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert (compared["level"], changes(compared)) == ("major", [NARROWED])


def read_evidence(project: Path) -> dict[str, Any]:
    evidence: dict[str, Any] = json.loads((project / ".mcpgen/evidence/source.json").read_bytes())
    return evidence


def test_a_dry_run_records_that_the_source_has_changed(project: Path) -> None:
    assert run(["pull", "--dry-run"]) == 0
    evidence = read_evidence(project)
    assert (evidence["outcome"], evidence["level"]) == ("changed", "major")
    assert (evidence["source"], evidence["written"]) == ("pets.yaml", False)
    assert evidence["changes"] == {"major": 1}
    assert list(evidence["inputs"]) == ["document"]
    assert str(project.parent) not in json.dumps(evidence)


def test_a_pull_records_that_the_document_is_that_of_its_source(project: Path) -> None:
    assert run(["pull", "--yes"]) == 0
    evidence = read_evidence(project)
    assert (evidence["outcome"], evidence["level"], evidence["written"]) == (
        "changed",
        "major",
        True,
    )
    assert run(["generate"]) == 0
    assert is_evidence_current(project, evidence)
    assert run(["pull"]) == 0
    evidence = read_evidence(project)
    assert (evidence["outcome"], evidence["level"], evidence["changes"]) == (
        "unchanged",
        "none",
        {},
    )
    assert [it["result"] for it in evidence["earlier"]] == ["changed, tools: major"]


def test_a_pulled_change_is_remembered_until_something_is_generated(project: Path) -> None:
    assert run(["pull", "--yes"]) == 0
    assert run(["pull"]) == 0
    evidence = read_evidence(project)
    assert (evidence["outcome"], evidence["level"], evidence["written"]) == (
        "unchanged",
        "major",
        True,
    )
    assert evidence["changes"] == {"major": 1}
    assert run(["generate"]) == 0
    assert run(["pull"]) == 0
    assert (read_evidence(project)["level"], read_evidence(project)["written"]) == ("none", False)


def test_an_unreachable_source_leaves_earlier_evidence(project: Path) -> None:
    assert run(["pull", "--dry-run"]) == 0
    before = read_evidence(project)
    (project.parent / "pets.yaml").unlink()
    assert run(["pull", "--dry-run"]) == 1
    assert read_evidence(project) == before


def test_another_source_is_recorded_only_once_it_is_written(project: Path) -> None:
    (project.parent / "other.yaml").write_text(DOCUMENT)
    assert run(["pull", "--dry-run", ".", "../other.yaml"]) == 0
    assert not (project / ".mcpgen/evidence/source.json").exists()
    assert run(["pull", "--yes", ".", "../other.yaml"]) == 0
    assert read_evidence(project)["source"] == "other.yaml"
    assert read_evidence(project)["outcome"] == "unchanged"


def test_evidence_that_cannot_be_written_is_a_note(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".mcpgen/evidence").write_text("in the way")
    assert run(["pull", "--dry-run"]) == 0
    assert "note[no-evidence]: cannot write .mcpgen/evidence/source.json" in capsys.readouterr().err
