"""The steps of a workflow: what each gives, what is left out, and what a failure tells."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import pytest

from mcpgen.runtime import ABSENT, ToolError, Workflow, compare, value_at, without_absent
from mcpgen.runtime.context import Context, InputRequiredError
from mcpgen.runtime.tools import Run
from mcpgen.runtime.workflows import MAX_ITEMS


class Calls:
    """Stands for the context of a call: answers tools in turn, and keeps what they were given."""

    def __init__(self, *answers: object, state: dict[str, Any] | None = None) -> None:
        self.state = state or {}
        self.given: list[tuple[str, dict[str, Any]]] = []
        self.told: list[str] = []
        self._answers = list(answers)

    async def run_tool(self, name: str, arguments: dict[str, Any], scope: str) -> Run:
        self.given.append((name, arguments))
        answer = self._answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return Run(f"GET /{name}", answer, 200, (("ETag", '"7"'),))

    def report_progress(self, progress: float, total: float, message: str) -> None:
        self.told.append(message)

    def flow(self, *steps: str) -> Workflow:
        return Workflow(cast("Context", self), *steps)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 10))


def test_a_step_gives_parts_of_its_response() -> None:
    step = run(Calls({"items": [{"id": 7}]}).flow("find").call("find", "list", {}))
    assert step.get("/items/0/id") == 7
    assert step.get("/items/1/id") is ABSENT
    assert step.status == 200
    assert step.header("etag") == '"7"'
    assert step.header("Location") is ABSENT


def test_what_is_absent_is_left_out_of_arguments() -> None:
    calls = Calls({})
    run(calls.flow("a").call("a", "list", {"q": ABSENT, "body": {"x": ABSENT, "y": [ABSENT, 1]}}))
    assert calls.given == [("list", {"body": {"y": [1]}})]


def test_a_skipped_step_sends_nothing_and_gives_nothing() -> None:
    calls = Calls()
    step = run(calls.flow("a").call("a", "list", {}, when=False))
    assert calls.given == []
    assert step.get() is ABSENT
    assert step.status is ABSENT


def test_a_step_runs_once_for_each_item_and_gives_lists() -> None:
    calls = Calls({"id": 1}, {}, {"id": 3})
    flow = calls.flow("each")
    items = flow.items("each", ["a", "b", "c"])
    step = run(flow.call_each("each", "get", [{"name": item} for item in items]))
    assert [arguments["name"] for _, arguments in calls.given] == ["a", "b", "c"]
    assert step.get("/id") == [1, 3]


def test_a_loop_is_bounded_before_anything_is_sent() -> None:
    calls = Calls()
    with pytest.raises(ToolError, match="100 items at most, and has 101"):
        run(calls.flow("each").call_each("each", "get", [{}] * (MAX_ITEMS + 1)))
    assert calls.given == []


def test_a_loop_over_no_list_fails_and_over_nothing_is_empty() -> None:
    flow = Calls().flow("each")
    assert flow.items("each", ABSENT) == []
    with pytest.raises(ToolError, match="goes through a list, and has 7"):
        flow.items("each", 7)


def test_progress_tells_each_step() -> None:
    calls = Calls({}, {})
    flow = calls.flow("first", "second")
    run(flow.call("first", "get", {}))
    run(flow.call("second", "get", {}))
    assert calls.told == ["step 1 of 2: first", "step 2 of 2: second"]


def test_a_failure_tells_what_took_effect_and_what_was_not_begun() -> None:
    calls = Calls({"id": 1}, {"id": 2}, ToolError("`GET /c` answered 404."))
    flow = calls.flow("a", "b", "c")

    async def work() -> None:
        await flow.call("a", "first", {})
        await flow.call_each("b", "second", [{}, {}])

    with pytest.raises(ToolError) as caught:
        run(work())
    assert str(caught.value).splitlines() == [
        "The step `b` failed: `GET /c` answered 404.",
        "These steps took effect:",
        '- `a` (`GET /first`) gave {"id": 1}',
        '- `b` (`GET /second`) gave {"id": 2}',
        "Not begun: `c`.",
    ]


def test_a_criterion_that_does_not_hold_ends_the_workflow() -> None:
    calls = Calls({"state": "closed"})
    flow = calls.flow("a", "b")
    run(flow.call("a", "get", {}))
    with pytest.raises(ToolError, match=r"(?s)`a` failed: `x == 1` does not hold.*took effect"):
        flow.require("a", "x == 1", holds=False)


def test_steps_are_not_repeated_where_a_later_one_asks_the_user() -> None:
    first = Calls({"id": 1}, InputRequiredError({}))
    flow = first.flow("a", "b")

    async def work(flow: Workflow) -> Any:
        made = await flow.call("a", "create", {})
        return await flow.call("b", "confirm", {"id": made.get("/id")})

    with pytest.raises(InputRequiredError):
        run(work(flow))
    again = Calls({"done": True}, state=first.state)
    assert run(work(again.flow("a", "b"))).get("/done") is True
    assert again.given == [("confirm", {"id": 1})]


@pytest.mark.parametrize(
    ("left", "comparison", "right", "holds"),
    [
        ("Open", "==", "oPEN", True),
        (1, "==", True, False),
        (1, "!=", True, True),
        (ABSENT, "==", None, True),
        (ABSENT, "!=", None, False),
        (2, ">", 1.5, True),
        ("b", ">=", "A", True),
        (2, "<", "10", False),
        (2, ">=", "10", False),
        (True, ">", 0, False),
    ],
)
def test_comparisons_are_those_of_arazzo(
    left: object, comparison: str, right: object, *, holds: bool
) -> None:
    assert compare(left, comparison, right) is holds


def test_values_are_found_by_json_pointer() -> None:
    value = {"a/b": [{"~": 1}], "n": None}
    assert value_at(value, "/a~1b/0/~0") == 1
    assert value_at(value, "/n") is None
    assert value_at(value, "/a~1b/-1") is ABSENT
    assert value_at(value, "") is value
    assert value_at(ABSENT, "/x") is ABSENT


def test_a_result_has_no_absent_members() -> None:
    assert without_absent({"a": ABSENT, "b": [ABSENT, None]}) == {"b": [None]}
    assert without_absent(ABSENT) is None
