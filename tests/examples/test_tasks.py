"""Tests that the tasks of each example can be solved with its tools."""

from __future__ import annotations

import pytest

from mcpgen.cli.app import run
from mcpgen.ir.eval_tasks import TASKS_FILE
from tests.support.examples import NAMES
from tests.support.paths import EXAMPLES

WITH_TASKS = [name for name in NAMES if (EXAMPLES / f"{name}-mcp" / TASKS_FILE).exists()]


@pytest.mark.parametrize("name", WITH_TASKS)
def test_the_scripted_agent_solves_each_task(name: str) -> None:
    assert run(["eval", str(EXAMPLES / f"{name}-mcp"), "--quiet"]) == 0
