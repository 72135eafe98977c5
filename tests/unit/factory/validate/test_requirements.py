"""Tests that the requirement table is complete, and that each row has a check."""

from __future__ import annotations

import csv
from functools import cache

import pytest

from mcpgen.factory.validate.checks.table import ACTIVE, PASSIVE
from mcpgen.factory.validate.requirements import Requirement, read_requirements
from mcpgen.factory.wire.session import REVISIONS
from tests.support import frame_schemas
from tests.support.mcp_schemas import ARE_THERE
from tests.support.paths import REPOSITORY

TABLE = read_requirements()
# Rows that `mcpgen validate` does not examine yet.
OF_EXTENSIONS = ("Skills extension: ", "Tasks extension: ")
# The text of these rows names more revisions than the columns of the list do.
WIDER_THAN_THEIR_ROWS = {
    "elicitation-shape",  # 2025-06-18 has the message and the schema already
    "sampling-tools",  # 2026-07-28 has it in a row about more, which is not observable
    "tool-errors-in-results",  # "prose, all revisions"
    "unknown-tool-code",  # "prose, all revisions"
}


@cache
def rows() -> dict[str, dict[str, str]]:
    path = REPOSITORY / "tests" / "protocol" / "requirements.tsv"
    with path.open(encoding="utf-8", newline="") as file:
        found = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["id"]: row for row in found if not row["section"].startswith(OF_EXTENSIONS)}


def test_ids_are_unique() -> None:
    ids = [requirement.id for requirement in TABLE.requirement]
    assert sorted(set(ids)) == sorted(ids)


def test_every_requirement_has_one_check_and_every_check_a_requirement() -> None:
    ids = {requirement.id for requirement in TABLE.requirement}
    assert ids == ACTIVE.keys() | PASSIVE.keys()
    assert not ACTIVE.keys() & PASSIVE.keys()


def test_every_row_is_covered_or_has_a_reason() -> None:
    covered = {row for requirement in TABLE.requirement for row in requirement.rows}
    assert rows().keys() - covered - TABLE.unobservable.keys() == set()
    assert covered & TABLE.unobservable.keys() == set()
    assert (covered | TABLE.unobservable.keys()) - rows().keys() == set()


@pytest.mark.parametrize("requirement", TABLE.requirement, ids=lambda it: it.id)
def test_a_requirement_applies_in_revisions_of_its_rows(requirement: Requirement) -> None:
    assert requirement.since in REVISIONS
    assert requirement.until in REVISIONS
    assert requirement.since <= requirement.until
    found = [rows()[row] for row in requirement.rows]
    for row in found:
        assert requirement.since <= row["until"], row["id"]
        assert row["since"] <= requirement.until, row["id"]
    if found and requirement.id not in WIDER_THAN_THEIR_ROWS:
        assert min(row["since"] for row in found) <= requirement.since
        assert requirement.until <= max(row["until"] for row in found)


@pytest.mark.parametrize("requirement", TABLE.requirement, ids=lambda it: it.id)
def test_a_requirement_of_must_covers_a_row_of_must(requirement: Requirement) -> None:
    levels = {rows()[row]["level"] for row in requirement.rows}
    if requirement.level == "must":
        assert "MUST" in levels


@pytest.mark.parametrize("requirement", TABLE.requirement, ids=lambda it: it.id)
def test_texts_of_a_requirement_are_complete(requirement: Requirement) -> None:
    assert requirement.requirement.endswith(".")
    assert requirement.why
    assert requirement.help
    assert requirement.section
    assert not requirement.why.endswith(".")


@pytest.mark.parametrize("revision", REVISIONS)
def test_frame_schemas_have_the_structure_of_the_published_ones(revision: str) -> None:
    if not ARE_THERE:
        pytest.skip("no ../shared/mcp-schema to compare with")
    written = (frame_schemas.WRITTEN / f"{revision}.json").read_text("utf-8")
    assert written == frame_schemas.build(revision)
