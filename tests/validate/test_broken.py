"""Tests that the validator finds the fault of each broken server and no other."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections import Counter

import pytest

from mcpgen.factory.validate.requirements import read_requirements
from tests.support.paths import REPOSITORY
from tests.validate.broken.table import BROKEN, MISSED, MUST, SLOW, UNTRIED, Broken
from tests.validate.check import check_all, find_expected

GROUP_SIZE = 20  # servers of one test, which are examined at the same time
FAST = [row for row in BROKEN if row.server not in SLOW]
GROUPS = [FAST[start : start + GROUP_SIZE] for start in range(0, len(FAST), GROUP_SIZE)]
MODULES = {row.module for row in BROKEN if row.class_name}
LONGEST = 30  # lines of a broken server


def name_of(rows: list[Broken]) -> str:
    return f"{rows[0].server}-{rows[-1].server}"


@pytest.mark.slow
@pytest.mark.parametrize("rows", GROUPS, ids=name_of)
def test_the_fault_of_each_server_is_found_and_nothing_else(rows: list[Broken]) -> None:
    runs = [(row, *row.runs[0]) for row in rows if (row.server, row.runs[0][1]) not in MISSED]
    assert asyncio.run(check_all(runs)) == {}


@pytest.mark.slow
def test_faults_that_are_listed_as_missed_are_still_missed() -> None:
    runs = [
        (row, transport, revision)
        for row in BROKEN
        for transport, revision in row.runs
        if (row.server, revision) in MISSED
    ]
    assert len(asyncio.run(check_all(runs))) == len(runs) == len(MISSED)


def test_every_broken_server_has_a_row() -> None:
    defined = {
        f"{name.rpartition('.')[2]}.{found.__name__}"
        for name in MODULES
        for found in vars(importlib.import_module(name)).values()
        if inspect.isclass(found) and found.__module__ == name and is_complete(found)
    }
    assert defined == {row.server for row in BROKEN if row.class_name}


def is_complete(server: type) -> bool:
    """Return whether a class is a server with a fault, and neither a base class nor a loop."""
    return hasattr(server, "revisions") and not (server.__doc__ or "").startswith(
        ("Base of", "The correct")
    )


def test_broken_servers_are_small_and_many() -> None:
    lengths = {
        row.server: len(inspect.getsource(row.load()).splitlines())
        for row in BROKEN
        if row.class_name
    }
    assert len(lengths) >= 60
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_rows_of_a_must_cap_the_score_below_60() -> None:
    levels = {
        line.split("\t")[0]: line.split("\t")[1]
        for line in (REPOSITORY / "tests/protocol/requirements.tsv").read_text("utf-8").splitlines()
    }
    known = read_requirements()
    for row in BROKEN:
        assert set(row.rows) <= levels.keys(), row.server
        found = [known.find(rule) for rule in row.findings]
        assert None not in found, row
        if row.max_score == MUST:
            assert any(levels[each] == "MUST" for each in row.rows), row
        else:
            assert all(it is None or it.level == "should" for it in found), row


def test_a_finding_is_expected_of_each_run() -> None:
    for row in BROKEN:
        for transport, revision in row.runs:
            assert find_expected(row, transport, revision), row


def test_every_must_that_is_checked_has_a_broken_server() -> None:
    tried = {rule for row in BROKEN for rule in row.findings}
    missing = {
        it.id for it in read_requirements().requirement if it.level == "must" and it.id not in tried
    }
    assert missing == UNTRIED.keys()


def test_no_row_occurs_twice() -> None:
    counts = Counter((row.server, run) for row in BROKEN for run in row.runs)
    assert [each for each, count in counts.items() if count > 1] == []
