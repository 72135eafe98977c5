"""Tests of words that contradict the method, and of invisible characters."""

from __future__ import annotations

from typing import Any

import pytest


def codes(make: Any, method: str = "get", **operation: Any) -> list[str]:
    lowered = make(make.document(operation, method=method))
    lowered.plan()
    return [problem.code for problem in lowered.problems]


def test_invisible_characters_are_removed(make: Any) -> None:
    lowered = make(make.document({"summary": "List\u200b the pets that are here\U000e0041\u202e."}))
    tool = lowered.tool()
    assert tool.description.isascii()


@pytest.mark.parametrize(
    ("method", "operation"),
    [
        ("get", {"summary": "Delete everything"}),
        ("delete", {"summary": "Read-only lookup"}),
        ("delete", {"x-mcp-annotations": {"readOnlyHint": True}}),
    ],
)
def test_descriptions_that_contradict_the_method_are_reported(
    make: Any, method: str, operation: Any
) -> None:
    found = codes(make, method, **operation)
    assert [code for code in found if code != "peer-annotations"] == ["annotation-contradiction"]
    tool = make(make.document(operation, method=method)).tool()
    assert tool.annotations["readOnlyHint"] is False


@pytest.mark.parametrize(
    "summary",
    ["Create a read-only replica", "Add a read-only user", "Make it read-only"],
)
def test_what_is_read_only_need_not_be_the_call(make: Any, summary: str) -> None:
    assert codes(make, "post", summary=summary) == []


@pytest.mark.parametrize(
    "summary",
    ["This operation is read-only.", "A read-only call.", "Looks without side effects."],
)
def test_a_call_that_is_said_to_be_read_only_is_reported(make: Any, summary: str) -> None:
    assert codes(make, "post", summary=summary) == ["annotation-contradiction"]
