"""`pull` and `changelog` on the command line: what is asked, and what they give as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run

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
    """A server whose document has become another one where it came from."""
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
