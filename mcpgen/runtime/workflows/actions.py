"""Actions after a workflow step: those of Arazzo 1.0, and the manifest's `retry`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from mcpgen.runtime.workflows.step import Step


def always(_: Step) -> bool:
    """Match every outcome of a step."""
    return True


StepCondition: TypeAlias = Callable[[Step], bool]


@dataclass(frozen=True, slots=True)
class End:
    """End the workflow: with what there is by then or, where the step failed, by telling so."""

    when: StepCondition = always


@dataclass(frozen=True, slots=True)
class GoTo:
    """Go on with a later step; those before it are skipped."""

    step: str
    when: StepCondition = always


@dataclass(frozen=True, slots=True)
class Retry:
    """Call once more, up to `limit` times; what `Retry-After` of the answer asks for comes first.

    A call that was refused before anything was sent is not repeated: it would be refused again.
    """

    limit: int
    after_seconds: float = 0.0
    when: StepCondition = always


SuccessAction: TypeAlias = End | GoTo
FailureAction: TypeAlias = End | GoTo | Retry
