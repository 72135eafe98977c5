"""Tests of `mcpgen new --empty`: a server without a document, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpgen.cli.app import run


def test_new_empty_prints_the_handlers_folder_and_the_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "notes-mcp"
    assert run(["new", "--empty", "notes", str(target), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["handlers"] == "src/notes_mcp/handlers/"
    assert told["next"][0] == f"mcpgen call greet {target} --arg name=Ada"
    assert (target / told["handlers"] / "greeting.py").is_file()


def test_new_empty_without_a_folder_writes_to_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "--empty", "notes", "-q"]) == 0
    assert (tmp_path / "notes-mcp" / "mcpgen.yaml").is_file()


@pytest.mark.parametrize(
    "more", [["--name", "other"], ["--include", "*"], ["--strict"], ["--no-models"], ["b"]]
)
def test_options_that_need_a_document_are_rejected(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "notes-mcp"
    assert run(["new", "--empty", "notes", str(target), *more]) == 2
    assert "without a document" in capsys.readouterr().err
    assert not target.exists()
