"""Tests that a run killed at any step loses nothing, and that the next run completes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.regeneration import projects
from tests.support.paths import REPOSITORY

KILLS = 120

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")


def run_module(name: str, project: Path, tmp_path: Path, cache: Path, argument: str) -> str:
    """Run a module that forks in a process without threads; return its output."""
    work = tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-m", f"tests.regeneration.{name}"]
    done = subprocess.run(
        [*command, str(project), str(work), str(cache), argument],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_killed_run_loses_nothing_and_the_next_one_finishes_it(
    project: Path, tmp_path: Path, cache: Path
) -> None:
    projects.edit(project)
    (project / "openapi.yaml").write_text(projects.CHANGED_DOCUMENT)
    said = run_module("killed_runs", project, tmp_path, cache, str(KILLS))
    steps, before, within = map(int, said.split())
    assert KILLS // 2 < steps <= KILLS == before + within, "each step was killed at"
    assert min(before, within) > KILLS // 10, "both kinds of kill were tried"


@pytest.mark.parametrize("command", ["override", "eject", "pull"])
def test_a_command_that_is_killed_at_any_step_loses_nothing_and_can_be_repeated(
    project: Path, tmp_path: Path, cache: Path, command: str
) -> None:
    projects.edit(project)
    steps, cut = map(int, run_module("killed_commands", project, tmp_path, cache, command).split())
    assert steps > 15
    assert cut > 3, "kills between two files were tried"
