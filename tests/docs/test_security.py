"""Tests that docs/explanation/security.md lists all goals, and that its evidence exists."""

from __future__ import annotations

import ast
import re
from collections import Counter

from tests.support.paths import REPOSITORY

PAGE = (REPOSITORY / "docs" / "explanation" / "security.md").read_text()
_ROW = re.compile(r"^\| (\d+) \|(.*)\|$", re.MULTILINE)
_EVIDENCE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def _rows() -> list[list[str]]:
    return [[number, *map(str.strip, rest.split(" | "))] for number, rest in _ROW.findall(PAGE)]


def test_all_goals_are_listed_in_order() -> None:
    assert [row[0] for row in _rows()] == [str(number) for number in range(1, 46)]


def test_a_goal_that_is_met_has_evidence() -> None:
    for number, _, _, state, _, evidence in _rows():
        assert state in {"met", "partly", "not met", "not measured"}, number
        assert _EVIDENCE.search(evidence) or state in {"not met", "not measured"}, number


def test_every_named_test_exists() -> None:
    named = _EVIDENCE.findall(PAGE)
    assert len(named) > 40
    for path, name in named:
        tree = ast.parse((REPOSITORY / path).read_text())
        functions = {
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert name in functions, f"{path}::{name}"


def test_the_totals_match_the_table() -> None:
    states = Counter(row[3] for row in _rows())
    text = " ".join(PAGE.split())
    total = (
        f"{states['met']} are met, {states['partly']} partly, {states['not met']} not met"
        f" and {states['not measured']} not measured"
    )
    assert total in text


def test_the_policy_links_to_the_page() -> None:
    assert "(docs/explanation/security.md)" in (REPOSITORY / "SECURITY.md").read_text()
