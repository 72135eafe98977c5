"""Results of an evaluation, as JSON, and read back from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from mcpgen.factory.eval.calls import MadeCall, count_errors
from mcpgen.jsonschema.types import JsonObject

FORMAT: Final = 1
_MAX_ANSWER: Final = 4_000  # characters


class TaskResult(Struct, frozen=True, kw_only=True):
    """Result of one task; it passed if there are no `reasons`."""

    id: str
    goal: str
    reasons: tuple[str, ...] = ()
    calls: tuple[MadeCall, ...] = ()
    definition_tokens: int = 0  # of the tools that the agent got
    answer: str = ""

    def summarize(self) -> Summary:
        """Return the values that are compared with another evaluation."""
        return Summary(
            id=self.id,
            goal=self.goal,
            passed=not self.reasons,
            calls=len(self.calls),
            errors=count_errors(self.calls),
            definition_tokens=self.definition_tokens,
            result_tokens=sum(call.tokens for call in self.calls),
        )


class Summary(Struct, frozen=True, kw_only=True):
    """The outcome and the figures of one task, or of all."""

    id: str
    goal: str
    passed: bool
    calls: int
    errors: int
    definition_tokens: int
    result_tokens: int


class Evaluation(Struct, frozen=True):
    """The results of all tasks with one agent."""

    server: str
    agent: str
    tasks: tuple[TaskResult, ...]

    @property
    def failed(self) -> int:
        """The number of failed tasks."""
        return sum(bool(task.reasons) for task in self.tasks)

    def summarize(self) -> Outcomes:
        """Return the values that are compared with another evaluation."""
        return Outcomes(self.agent, tuple(task.summarize() for task in self.tasks))


class Outcomes(Struct, frozen=True):
    """The figures of an evaluation: of this run, or of a report."""

    agent: str
    tasks: tuple[Summary, ...]


class ReportError(ValueError):
    """A file that is not a report of `mcpgen eval`; the message states why."""


def format_evaluation(evaluation: Evaluation) -> JsonObject:
    """Return an evaluation for `--json`."""
    tasks = []
    for result in evaluation.tasks:
        figures = msgspec.to_builtins(result.summarize())
        tasks.append(
            {
                **figures,
                "reasons": list(result.reasons),
                "answer": result.answer[:_MAX_ANSWER],
                "made_calls": [call.as_json() for call in result.calls],
            }
        )
    return {
        "format": FORMAT,
        "server": evaluation.server,
        "agent": evaluation.agent,
        "tasks": tasks,
        "totals": sum_up(evaluation.summarize().tasks),
    }


def sum_up(tasks: Sequence[Summary]) -> dict[str, int]:
    """Return the totals of tasks; definitions are counted once for each task."""
    return {
        "tasks": len(tasks),
        "passed": sum(task.passed for task in tasks),
        "calls": sum(task.calls for task in tasks),
        "errors": sum(task.errors for task in tasks),
        "definition_tokens": sum(task.definition_tokens for task in tasks),
        "result_tokens": sum(task.result_tokens for task in tasks),
    }


def read_report(content: bytes) -> Outcomes:
    """Read the figures of a report that `--json` printed.

    Raises:
        ReportError: it is no such report.
    """
    try:
        value: Any = msgspec.json.decode(content)
        if not isinstance(value, Mapping) or value.get("format") != FORMAT:
            raise ReportError("it is not the JSON of `mcpgen eval`")
        return msgspec.convert(value, Outcomes)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ReportError(str(error)) from None
