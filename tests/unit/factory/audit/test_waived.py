"""Tests of grades of an audit whose findings are waived."""

from __future__ import annotations

from datetime import date

import pytest

from mcpgen.factory.audit.authorization import Authorization
from mcpgen.factory.audit.findings import VALIDATION, check_audit_waivers, list_findings
from mcpgen.factory.audit.markdown import format_markdown
from mcpgen.factory.audit.parts import has_failed, list_parts
from mcpgen.factory.audit.run import Audit, AuditSettings
from mcpgen.factory.robustness.intensity import INTENSITIES
from mcpgen.factory.validate.report import apply_waivers, compute_scores, list_failed_revisions
from mcpgen.factory.validate.requirements import read_requirements
from mcpgen.factory.validate.run import Result, Validation
from mcpgen.factory.validate.verdicts import Outcome, Verdict
from mcpgen.ir.waivers import Waiver

TODAY = date(2026, 11, 24)
REVISION = "2025-11-25"


def result(rule: str, verdict: Verdict, revision: str = REVISION) -> Result:
    requirement = read_requirements().find(rule)
    assert requirement is not None
    return Result(requirement, revision, "stdio", Outcome(verdict, f"{rule} {verdict.value}"))


def audit_of(*results: Result) -> Audit:
    return Audit(
        target="a server",
        settings=AuditSettings(transports=("stdio",), intensity=INTENSITIES["low"], seed=1),
        secrets=(),
        validation=Validation("a server", list(results)),
        authorization=Authorization(reason="not over HTTP"),
    )


def waive(*rules: str, expires: date = TODAY) -> list[Waiver]:
    return [Waiver("Known.", "@me", expires, rule=rule) for rule in rules]


FAILED = [result("id-echo", Verdict.FAIL), result("jsonrpc-2.0", Verdict.FAIL)]


@pytest.mark.parametrize(
    ("waivers", "grade"),
    [
        ([], "FAIL"),
        (waive("id-echo"), "FAIL"),
        (waive("id-echo", "jsonrpc-2.0"), "WAIVED"),
        (waive("id-echo", "jsonrpc-2.0", expires=date(2026, 11, 23)), "FAIL"),
    ],
)
def test_a_part_whose_errors_are_all_waived_does_not_fail(
    waivers: list[Waiver], grade: str
) -> None:
    audit = audit_of(*FAILED)
    findings = list_findings(audit, waivers, TODAY)
    parts = list_parts(audit, findings)
    protocol = next(part for part in parts if part.id == VALIDATION)
    assert protocol.grade == grade
    assert has_failed(parts) is (grade == "FAIL")
    assert protocol.summary.startswith(f"{REVISION}: 0 over")
    assert "authorization" not in protocol.summary
    shown = format_markdown(audit, parts, findings)
    assert shown.count("**id-echo**") == 1
    assert ("waived until 2026-11-24 by @&#8203;me: Known." in shown) is bool(
        waivers and waivers[0].expires == TODAY
    )


def test_a_revision_without_any_exercised_requirement_fails_in_spite_of_waivers() -> None:
    audit = audit_of(*FAILED, result("id-echo", Verdict.UNTESTED, "2024-11-05"))
    parts = list_parts(audit, list_findings(audit, waive("id-echo", "jsonrpc-2.0"), TODAY))
    assert has_failed(parts)


def test_an_expired_waiver_of_an_audited_rule_is_an_error() -> None:
    waivers = waive("id-echo", "description-length", expires=date(2026, 11, 23))
    (found,) = check_audit_waivers(audit_of(*FAILED), waivers, TODAY)  # lint was not run
    assert (found.code, found.severity.value) == ("waiver-expired", "error")


@pytest.mark.parametrize(
    ("rules", "failed"),
    [((), [REVISION]), (("id-echo",), [REVISION]), (("id-echo", "jsonrpc-2.0"), [])],
)
def test_a_revision_fails_unless_all_its_violations_of_must_are_waived(
    rules: tuple[str, ...], failed: list[str]
) -> None:
    validation = audit_of(*FAILED).validation
    before = compute_scores(validation)
    apply_waivers(validation, waive(*rules), TODAY)
    assert list_failed_revisions(validation) == failed
    assert compute_scores(validation) == before


def test_a_revision_that_was_not_exercised_fails_in_spite_of_waivers() -> None:
    validation = audit_of(result("id-echo", Verdict.UNTESTED)).validation
    apply_waivers(validation, waive("id-echo"), TODAY)
    assert list_failed_revisions(validation) == [REVISION]
