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
    """End the workflow: with the results so far or, if the step failed, with its error."""

    when: StepCondition = always


@dataclass(frozen=True, slots=True)
class GoTo:
    """Continue with a later step; the steps before it are skipped."""

    step: str
    when: StepCondition = always


@dataclass(frozen=True, slots=True)
class Retry:
    """Repeat the call, up to `limit` times; `Retry-After` of the response overrides the delay.

    A call that was refused before anything was sent is not repeated.
    """

    limit: int
    after_seconds: float = 0.0
    when: StepCondition = always


SuccessAction: TypeAlias = End | GoTo
FailureAction: TypeAlias = End | GoTo | Retry
