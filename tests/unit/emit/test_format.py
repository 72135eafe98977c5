"""Tests that formatting is the same wherever mcpgen runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpgen.emit.format import FormatFailedError, format_files
from mcpgen.ir.file_set import Owner, PlannedFile


def planned(path: str, text: str) -> PlannedFile:
    return PlannedFile(path, text.encode(), Owner.GENERATED)


def test_python_is_formatted_and_its_imports_sorted() -> None:
    source = (
        "from petstore_mcp import b, A\nfrom mcpgen.runtime import Context\nimport sys\n"
        "x = {  'a':1}\n"
    )
    files = (planned("src/petstore_mcp/x.py", source), planned("a.json", "{ }"))
    python, data = format_files(files, sort_imports=True)
    assert python.content.decode() == (
        "import sys\n\nfrom mcpgen.runtime import Context\n\nfrom petstore_mcp import A, b\n\n"
        'x = {"a": 1}\n'
    )
    assert data.content == b"{ }"


def test_configuration_of_the_environment_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = (planned("a.py", f"x = ['a', {', '.join(['1'] * 25)}]\n"),)
    reference = format_files(files)
    (tmp_path / "ruff.toml").write_text("line-length = 20\n[format]\nquote-style = 'single'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert format_files(files) == reference


def test_formatting_twice_changes_nothing() -> None:
    once = format_files((planned("a.py", "def f( a,b ):\n  return a\n"),))
    assert format_files(once) == once


def test_code_that_does_not_parse_raises_format_failed_error() -> None:
    with pytest.raises(FormatFailedError):
        format_files((planned("a.py", "def ("),))


def test_files_other_than_python_are_returned_unchanged() -> None:
    assert format_files((planned("a.json", "{}"),)) == (planned("a.json", "{}"),)
