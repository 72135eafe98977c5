"""Tests that example calls of skills come from the cases of the generated tests."""

from __future__ import annotations

import json
from typing import Any

from mcpgen.plan.cases.entries import EXAMPLE_CALL, SMALLEST_CALL
from mcpgen.plan.skills.examples import collect_examples


def case(**more: Any) -> bytes:
    return json.dumps({"tool": "get_pet", "operation": "GET /pets", **more}).encode()


def call(what: str, **arguments: Any) -> dict[str, Any]:
    return {"what": what, "arguments": arguments, "request": {}}


def test_the_call_with_the_examples_of_the_document_is_shown() -> None:
    calls = [call(SMALLEST_CALL, a=1, b=2), call("null", a=None), call(EXAMPLE_CALL, b=3)]
    assert collect_examples([case(calls=calls)]) == {"get_pet": {"a": 1, "b": 3}}


def test_without_examples_the_smallest_call_is_shown() -> None:
    calls = [call(SMALLEST_CALL, a=1), call("null", a=None)]
    assert collect_examples([case(calls=calls)]) == {"get_pet": {"a": 1}}


def test_a_workflow_has_one_call() -> None:
    entry = {"tool": "buy_pet", "arguments": {"words": "dog"}, "requests": [], "result": {}}
    assert collect_examples([json.dumps(entry).encode()]) == {"buy_pet": {"words": "dog"}}


def test_a_tool_without_a_sample_has_no_example() -> None:
    assert collect_examples([case(untested=[{"what": "x", "why": "y"}])]) == {"get_pet": {}}
