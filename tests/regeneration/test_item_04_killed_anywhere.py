"""Item 4: killed at every step, the user's files are intact and the next run ends the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.regeneration import projects

REPOSITORY = Path(__file__).resolve().parents[2]
KILLS = 100


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_killed_run_loses_nothing_and_the_next_one_finishes_it(
    project: Path, tmp_path: Path, cache: Path
) -> None:
    projects.edit(project)
    (project / "openapi.yaml").write_text(projects.CHANGED_DOCUMENT)
    command = [sys.executable, "-m", "tests.regeneration.killed_runs"]
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [*command, str(project), str(work), str(cache), str(KILLS)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    steps, before, within = map(int, done.stdout.split())
    assert (steps > KILLS // 2, before + within) == (True, KILLS)
    assert min(before, within) > KILLS // 10, "both kinds of kill were tried"
