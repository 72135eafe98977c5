"""Run of a package's tests and of the mutants that they should detect; records the evidence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.factory.junit import Group, add_to_report
from mcpgen.factory.packages import find_package
from mcpgen.factory.test.live import Live, run_live
from mcpgen.factory.test.mutation.campaign import Campaign, run_campaign
from mcpgen.factory.test.own_tests import Updated, run_own_tests
from mcpgen.factory.test.results import SuiteResult
from mcpgen.factory.test.run import check_packages, parse_selection, run_suite
from mcpgen.pipeline.project.evidence import (
    LIVE,
    TESTS,
    describe_tools,
    is_evidence_current,
    read_evidence,
    show_figures,
    write_evidence,
)
from mcpgen.pipeline.project.read_inputs import read_own_cases

_MOST_FAILURES = 100


class Mutating(Struct, frozen=True):
    """The number of mutants to test, and of parallel jobs."""

    most: int  # 0: all
    jobs: int


class Proof(Struct, frozen=True):
    """The results of the tests and, if requested, of the mutation tests."""

    suite: SuiteResult
    campaign: Campaign | None = None
    problems: Problems = field(default_factory=Problems)  # in the user's files
    updated: tuple[Updated, ...] = ()  # rewritten files

    @property
    def passed(self) -> bool:
        """Whether every test passed and every file could be read."""
        return self.suite.passed and not self.problems.has_errors


def prove(
    target: Path,
    *,
    select: str = "",
    update: bool = False,
    junit: Path | None = None,
    mutating: Mutating | None = None,
    processes: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> Proof:
    """Run the tests of the server at `target`, then mutation tests; store the evidence.

    A run with `select` stores no evidence. `update` rewrites differing expectations in the user's
    files. Many tests are divided over at most `processes`.

    Raises:
        SelectionError: `select` is invalid.
        MissingPackagesError: the tests need a package that is not installed.
        NoPackageError, UnsoundSuiteError: mutation tests are impossible.
        OSError: the evidence cannot be written.
    """
    selected = parse_selection(select)
    problems = Problems()
    cases = read_own_cases(target, problems)
    if problems.has_errors:
        return Proof(SuiteResult(False, "mcpgen.tests.yaml was rejected", ""), problems=problems)
    check_packages(target, also_here=mutating is not None)
    progress("the tests")
    suite = run_suite(target, select=select, junit=junit, processes=processes)
    progress("your test cases")
    own = run_own_tests(
        find_package(target),
        cases.cases if cases else (),
        problems,
        selection=selected,
        update=update,
    )
    for file in own.updated:
        (target / file.path).write_bytes(file.after)
    suite = suite.join(own.groups)
    if junit is not None:
        add_to_report(junit, own.groups)
    campaign = None
    if mutating is not None and suite.passed:
        campaign = run_campaign(target, most=mutating.most, jobs=mutating.jobs, progress=progress)
    if not select and not problems.has_errors:
        _store_evidence(target, suite, campaign)
    return Proof(suite, campaign, problems, own.updated)


def _store_evidence(target: Path, suite: SuiteResult, campaign: Campaign | None) -> None:
    """Store the results; keep the mutation score of an earlier run if nothing changed since."""
    before = read_evidence(target, TESTS)
    mutation = None
    if campaign is not None:
        mutation = collect_campaign_facts(campaign) | describe_tools(target)
    elif before is not None and is_evidence_current(target, before):
        mutation = before.get("mutation")
    result = suite.summary
    if mutation and mutation["score"] is not None:
        result += f"; {mutation['killed']} of {mutation['judged']} faults found"
    evidence: dict[str, Any] = {
        "outcome": "passed" if suite.passed else "failed",
        "result": result,
        "tests": suite.counts,
        "cases": {group.name: group.ran for group in suite.groups if group.is_tool},
    }
    if mutation is not None:
        evidence["mutation"] = mutation
    write_evidence(target, TESTS, evidence)
    show_figures(target)


def prove_live(target: Path, live: Live, *, junit: Path | None = None) -> Proof:
    """Call the real API, or a recording of it; store the evidence of calls of the API.

    A run with chosen tools stores no evidence.

    Raises:
        NoPackageError, CassetteError, OSError: as `run_live`.
    """
    problems = Problems()
    own = read_own_cases(target, problems)
    if problems.has_errors:
        return Proof(SuiteResult(False, "mcpgen.tests.yaml was rejected", ""), problems=problems)
    group = run_live(find_package(target), own.cases if own else (), live)
    if junit is not None:
        junit.unlink(missing_ok=True)
        add_to_report(junit, [group])
    suite = SuiteResult.of((group,))
    if not group.passed and not group.failed:
        suite = replace(suite, passed=False, summary=f"nothing was called; {suite.summary}")
    if live.replay is None and not live.tools:
        write_evidence(target, LIVE, _collect_live_facts(suite, group, live))
    return Proof(suite, problems=problems)


def _collect_live_facts(suite: SuiteResult, group: Group, live: Live) -> dict[str, Any]:
    """Return what `.mcpgen/evidence/live.json` records: names of calls, but no data of the API."""
    return {
        "outcome": "passed" if suite.passed else "failed",
        "result": suite.summary,
        "calls": suite.counts,
        "failed": [name for name, _ in group.failed][:_MOST_FAILURES],
        "with_writes": live.with_writes,
    }


def collect_campaign_facts(campaign: Campaign) -> dict[str, Any]:
    """Return the figures of a campaign and its survivors, for JSON."""
    killed, survived = campaign.those("killed"), campaign.those("survived")
    return {
        "possible": campaign.possible,
        "judged": len(killed) + len(survived),
        "killed": len(killed),
        "killed_by_a_call": sum(verdict.is_call for verdict in killed),
        "equivalent": len(campaign.those("equivalent")),
        "score": None if campaign.score is None else round(campaign.score, 4),
        "survivors": [
            {
                "operator": verdict.mutant.operator,
                "place": verdict.mutant.place,
                "what": verdict.mutant.what,
            }
            for verdict in survived
        ],
    }
