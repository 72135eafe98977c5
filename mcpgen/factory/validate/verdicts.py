"""Results of a check of a requirement."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from mcpgen.factory.wire.frames import Frame


class Verdict(enum.StrEnum):
    """The result of one requirement for one revision and transport."""

    PASS = "pass"  # noqa: S105  (not a password)
    FAIL = "fail"
    ERROR = "error"  # the server stopped or does not answer; counts as a failure
    NOT_APPLICABLE = "not_applicable"
    UNTESTED = "untested"  # applies, but could not be exercised
    INCONCLUSIVE = "inconclusive"  # exercised, but the result proves nothing


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict with its reason in one sentence, and the frames that prove it."""

    verdict: Verdict
    message: str = ""
    evidence: Sequence[Frame] = field(default=())


def succeed(message: str = "") -> Outcome:
    """Return the outcome of a requirement that the server meets."""
    return Outcome(Verdict.PASS, message)


def fail(message: str, evidence: Sequence[Frame] = ()) -> Outcome:
    """Return the outcome of a requirement that the server violates."""
    return Outcome(Verdict.FAIL, message, evidence)


def skip(message: str) -> Outcome:
    """Return the outcome of a requirement that does not apply to this server."""
    return Outcome(Verdict.NOT_APPLICABLE, message)


def leave_untested(message: str) -> Outcome:
    """Return the outcome of a requirement that applies and could not be exercised."""
    return Outcome(Verdict.UNTESTED, message)


def cannot_decide(message: str, evidence: Sequence[Frame] = ()) -> Outcome:
    """Return the outcome of a check whose observations prove nothing."""
    return Outcome(Verdict.INCONCLUSIVE, message, evidence)
