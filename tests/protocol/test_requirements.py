"""Tests that each MCP requirement is named by a test, or is marked as not applicable.

requirements.tsv beside this file has a row for each, with its level, the revisions that have it,
the section of the specification, the text, and a status: `tested`, or `not applicable` with the
reason. Rows that begin with K are from the text of the Skills extension (ext-skills, stable), and
those that begin with T from that of the Tasks extension (ext-tasks, draft).
A test names the rows that it checks: `@pytest.mark.requirement("L001", "N002")`.
"""

from __future__ import annotations

import ast
import csv
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import REPOSITORY, SHARED

TESTS = REPOSITORY / "tests"
MANIFEST = Path(__file__).with_name("requirements.tsv")
SPECIFICATION = SHARED / "requirements.tsv"
COUNT = 295
OF_EXTENSIONS = ("Skills extension: ", "Tasks extension: ")
"""Prefixes of the sections of rows from other documents."""


def rows_of(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len({row["id"] for row in rows}) == len(rows), "a row stands there twice"
    return {row["id"]: row for row in rows}


@cache
def naming_tests() -> dict[str, list[str]]:
    """Return the tests that name each row, read from the source of all tests."""
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
    rows = {
        name: row
        for name, row in rows_of(MANIFEST).items()
        if not row["section"].startswith(OF_EXTENSIONS)
    }
    assert len(rows) == COUNT
    if not SPECIFICATION.exists():
        pytest.skip("no ../shared/requirements.tsv, so the rows are not compared with it")
    with SPECIFICATION.open(encoding="utf-8", newline="") as file:
        stated = {
            row["id"]: row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        }
    for name, row in rows.items():
        assert (row["requirement"], row["since"], row["until"]) == (
            stated[name]["requirement"],
            stated[name]["since"],
            stated[name]["until"],
        )
    assert set(rows) == set(stated)


def test_every_row_has_its_text_and_section() -> None:
    for name, row in rows_of(MANIFEST).items():
        assert row["requirement"], name
        assert row["section"], name
        assert row["level"] in {"MUST", "SHOULD"}, name


def test_every_row_is_checked_by_a_test_or_has_a_reason_not_to_apply() -> None:
    wrong = []
    for row, entry in rows_of(MANIFEST).items():
        tests = naming_tests().get(row, [])
        match entry["status"]:
            case "tested":
                wrong += [] if tests else [f"{row} is checked by no test"]
                wrong += [f"{row} is tested, and has a reason not to be"] if entry["reason"] else []
            case "not applicable":
                wrong += [f"{row} does not apply, and {it} checks it" for it in tests]
                wrong += [] if entry["reason"] else [f"{row} does not apply, and nothing says why"]
            case other:
                wrong.append(f"{row} has the status {other!r}")
    assert wrong == []


def test_no_test_names_a_row_that_does_not_exist() -> None:
    strangers = {
        row: tests for row, tests in naming_tests().items() if row not in rows_of(MANIFEST)
    }
    assert strangers == {}
