"""Tests of replicas and tasks under kills: short runs of `make kills` and `make task-kills`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.kills.run import RESULTS_BETWEEN_KILLS, kill_replicas
from tests.kills.tasks import TASKS_BETWEEN_KILLS, kill_with_tasks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals"),
]


def test_a_killed_replica_loses_no_finished_call(tmp_path: Path) -> None:
    report = asyncio.run(kill_replicas(tmp_path, kills=5, seed=1))
    assert not report.faults
    assert report.kills == 5
    assert report.outcomes["result"] >= 4 * RESULTS_BETWEEN_KILLS
    assert report.resumed


def test_a_killed_server_loses_no_announced_task(tmp_path: Path) -> None:
    report = asyncio.run(kill_with_tasks(tmp_path, kills=6, seed=1))
    assert not report.faults
    assert report.kills == 6
    assert sum(report.outcomes.values()) >= 6 * TASKS_BETWEEN_KILLS
    assert report.outcomes["work failed"]
    assert report.outcomes["job completed"]
    assert report.continued
