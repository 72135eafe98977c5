"""Tests of workflow steps: their results, skipped steps, and messages of failures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from mcpgen.runtime import (
    ABSENT,
    End,
    GoTo,
    Retry,
    ToolError,
    Workflow,
    compare,
    value_at,
    without_absent,
)
from mcpgen.runtime.errors import CallRefusedError
from mcpgen.runtime.handlers.context import Context, InputRequiredError
from mcpgen.runtime.tools.results import ToolOutcome
from mcpgen.runtime.upstream.errors import DisconnectedError, UpstreamStatusError
from mcpgen.runtime.workflows import MAX_ITEMS, MAX_WAIT_SECONDS, Step
from mcpgen.testing.suite.virtual_time import VirtualTimeLoop


class Calls:
    """A fake call context that answers tools in turn, and records their arguments."""

    def __init__(self, *answers: object, state: dict[str, Any] | None = None) -> None:
        self.state = state or {}
        self.given: list[tuple[str, dict[str, Any]]] = []
        self.scopes: list[str] = []
        self.attempts: list[int | None] = []
        self.told: list[str] = []
        self.progress: list[float] = []
        self._answers = list(answers)

    async def run_tool(
        self, name: str, arguments: dict[str, Any], scope: str, *, attempts: int | None = None
    ) -> ToolOutcome:
        self.given.append((name, arguments))
        self.scopes.append(scope)
        self.attempts.append(attempts)
        answer = self._answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return ToolOutcome(f"GET /{name}", answer, 200, (("ETag", '"7"'),))

    def report_progress(self, progress: float, total: float, message: str) -> None:
        self.told.append(message)
        self.progress.append(progress)

    def flow(self, *steps: str) -> Workflow:
        return Workflow(cast("Context", self), *steps)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 10))


def test_a_step_returns_parts_of_its_response() -> None:
    step = run(Calls({"items": [{"id": 7}]}).flow("find").call("find", "list", {}))
    assert step.get("/items/0/id") == 7
    assert step.get("/items/1/id") is ABSENT
    assert step.status == 200
    assert step.header("etag") == '"7"'
    assert step.header("Location") is ABSENT


def test_absent_values_are_removed_from_arguments() -> None:
    calls = Calls({})
    run(calls.flow("a").call("a", "list", {"q": ABSENT, "body": {"x": ABSENT, "y": [ABSENT, 1]}}))
    assert calls.given == [("list", {"body": {"y": [1]}})]


def test_a_skipped_step_sends_nothing_and_returns_absent() -> None:
    calls = Calls()
    step = run(calls.flow("a").call("a", "list", {}, when=False))
    assert calls.given == []
    assert step.get() is ABSENT
    assert step.status is ABSENT


def test_a_loop_calls_each_item_and_returns_lists() -> None:
    calls = Calls({"id": 1}, {}, {"id": 3})
    flow = calls.flow("each")
    items = flow.items("each", ["a", "b", "c"])
    step = run(flow.call_each("each", "get", [{"name": item} for item in items]))
    assert [arguments["name"] for _, arguments in calls.given] == ["a", "b", "c"]
    assert step.get("/id") == [1, 3]


def test_a_loop_above_the_item_limit_sends_nothing() -> None:
    calls = Calls()
    with pytest.raises(ToolError, match="100 items at most, and has 101"):
        run(calls.flow("each").call_each("each", "get", [{}] * (MAX_ITEMS + 1)))
    assert calls.given == []


def test_a_loop_over_a_value_that_is_not_a_list_fails() -> None:
    flow = Calls().flow("each")
    assert flow.items("each", ABSENT) == []
    with pytest.raises(ToolError, match="goes through a list, and has 7"):
        flow.items("each", 7)


def test_each_step_reports_progress() -> None:
    calls = Calls({}, {})
    flow = calls.flow("first", "second")
    run(flow.call("first", "get", {}))
    run(flow.call("second", "get", {}))
    assert calls.told == ["step 1 of 2: first", "step 2 of 2: second"]


def test_a_failure_lists_completed_and_pending_steps() -> None:
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


def test_an_unmet_criterion_ends_the_workflow() -> None:
    calls = Calls({"state": "closed"})
    flow = calls.flow("a", "b")
    with pytest.raises(ToolError, match=r"(?s)`a` failed: `x == 1` does not hold.*took effect"):
        run(flow.call("a", "get", {}, expect={"x == 2": lambda a: True, "x == 1": lambda a: False}))


def test_an_error_that_is_expected_is_a_success() -> None:
    step = run(
        Calls(status_error(404, {"title": "gone"}))
        .flow("a")
        .call("a", "get", {}, expect={"$statusCode == 404": lambda a: a.status == 404})
    )
    assert (step.status, step.get("/title")) == (404, "gone")


def test_expectations_do_not_apply_without_a_response() -> None:
    flow = Calls(DisconnectedError("gave no answer.")).flow("a")
    with pytest.raises(ToolError, match="`a` failed: gave no answer"):
        run(flow.call("a", "get", {}, expect={"x != 1": lambda a: a.get("/x") is ABSENT}))


def test_a_step_is_retried_up_to_its_limit_and_then_fails() -> None:
    calls = Calls(*[status_error(503)] * 3)
    busy = Retry(2, after_seconds=4, when=lambda a: a.status == 503)
    with virtual_time() as loop:
        with pytest.raises(ToolError, match=r"`a` failed 3 times, at last: answered 503"):
            loop.run_until_complete(calls.flow("a").call("a", "get", {"x": 1}, on_failure=[busy]))
        assert loop.time() == 8
    assert calls.given == [("get", {"x": 1})] * 3
    assert calls.scopes == ["a-0", "a-1", "a-2"]
    assert calls.attempts == [1, 1, 1]  # so that the client does not retry, too
    assert calls.told[1] == "step 1 of 1: a, again in 4 seconds"
    assert sorted(set(calls.progress)) == calls.progress


def test_a_retried_step_returns_the_successful_response() -> None:
    calls = Calls(status_error(503), {"id": 7})
    step = run(calls.flow("a").call("a", "get", {}, on_failure=[Retry(1)]))
    assert step.get("/id") == 7


def test_retry_after_overrides_the_delay_of_a_step_within_bounds() -> None:
    calls = Calls(status_error(503, retry_after=30), {})
    with virtual_time() as loop:
        loop.run_until_complete(calls.flow("a").call("a", "get", {}, on_failure=[Retry(1, 2)]))
        assert loop.time() == 30
    late = Calls(status_error(503, retry_after=MAX_WAIT_SECONDS + 1))
    with pytest.raises(ToolError, match="`a` failed: answered 503"):
        run(late.flow("a").call("a", "get", {}, on_failure=[Retry(1)]))


def test_an_exhausted_retry_is_followed_by_the_next_action() -> None:
    calls = Calls(status_error(503), status_error(503), {})
    flow = calls.flow("a", "b", "c")
    actions = [Retry(1, when=lambda a: a.status == 503), GoTo("c")]

    async def work() -> tuple[Step, Step]:
        await flow.call("a", "first", {}, on_failure=actions)
        return await flow.call("b", "second", {}), await flow.call("c", "third", {})

    skipped, reached = run(work())
    assert [name for name, _ in calls.given] == ["first", "first", "third"]
    assert (skipped.status, reached.status) == (ABSENT, 200)


def test_a_failed_step_returns_absent_after_goto() -> None:
    step = run(
        Calls(status_error(404, {"id": 7}))
        .flow("a", "b")
        .call("a", "x", {}, on_failure=[GoTo("b")])
    )
    assert (step.get("/id"), step.status) == (ABSENT, ABSENT)


def test_an_end_action_precedes_a_later_retry_action() -> None:
    calls = Calls(status_error(404))
    actions = [End(when=lambda a: a.status == 404), Retry(5)]
    with pytest.raises(ToolError, match="`a` failed: answered 404"):
        run(calls.flow("a").call("a", "get", {}, on_failure=actions))


def test_a_rejected_call_is_not_retried() -> None:
    calls = Calls(CallRefusedError("arguments of `get`: `/x` is no number"))
    with pytest.raises(ToolError, match="is no number"):
        run(calls.flow("a").call("a", "get", {}, on_failure=[Retry(5)]))
    assert len(calls.given) == 1


def test_an_end_action_after_success_skips_all_other_steps() -> None:
    calls = Calls({"items": []})
    flow = calls.flow("a", "b", "c")

    async def work() -> list[Step]:
        none = End(when=lambda a: not a.get("/items"))
        await flow.call("a", "list", {}, on_success=[none])
        each = await flow.call_each("b", "get", [{"x": 1}])
        return [each, await flow.call("c", "get", {}, on_success=[GoTo("b")])]

    each, last = run(work())
    assert [name for name, _ in calls.given] == ["list"]
    assert (each.get(), last.get()) == ([], ABSENT)


def test_the_first_action_with_a_true_condition_is_taken() -> None:
    calls = Calls({"n": 2}, {})
    flow = calls.flow("a", "b", "c")

    async def work() -> None:
        actions = [End(when=lambda a: a.get("/n") == 1), GoTo("c"), End()]
        await flow.call("a", "list", {}, on_success=actions)
        await flow.call("b", "get", {})
        await flow.call("c", "set", {})

    run(work())
    assert [name for name, _ in calls.given] == ["list", "set"]


def test_each_item_of_a_loop_is_retried_separately() -> None:
    calls = Calls(status_error(503), {"id": 1}, status_error(503), {"id": 2})
    step = run(calls.flow("a").call_each("a", "get", [{}, {}], on_failure=[Retry(1)]))
    assert step.get("/id") == [1, 2]


def test_failed_attempts_are_not_repeated_when_a_later_step_asks_the_user() -> None:
    first = Calls(status_error(503), {"id": 1}, status_error(404), InputRequiredError({}))

    async def work(flow: Workflow) -> Any:
        made = await flow.call("a", "create", {}, on_failure=[Retry(1, after_seconds=9)])
        await flow.call("b", "look", {}, on_failure=[GoTo("d")])
        await flow.call("c", "never", {})
        return await flow.call("d", "confirm", {"id": made.get("/id")})

    with virtual_time() as loop:
        with pytest.raises(InputRequiredError):
            loop.run_until_complete(work(first.flow("a", "b", "c", "d")))
        assert loop.time() == 9
        again = Calls({"done": True}, state=json.loads(json.dumps(first.state)))
        done = loop.run_until_complete(work(again.flow("a", "b", "c", "d")))
        assert loop.time() == 9  # it was waited for already
    assert done.get("/done") is True
    assert again.given == [("confirm", {"id": 1})]
    assert again.scopes == first.scopes[-1:]


def status_error(
    status: int, problem: dict[str, Any] | None = None, *, retry_after: float | None = None
) -> UpstreamStatusError:
    """Return the error that an API response is converted to."""
    return UpstreamStatusError(
        f"answered {status}.", status=status, problem=problem, retry_after_seconds=retry_after
    )


@contextmanager
def virtual_time() -> Iterator[VirtualTimeLoop]:
    """Yield an event loop whose waits end at once."""
    loop = VirtualTimeLoop()
    try:
        yield loop
    finally:
        loop.close()


def test_completed_steps_are_not_repeated_when_a_later_step_asks_the_user() -> None:
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
def test_comparisons_follow_arazzo(
    left: object, comparison: str, right: object, *, holds: bool
) -> None:
    assert compare(left, comparison, right) is holds


def test_value_at_resolves_json_pointers() -> None:
    value = {"a/b": [{"~": 1}], "n": None}
    assert value_at(value, "/a~1b/0/~0") == 1
    assert value_at(value, "/n") is None
    assert value_at(value, "/a~1b/-1") is ABSENT
    assert value_at(value, "") is value
    assert value_at(ABSENT, "/x") is ABSENT


def test_a_result_has_no_absent_members() -> None:
    assert without_absent({"a": ABSENT, "b": [ABSENT, None]}) == {"b": [None]}
    assert without_absent(ABSENT) is None
