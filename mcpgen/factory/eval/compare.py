"""Comparison of two evaluations with the same agent: before and after a change of descriptions."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from mcpgen.factory.eval.report import Outcomes, Summary, sum_up
from mcpgen.jsonschema.types import JsonObject

VERDICTS: Final = ("won", "lost", "added", "removed")
"""The verdicts on tasks that reports list."""


class TaskChange(Struct, frozen=True):
    """One task before and after; None where it is in one evaluation only."""

    id: str
    before: Summary | None
    after: Summary | None

    @property
    def verdict(self) -> str:
        """Return "won", "lost", "passed", "failed", "added" or "removed"."""
        if self.before is None or self.after is None:
            return "added" if self.before is None else "removed"
        if self.before.passed is self.after.passed:
            return "passed" if self.after.passed else "failed"
        return "won" if self.after.passed else "lost"

    @property
    def has_other_goal(self) -> bool:
        """Whether the goal changed, so that the two results are of different tasks."""
        has_both = self.before is not None and self.after is not None
        return has_both and self.before.goal != self.after.goal  # type: ignore[union-attr]  # both


class Comparison(Struct, frozen=True):
    """Two evaluations. `since` is the revision or the report of the first."""

    since: str
    before: Outcomes
    after: Outcomes

    @property
    def changes(self) -> tuple[TaskChange, ...]:
        """The tasks, those that were removed last."""
        before = {task.id: task for task in self.before.tasks}
        after = {task.id: task for task in self.after.tasks}
        names = dict.fromkeys([*after, *before])
        return tuple(TaskChange(name, before.get(name), after.get(name)) for name in names)

    @property
    def has_other_agent(self) -> bool:
        """Whether another agent made the first evaluation."""
        return self.before.agent != self.after.agent

    def list_tasks(self, verdict: str) -> list[str]:
        """Return the ids of the tasks with a verdict."""
        return [change.id for change in self.changes if change.verdict == verdict]


def sum_up_common(comparison: Comparison) -> tuple[dict[str, int], dict[str, int]]:
    """Return the totals of the tasks that are in both evaluations, before and after."""
    pairs = [(it.before, it.after) for it in comparison.changes if it.before and it.after]
    return sum_up([before for before, _ in pairs]), sum_up([after for _, after in pairs])


def format_comparison(comparison: Comparison) -> JsonObject:
    """Return a comparison for `--json`."""
    before, after = sum_up_common(comparison)
    return {
        "since": comparison.since,
        "agent_before": comparison.before.agent,
        **{verdict: comparison.list_tasks(verdict) for verdict in VERDICTS},
        "other_goals": [it.id for it in comparison.changes if it.has_other_goal],
        "before": before,
        "after": after,
    }
