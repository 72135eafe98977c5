"""Tests of `mcpgen explore` without a terminal, its extra, or a server."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from mcpgen.contract import extras


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def explore_in_terminal(monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str] = ()) -> int:
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    return run(["explore", *arguments])


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_pipe_is_a_usage_error_with_alternatives(
    options: list[str], petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explore", str(petstore), *options]) == 2
    shown = capsys.readouterr()
    assert "needs a terminal" in shown.out + shown.err
    assert "mcpgen tools" in shown.out + shown.err


def test_the_missing_extra_is_named_in_one_line(
    petstore: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(extras.MODULE_OF_EXTRA, "explore", "no_such_module")
    assert explore_in_terminal(monkeypatch, [str(petstore)]) == 2
    assert capsys.readouterr().err == (
        "error[usage]: mcpgen[explore] is not installed: run `pip install 'mcpgen[explore]'`\n"
    )


def test_a_folder_without_a_server_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explore_in_terminal(monkeypatch, [str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
