"""The findings of all parts of an audit in one form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Acceptance, Diagnostic, Severity
from mcpgen.factory.audit.authorization import concerns_authorization
from mcpgen.factory.audit.run import Audit
from mcpgen.factory.lint.findings import RULES
from mcpgen.factory.lint.report import apply_waivers, group_diagnostics
from mcpgen.factory.robustness.faults import FAULTS
from mcpgen.factory.robustness.faults import Finding as RobustnessFinding
from mcpgen.factory.validate.report import severity
from mcpgen.factory.validate.run import Result
from mcpgen.factory.validate.verdicts import Verdict
from mcpgen.factory.waivers import check_waivers, find_waiver
from mcpgen.ir.waivers import Waiver

VALIDATION: Final = "validation"
AUTHORIZATION: Final = "authorization"
LINT: Final = "lint"
ROBUSTNESS: Final = "robustness"
_FAILED: Final = frozenset({Verdict.FAIL, Verdict.ERROR})
_RANKS: Final = ("error", "warning", "note")


class AuditFinding(Struct, frozen=True, kw_only=True):
    """One finding of any part; texts of the server are not escaped."""

    part: str
    rule: str
    severity: str  # "error", "warning" or "note"
    message: str
    where: str  # "2025-11-25 stdio", a tool, an experiment
    why: str = ""
    help: str = ""
    source: str = ""  # section of the specification
    evidence: Sequence[Mapping[str, object]] = ()
    waived: Acceptance | None = None


def list_findings(
    audit: Audit, waivers: Sequence[Waiver] = (), today: date = date.min
) -> list[AuditFinding]:
    """Return all findings, the worst of each part first, marked if they are waived today."""
    results = [it for it in audit.validation.results if not concerns_authorization(it)]
    found = [
        *_list_violations(VALIDATION, results),
        *_list_violations(AUTHORIZATION, audit.authorization.results),
        *(map(_format_fault, audit.robustness.findings) if audit.robustness else ()),
    ]
    found = [replace(it, waived=find_waiver(waivers, (it.rule, ""), today)) for it in found]
    found += _list_lint(audit, waivers, today)
    parts = (VALIDATION, AUTHORIZATION, LINT, ROBUSTNESS)
    safe = [replace(it, message=audit.redact(it.message)) for it in found]
    return sorted(safe, key=lambda it: (parts.index(it.part), _RANKS.index(it.severity)))


def check_audit_waivers(
    audit: Audit, waivers: Sequence[Waiver], today: date
) -> Iterator[Diagnostic]:
    """Yield the problems of the waivers whose rules the audit checked."""
    results = [*audit.validation.results, *audit.authorization.results]
    rules = {it.requirement.id for it in results}
    subjects = [(it.requirement.id, "") for it in results if it.outcome.verdict in _FAILED]
    if audit.lint is not None:
        rules |= RULES.keys()
        subjects += [(it.rule, it.tool) for it in audit.lint.findings]
    if audit.robustness is not None:
        rules |= FAULTS.keys()
        subjects += [(it.fault.id, "") for it in audit.robustness.findings]
    yield from check_waivers(waivers, subjects, rules, today)


def _list_violations(part: str, results: Iterable[Result]) -> Iterator[AuditFinding]:
    """Yield failed requirements, those with the same message as one."""
    joined: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if result.outcome.verdict in _FAILED:
            joined.setdefault((result.requirement.id, result.outcome.message), []).append(result)
    for (rule, message), group in joined.items():
        requirement = group[0].requirement
        yield AuditFinding(
            part=part,
            rule=rule,
            severity=severity(requirement),
            message=message,
            where=", ".join(sorted(f"{it.revision} {it.transport}" for it in group)),
            why=requirement.why,
            help=requirement.help,
            source=requirement.section,
            evidence=group[0].evidence,
        )


def _list_lint(audit: Audit, waivers: Sequence[Waiver], today: date) -> Iterator[AuditFinding]:
    if audit.lint is None:
        return
    for problem in group_diagnostics(apply_waivers(audit.lint, waivers, today).findings):
        place = problem.at
        yield AuditFinding(
            part=LINT,
            rule=problem.code,
            severity=Severity(problem.severity).value,
            message=problem.message,
            where=f"{place.file}:{place.line}" if place is not None else "tools/list",
            why=problem.why,
            help=problem.help,
            waived=problem.waived,
        )


def _format_fault(finding: RobustnessFinding) -> AuditFinding:
    more = f" ({finding.times - 1} more of this kind)" if finding.times > 1 else ""
    return AuditFinding(
        part=ROBUSTNESS,
        rule=finding.fault.id,
        severity=finding.fault.severity,
        message=f"{finding.message}{more}",
        where=f"{finding.experiment} {finding.transport}",
        why=finding.fault.why,
        help=finding.fault.help,
        evidence=finding.evidence,
    )
