"""How a command ended. Only the command line converts an outcome to an exit code."""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Outcome(enum.StrEnum):
    """The result of a command, the mildest first; the values are those of `outcome` in JSON."""

    DONE = "done"
    FINDINGS = "findings"  # stale, unreachable, failed tests
    USAGE = "usage"
    REJECTED = "rejected"  # the document or the manifest
    CONFLICT = "conflict"  # a hand-edited generated file, or an unresolved conflict
    INTERRUPTED = "interrupted"  # an earlier run was interrupted, or another one holds the lock
    BUG = "bug"  # in mcpgen


_SEVERITY = {outcome: number for number, outcome in enumerate(Outcome)}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the most severe outcome, `DONE` if there is none."""
    return max(outcomes, key=_SEVERITY.__getitem__, default=Outcome.DONE)


class StoppedError(Exception):
    """The command cannot continue; its problems contain the reason."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome
