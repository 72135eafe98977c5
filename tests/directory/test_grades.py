"""Tests of the table and the pages of graded steps."""

from __future__ import annotations

from tests.directory.grades import GradedStep, format_step, make_table

REMOVED = {"level": "major", "rule": "input-removed", "tool": "get_pet", "message": "input `a` ..."}
ADDED = {"level": "minor", "rule": "tool-added", "tool": "add_pet", "message": "is new"}
THEIRS = {
    "severity": "breaking",
    "kind": "argument-removed",
    "tool": "list_pets",
    "argument": "b",
    "detail": "gone",
}


def test_steps_and_tools_are_counted_by_who_calls_them_breaking() -> None:
    steps = [
        GradedStep("a 2", [REMOVED, ADDED], [THEIRS]),
        GradedStep("a 3", [ADDED], [THEIRS]),
        GradedStep("a 4", [REMOVED], []),
        GradedStep("a 5", [ADDED], []),
    ]
    assert make_table(steps).splitlines()[2:] == [
        "| breaking for both | 1 | 0 |",
        "| breaking for mcpgen only | 1 | 2 |",
        "| breaking for mcp-contract only | 1 | 2 |",
        "| breaking for neither | 1 |  |",
    ]


def test_a_step_is_shown_by_tool() -> None:
    assert format_step(GradedStep("a 2", [REMOVED], [THEIRS])).splitlines() == [
        "# a 2",
        "",
        "## get_pet",
        "ours   major    input-removed: input `a` ...",
        "",
        "## list_pets",
        "theirs breaking argument-removed `b`: gone",
    ]
