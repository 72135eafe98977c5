"""The manifest: each of the requirements is held by a test that names it, or does not apply.

requirements.tsv beside this file has a row for each; `held` or `not applicable` with the reason.
A test names the rows that it holds: `@pytest.mark.requirement("L001", "N002")`.
"""

from __future__ import annotations

import ast
import csv
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MANIFEST = Path(__file__).with_name("requirements.tsv")
SPECIFICATION = TESTS.parents[1] / "shared" / "requirements.tsv"
COUNT = 295


def rows_of(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len({row["id"] for row in rows}) == len(rows), "a row stands there twice"
    return {row["id"]: row for row in rows}


@cache
def held_by() -> dict[str, list[str]]:
    """The tests that name each row, read from the source of every test there is."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith(".requirement"):
                    assert node.name.startswith("test_"), f"{path}: {node.name} is no test"
                    for row in map(ast.literal_eval, mark.args):
                        found.setdefault(row, []).append(f"{path.name}::{node.name}")
    return found


def test_every_requirement_has_a_row() -> None:
    assert len(rows_of(MANIFEST)) == COUNT
    if not SPECIFICATION.exists():
        pytest.skip("no ../shared/requirements.tsv, so the rows are not compared with it")
    with SPECIFICATION.open(encoding="utf-8", newline="") as file:
        assert {row["id"] for row in csv.DictReader(file, delimiter="\t")} == set(rows_of(MANIFEST))


def test_every_row_is_held_by_a_test_or_says_why_it_does_not_apply() -> None:
    wrong = []
    for row, entry in rows_of(MANIFEST).items():
        tests = held_by().get(row, [])
        match entry["status"]:
            case "held":
                wrong += [] if tests else [f"{row} is held by no test"]
                wrong += [f"{row} is held, and has a reason not to be"] if entry["reason"] else []
            case "not applicable":
                wrong += [f"{row} does not apply, and {it} holds it" for it in tests]
                wrong += [] if entry["reason"] else [f"{row} does not apply, and nothing says why"]
            case other:
                wrong.append(f"{row} has the status {other!r}")
    assert wrong == []


def test_no_test_names_a_row_that_does_not_exist() -> None:
    strangers = {row: tests for row, tests in held_by().items() if row not in rows_of(MANIFEST)}
    assert strangers == {}
