"""Tests that ended tasks leave nothing in memory: a short run of `tests/benchmarks/tasks.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.benchmarks.tasks import MAX_GET_MS, measure

TASKS = 8000
MAX_GROWTH_MB = 5.0  # their results alone would be 7

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="figures of /proc"),
]


def test_many_tasks_cost_little_cpu_and_no_memory(tmp_path: Path) -> None:
    found = measure(tmp_path, TASKS)
    assert found.get_ms < MAX_GET_MS
    assert found.after_mb - found.before_mb < MAX_GROWTH_MB, found
