"""Tests of polling, with a clock that only the test moves."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import convert

from mcpgen.runtime.tools.result_policies import Polling
from mcpgen.runtime.upstream.client import Environment


class Waiting:
    """A call context with an API that answers in turn, and a clock for the waits between."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.now = 100.0
        self.progress: list[tuple[float, float | None, str]] = []
        self.api = SimpleNamespace(notes=(), last_value=None)

    def report_progress(self, progress: float, total: float | None, message: str) -> None:
        self.progress.append((progress, total, message))

    async def ask(self, ctx: Any) -> Any:
        assert ctx is self
        self.now += 1.0  # an answer takes a second
        self.api.notes = ("said of this answer",)
        answer = self.answers.pop(0)
        self.api.last_value = answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def wait(self, **rule: Any) -> Any:
        entry = {"until": ["state"], "values": ["done"], "interval_seconds": 2.0, **rule}
        around = Environment(clock=lambda: self.now, sleep=self.sleep)
        polling = convert({"timeout_seconds": 10.0, **entry}, Polling)
        context: Any = self
        return asyncio.run(polling.call(self.ask, around, context))


def test_a_result_in_the_awaited_state_is_returned_immediately() -> None:
    waiting = Waiting({"state": "done"})
    assert waiting.wait() == {"state": "done"}
    assert (waiting.now, waiting.progress) == (101.0, [])


def test_each_wait_reports_progress() -> None:
    waiting = Waiting({"state": "new"}, {}, {"state": "done", "n": 1})
    assert waiting.wait() == {"state": "done", "n": 1}
    assert waiting.progress == [
        (1.0, 10.0, '`state` is "new"'),
        (4.0, 10.0, "`state` is null"),
    ]
    assert waiting.api.notes == ("said of this answer",)


def test_after_the_timeout_the_last_result_is_returned_with_a_note() -> None:
    waiting = Waiting(*[{"state": "new"}] * 9)
    assert waiting.wait() == {"state": "new"}
    assert waiting.now == 110.0  # no wait is begun that would end after the timeout
    assert waiting.api.notes[1] == (
        '`state` is "new" still, after 10 seconds. The same call waits on.'
    )


@pytest.mark.parametrize(
    ("answer", "values", "is_awaited"),
    [
        ({"job": {"n": 1}}, [1], True),
        ({"job": {"n": True}}, [1], False),
        ({"job": {"n": None}}, [None], True),
        ({"job": []}, [1], False),
        ("text", [1], False),
    ],
)
def test_the_polled_member_is_compared_as_json(
    answer: Any, values: list[Any], is_awaited: bool
) -> None:
    waiting = Waiting(*[answer] * 9)
    waiting.wait(until=["job", "n"], values=values)
    assert (len(waiting.answers) == 8) is is_awaited
