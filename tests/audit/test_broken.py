"""Tests that an audit finds the fault of each broken server and no other."""

from __future__ import annotations

import asyncio
import importlib
import inspect

import pytest

from mcpgen.factory.robustness.experiments.table import GROUPS
from mcpgen.factory.robustness.faults import FAULTS
from tests.audit.check import check_broken
from tests.audit.table import BROKEN, Faulty

HALF = len(BROKEN) // 2
MODULES = {row.server.partition(".")[0] for row in BROKEN}


@pytest.mark.slow
@pytest.mark.parametrize("rows", [BROKEN[:HALF], BROKEN[HALF:]], ids=["first", "second"])
def test_the_fault_of_each_server_is_found_and_no_other(rows: tuple[Faulty, ...]) -> None:
    assert asyncio.run(check_broken(rows)) == {}


def test_every_fault_has_a_broken_server() -> None:
    assert {row.rule for row in BROKEN} == FAULTS.keys()


def test_every_broken_server_has_a_row() -> None:
    defined = {
        f"{name}.{found.__name__}"
        for name in MODULES
        for found in vars(importlib.import_module(f"tests.audit.broken.{name}")).values()
        if inspect.isclass(found)
        and found.__module__ == f"tests.audit.broken.{name}"
        and hasattr(found, "revisions")
        and not (found.__doc__ or "").startswith(("Base of", "The correct"))
    }
    assert defined == {row.server for row in BROKEN}


def test_rows_name_experiments_that_exist() -> None:
    known = {each.id for experiments in GROUPS.values() for each in experiments}
    named = {name for row in BROKEN for name in (*row.experiments, *row.also)}
    assert named - known == {"*"}


def test_ids_of_experiments_are_unique_and_each_row_is_complete() -> None:
    rows = [each for experiments in GROUPS.values() for each in experiments]
    assert len({each.id for each in rows}) == len(rows) >= 40
    for each in rows:
        assert all((each.title, each.why, each.help)), each.id
        assert (each.variants is None) != (each.act is None), each.id
