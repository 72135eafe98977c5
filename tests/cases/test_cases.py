"""Tests that run each directory here as a case: input files, a command, and its expected output.

A case holds its input files and `stderr.txt`: the command on the first line, what it prints to
stderr, and its exit code on the last. A case that makes something has it in `expected/` as well.
To add one, write the input and the first line, run with `--update`, and read the diff.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from mcpgen.cli.app import run

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/stderr.txt"))
EXPECTATIONS = {"stderr.txt", "expected"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(
    case: Path,
    updates: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    expected = (case / "stderr.txt").read_text("utf-8")
    command = expected.partition("\n")[0]
    shutil.copytree(
        case, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*EXPECTATIONS)
    )
    given = tree(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    exit_code = run(shlex.split(command)[2:])  # after "$ mcpgen"

    observed = f"{command}\n{capsys.readouterr().err}exit code {exit_code}\n"
    made = {path: content for path, content in tree(tmp_path).items() if path not in given}
    assert {path: tree(tmp_path).get(path) for path in given} == given, "the input was touched"
    if updates:
        (case / "stderr.txt").write_text(observed, "utf-8")
        rewrite(case / "expected", made)
    assert observed == (case / "stderr.txt").read_text("utf-8")
    assert sorted(made) == sorted(tree(case / "expected"))
    assert made == tree(case / "expected")


def test_there_are_cases() -> None:
    assert CASES


def tree(root: Path) -> dict[str, bytes]:
    """Return the content of every file below `root`, by relative path."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def rewrite(root: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(root, ignore_errors=True)
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
