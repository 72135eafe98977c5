"""Tests of checks of tasks that only read the list of tools."""

from __future__ import annotations

import asyncio

import pytest

from mcpgen.factory.validate.checks.tasks import ACTIVE
from mcpgen.factory.validate.probe import Knowledge, Probe, ProbeOptions
from mcpgen.factory.validate.verdicts import Outcome, Verdict
from mcpgen.factory.wire.frames import Recording
from mcpgen.factory.wire.targets import Target
from mcpgen.jsonschema.types import JsonObject

WRITING: JsonObject = {"name": "delete", "inputSchema": {"type": "object"}}
REQUIRING: JsonObject = {**WRITING, "execution": {"taskSupport": "required"}}


def check(rule: str, tool: JsonObject) -> Outcome:
    target, options = Target(command=("none",)), ProbeOptions()
    probe = Probe(target, "2025-11-25", "stdio", Recording(), options, Knowledge())
    probe.tools = [tool]
    return asyncio.run(ACTIVE[rule](probe))


@pytest.mark.parametrize(
    ("tool", "verdict"),
    [(WRITING, Verdict.NOT_APPLICABLE), (REQUIRING, Verdict.UNTESTED)],
    ids=["no tool", "a tool that writes"],
)
def test_a_required_task_is_untested_if_the_tool_may_not_be_called(
    tool: JsonObject, verdict: Verdict
) -> None:
    assert check("task-required", tool).verdict is verdict


def test_the_reason_says_that_no_task_was_created() -> None:
    assert check("task-result", WRITING).message == "no read-only tool supports tasks"
