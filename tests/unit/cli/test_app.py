"""Tests of the command line as a whole: usage errors, versions, crashes, shared options."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import mcpgen.cli.commands
from mcpgen.cli.app import run


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Replace the generator, so that only the command line is tested."""
    stand_in = ModuleType("mcpgen.pipeline.commands.check")
    monkeypatch.setitem(sys.modules, "mcpgen.pipeline.commands.check", stand_in)
    return stand_in


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize("argv", [[], ["ws"], ["overlay"]])
def test_a_missing_command_prints_the_help_and_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    assert run(argv) == 2
    shown = capsys.readouterr()
    assert " ".join(["Usage: mcpgen", *argv]) in shown.out
    assert shown.err == ""


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    modules = [path.stem for path in Path(mcpgen.cli.commands.__path__[0]).glob("*.py")]
    commands = [name for name in modules if name != "__init__"]
    assert len(commands) >= 15
    assert [name for name in commands if f" {name} " not in shown] == []


def test_help_of_a_command_shows_the_shared_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--help"]) == 0
    shown = capsys.readouterr().out
    for option in ("--json", "--quiet", "--ci", "--debug"):
        assert option in shown


@pytest.mark.parametrize(
    ("argv", "message", "help_command"),
    [
        (["frobnicate"], "No such command 'frobnicate'", "mcpgen --help"),
        (["check", "--frobnicate"], "No such option: --frobnicate", "mcpgen check --help"),
        (["check", "one", "two"], "Got unexpected extra argument(s) (two)", "mcpgen check --help"),
        (["override"], "Missing argument 'OP'", "mcpgen override --help"),
        (["changelog", "--fail-on", "m"], "'m' is not one of 'major'", "mcpgen changelog --help"),
        (["ws", "check", "--jobs", "0"], "'--jobs' / '-j'", "mcpgen ws --help"),
        (["ws", "check", "--jobs", "two"], "'--jobs' / '-j'", "mcpgen ws --help"),
        (["ws", "frobnicate"], "No such command 'frobnicate'", "mcpgen ws --help"),
        (["new", "a.yaml", "--data", "colour"], "`--data colour` is not KEY=VALUE", ""),
    ],
)
def test_a_usage_error_states_the_fault_and_the_help_command(
    argv: list[str], message: str, help_command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error[usage]: ")
    assert message in shown.err
    assert not help_command or f"`{help_command}`" in shown.err


def test_new_without_a_source_and_without_a_terminal_is_a_usage_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["new"]) == 2
    assert "SOURCE is missing" in capsys.readouterr().err


def test_a_usage_error_is_json_with_the_json_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--json", "--frobnicate"]) == 2
    shown = capsys.readouterr()
    assert shown.err == ""
    report = json.loads(shown.out)
    assert report["outcome"] == "usage"
    assert [finding["rule"] for finding in report["findings"]] == ["usage"]


def test_a_bug_is_reported_in_one_line_with_a_private_report_file(
    pipeline: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pipeline.check = failing(KeyError("hunter2"))

    assert run(["check", str(tmp_path)]) == 70

    (report,) = tmp_path.iterdir()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (f"error[bug]: bug in mcpgen (KeyError); the details are in {report}\n")
    assert "hunter2" in report.read_text("utf-8")
    assert report.stat().st_mode & 0o077 == 0


def test_a_bug_is_one_json_object_with_the_json_option(
    pipeline: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pipeline.check = failing(KeyError("x"))

    assert run(["check", "--json"]) == 70

    report = json.loads(capsys.readouterr().out)
    assert report["outcome"] == "bug"
    assert Path(report["report"]).exists()


def test_debug_raises_the_exception(pipeline: Any) -> None:
    pipeline.check = failing(KeyError("x"))

    with pytest.raises(KeyError):
        run(["check", "--debug"])


def test_an_interrupted_command_exits_with_130(pipeline: Any) -> None:
    def interrupt(*args: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    pipeline.check = interrupt

    assert run(["check"]) == 130


@pytest.mark.parametrize("words", [("tools",), ("tools", "--json"), ("schema", "manifest")])
def test_a_closed_output_pipe_ends_the_command_silently(
    words: tuple[str, ...], petstore: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "mcpgen", *words]
    done = subprocess.run(
        command, cwd=petstore, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
