"""Tests that the validator and the official suite agree on everything-mcp, with complete tables."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from mcpgen.factory.validate.requirements import Requirement, read_requirements
from mcpgen.factory.validate.run import Result
from mcpgen.factory.validate.verdicts import Outcome, Verdict
from tests.support.official_suite import SuiteCheck
from tests.validate.agreement.compare import (
    HERE,
    Agreement,
    compare,
    read_checks_table,
    read_decisions,
)
from tests.validate.agreement.examine import examine_both
from tests.validate.agreement.servers import EVERYTHING, SDK_SERVERS, serve_everything

BOTH_PASS = {"2025-06-18": 28, "2025-11-25": 32, "2026-07-28": 77}


@pytest.mark.slow
def test_both_find_nothing_wrong_with_everything_mcp() -> None:
    async def story() -> None:
        async with serve_everything() as url:
            examined = await examine_both(EVERYTHING, url, is_fixture=True)
        found = {
            revision: Counter(it.agreement for it in compared)
            for revision, compared in examined.compared.items()
        }
        assert {revision: it[Agreement.BOTH_PASS] for revision, it in found.items()} == BOTH_PASS
        decided = {Agreement.BOTH_PASS, Agreement.SUITE_ONLY, Agreement.UNDECIDED}
        assert all(counts.keys() <= decided for counts in found.values())
        assert [it for revision in examined.results for it in examined.findings(revision)] == []

    asyncio.run(story())


def result_of(rule: str, verdict: Verdict) -> Result:
    requirement = read_requirements().find(rule)
    assert isinstance(requirement, Requirement)
    return Result(requirement, "2025-11-25", "http", Outcome(verdict))


@pytest.mark.parametrize(
    ("status", "verdict", "agreement"),
    [
        ("SUCCESS", Verdict.PASS, Agreement.BOTH_PASS),
        ("FAILURE", Verdict.FAIL, Agreement.BOTH_FAIL),
        ("WARNING", Verdict.ERROR, Agreement.BOTH_FAIL),
        ("FAILURE", Verdict.PASS, Agreement.SUITE_FAILS),
        ("FAILURE", Verdict.NOT_APPLICABLE, Agreement.SUITE_FAILS),
        ("SUCCESS", Verdict.FAIL, Agreement.VALIDATE_FAILS),
        ("SKIPPED", Verdict.FAIL, Agreement.VALIDATE_FAILS),
        ("SUCCESS", Verdict.UNTESTED, Agreement.UNDECIDED),
        ("SKIPPED", Verdict.PASS, Agreement.UNDECIDED),
    ],
)
def test_results_of_both_are_compared(status: str, verdict: Verdict, agreement: Agreement) -> None:
    (compared,) = compare(
        [SuiteCheck("ping", "ping", status, "")], [result_of("ping-answered", verdict)]
    )
    assert compared.agreement is agreement


def test_a_check_of_no_requirement_is_of_the_suite_only() -> None:
    checks = [SuiteCheck("tools-call-sampling", "tools-call-sampling", "SUCCESS", "")]
    assert [it.agreement for it in compare(checks, [])] == [Agreement.SUITE_ONLY]


def test_what_the_suite_could_not_test_is_no_failure() -> None:
    message = "Not testable: server exposes no tool"
    checks = [SuiteCheck("ping", "ping", "FAILURE", message)]
    (compared,) = compare(checks, [result_of("ping-answered", Verdict.PASS)])
    assert compared.agreement is Agreement.UNDECIDED


def test_one_failure_in_any_scenario_fails_a_check() -> None:
    checks = [SuiteCheck(it, "wire-schema-valid", it, "") for it in ("SUCCESS", "FAILURE")]
    (compared,) = compare(checks, [result_of("frame-schema", Verdict.PASS)])
    assert compared.agreement is Agreement.SUITE_FAILS


def test_the_table_of_checks_names_requirements_or_a_reason() -> None:
    known = {it.id for it in read_requirements().requirement}
    lines = (HERE / "checks.tsv").read_text("utf-8").splitlines()[1:]
    assert [line.split("\t")[0] for line in lines] == sorted(read_checks_table())
    for line in lines:
        check, requirements, remark = line.split("\t")
        assert set(requirements.split()) <= known, check
        assert requirements or remark, check


def test_decisions_are_about_known_checks_requirements_and_servers() -> None:
    decisions = read_decisions()
    known = {it.id for it in read_requirements().requirement}
    assert {it.check for it in decisions.disagreement} <= read_checks_table().keys()
    assert {it.rule for it in decisions.finding} <= known
    named = {name for it in decisions.finding for name in it.servers}
    assert named >= {it.name for it in SDK_SERVERS}
    for server in SDK_SERVERS:
        confirmed = {it.rule for it in decisions.finding if server.name in it.servers}
        assert server.findings.keys() <= confirmed
