"""The findings of all parts of an audit in one form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Severity
from mcpgen.factory.audit.authorization import concerns_authorization
from mcpgen.factory.audit.run import Audit
from mcpgen.factory.lint.report import group_diagnostics
from mcpgen.factory.robustness.faults import Finding as RobustnessFinding
from mcpgen.factory.validate.report import severity
from mcpgen.factory.validate.run import Result
from mcpgen.factory.validate.verdicts import Verdict

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


def list_findings(audit: Audit) -> list[AuditFinding]:
    """Return all findings, the worst of each part first."""
    results = [it for it in audit.validation.results if not concerns_authorization(it)]
    found = [
        *_list_violations(VALIDATION, results),
        *_list_violations(AUTHORIZATION, audit.authorization.results),
        *_list_lint(audit),
        *(map(_format_fault, audit.robustness.findings) if audit.robustness else ()),
    ]
    parts = (VALIDATION, AUTHORIZATION, LINT, ROBUSTNESS)
    safe = [replace(it, message=audit.redact(it.message)) for it in found]
    return sorted(safe, key=lambda it: (parts.index(it.part), _RANKS.index(it.severity)))


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


def _list_lint(audit: Audit) -> Iterator[AuditFinding]:
    for problem in group_diagnostics(audit.lint.findings) if audit.lint is not None else ():
        place = problem.at
        yield AuditFinding(
            part=LINT,
            rule=problem.code,
            severity=Severity(problem.severity).value,
            message=problem.message,
            where=f"{place.file}:{place.line}" if place is not None else "tools/list",
            why=problem.why,
            help=problem.help,
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
