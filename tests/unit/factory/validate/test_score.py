"""Tests of scores: weights, the cap for failed MUSTs, and coverage."""

from __future__ import annotations

import pytest

from mcpgen.factory.validate.requirements import Level, Requirement
from mcpgen.factory.validate.score import Score, combine, compute_score
from mcpgen.factory.validate.verdicts import Verdict

PASS, FAIL, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.ERROR
UNTESTED, UNDECIDED, NOT_APPLICABLE = (
    Verdict.UNTESTED,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_APPLICABLE,
)


def score(*results: tuple[Level, Verdict]) -> Score:
    return compute_score(
        (
            Requirement(
                id=f"r{number}", level=level, rows=(), requirement="", why="", help="", section=""
            ),
            [verdict],
        )
        for number, (level, verdict) in enumerate(results)
    )


def test_musts_weigh_ten_and_shoulds_three() -> None:
    found = score(("must", PASS), ("should", FAIL))
    assert found.score == 100 * 10 // 13
    assert found.verdict == "PASS"


@pytest.mark.parametrize("verdict", [FAIL, ERROR])
def test_a_failed_must_caps_the_score_below_sixty(verdict: Verdict) -> None:
    found = score(*[("must", PASS)] * 99, ("must", verdict))
    assert found.score == 59
    assert found.verdict == "FAIL"


def test_what_was_not_decided_neither_helps_nor_hurts_but_lowers_the_coverage() -> None:
    found = score(("must", PASS), ("must", UNTESTED), ("should", UNDECIDED))
    assert (found.score, found.applicable, found.exercised) == (100, 3, 1)
    assert not found.is_reliable


def test_what_does_not_apply_is_not_counted() -> None:
    found = score(("must", PASS), ("must", NOT_APPLICABLE))
    assert (found.score, found.applicable, found.coverage) == (100, 1, 1.0)


def test_eighty_percent_are_reliable() -> None:
    assert score(*[("must", PASS)] * 4, ("must", UNTESTED)).is_reliable
    assert not score(*[("must", PASS)] * 3, ("must", UNTESTED)).is_reliable


def test_a_server_of_which_nothing_was_exercised_fails() -> None:
    found = score(("must", UNTESTED))
    assert (found.score, found.verdict) == (0, "FAIL")


def test_the_worst_transport_decides() -> None:
    assert combine([PASS, FAIL]) is FAIL
    assert combine([PASS, UNTESTED]) is PASS
    assert combine([UNTESTED, NOT_APPLICABLE]) is UNTESTED
    assert combine([]) is NOT_APPLICABLE
