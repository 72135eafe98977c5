"""The score of one revision, its coverage and its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mcpgen.factory.validate.requirements import Requirement
from mcpgen.factory.validate.verdicts import Verdict

MUST_FAILED_CAP: Final = 59
RELIABLE_COVERAGE: Final = 0.8
# Of several transports, the verdict of a requirement is the first of these that occurs.
_WORST_FIRST: Final = (
    Verdict.FAIL,
    Verdict.ERROR,
    Verdict.PASS,
    Verdict.INCONCLUSIVE,
    Verdict.UNTESTED,
    Verdict.NOT_APPLICABLE,
)
_EXERCISED: Final = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.ERROR})


@dataclass(frozen=True, slots=True)
class Score:
    """The counts of requirements of one revision, and the score that follows from them."""

    counts: Counter[Verdict]
    passed_weight: int
    exercised_weight: int
    failed_musts: int

    @property
    def applicable(self) -> int:
        """Number of requirements that apply to the server."""
        return self.counts.total() - self.counts[Verdict.NOT_APPLICABLE]

    @property
    def exercised(self) -> int:
        """Number of applicable requirements that were decided."""
        return sum(self.counts[verdict] for verdict in _EXERCISED)

    @property
    def coverage(self) -> float:
        """Share of the applicable requirements that were decided, 0 to 1."""
        return self.exercised / self.applicable if self.applicable else 0.0

    @property
    def is_reliable(self) -> bool:
        """Whether enough was exercised for the number to count."""
        return self.coverage >= RELIABLE_COVERAGE

    @property
    def score(self) -> int:
        """0 to 100, rounded down; at most 59 if a MUST failed."""
        if not self.exercised_weight:
            return 0
        share = 100 * self.passed_weight // self.exercised_weight
        return min(share, MUST_FAILED_CAP) if self.failed_musts else share

    @property
    def verdict(self) -> str:
        """ "FAIL" if a MUST failed or nothing was exercised, else "PASS"."""
        return "FAIL" if self.failed_musts or not self.exercised_weight else "PASS"


def compute_score(results: Iterable[tuple[Requirement, Iterable[Verdict]]]) -> Score:
    """Compute the score from the verdicts of each requirement, one per transport."""
    counts: Counter[Verdict] = Counter()
    passed = exercised = failed_musts = 0
    for requirement, verdicts in results:
        verdict = combine(verdicts)
        counts[verdict] += 1
        if verdict in _EXERCISED:
            exercised += requirement.weight
        if verdict is Verdict.PASS:
            passed += requirement.weight
        if verdict in {Verdict.FAIL, Verdict.ERROR} and requirement.level == "must":
            failed_musts += 1
    return Score(counts, passed, exercised, failed_musts)


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a requirement from those of the transports."""
    found = set(verdicts)
    return next((it for it in _WORST_FIRST if it in found), Verdict.NOT_APPLICABLE)
