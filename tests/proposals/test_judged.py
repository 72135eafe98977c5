"""Tests of the judged proposals, and of the figures about them in the documentation."""

from __future__ import annotations

import pytest

from tests.proposals.measure import Proposal, draw, read_judged
from tests.support.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "explanation" / "similar-operations.md"
LEAST_RIGHT = 0.9


@pytest.mark.parametrize("kind", ["merged", "workflow"])
def test_the_page_states_how_many_proposals_are_right(kind: str) -> None:
    rows = [it for it in read_judged() if it.kind == kind]
    right = sum(it.is_right == "yes" for it in rows)
    assert len(rows) == 30
    assert right / len(rows) >= LEAST_RIGHT
    assert all(it.reason for it in rows if it.is_right == "no")
    named = {"merged": "merged tools", "workflow": "workflows"}[kind]
    assert f"| {named} | {right} of {len(rows)} |" in PAGE.read_text(encoding="utf-8")


def test_a_sample_takes_from_each_document_in_turn() -> None:
    many = [Proposal("many", "merged", f"m{number}", ()) for number in range(50)]
    few = [Proposal(name, "merged", "only", ()) for name in ("a", "b")]
    drawn = draw([*many, *few], 4)
    assert {it.document for it in drawn[:3]} == {"many", "a", "b"}
    assert drawn == draw([*many, *few], 4)
    assert len(draw(few, 30)) == 2
