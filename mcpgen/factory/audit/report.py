"""The result of an audit as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mcpgen.factory.audit.authorization import Authorization
from mcpgen.factory.audit.findings import AuditFinding
from mcpgen.factory.audit.parts import Part
from mcpgen.factory.audit.run import Audit
from mcpgen.factory.lint.report import collect_facts
from mcpgen.factory.robustness.run import Robustness
from mcpgen.factory.validate import report
from mcpgen.jsonschema.types import JsonObject


def format_audit(
    audit: Audit, parts: Sequence[Part], findings: Sequence[AuditFinding]
) -> JsonObject:
    """Return the members of the JSON object of `mcpgen audit --json`, but not `outcome`."""
    validation = audit.validation
    made: JsonObject = {
        "target": audit.target,
        "intensity": audit.settings.intensity.name,
        "seed": audit.settings.seed,
        "parts": [_format_part(part) for part in parts],
        "revisions": {
            name: report.format_score(score)
            for name, score in report.compute_scores(validation).items()
        },
        "unsupported": validation.unsupported,
        "authorization": _format_authorization(audit.authorization),
        "lint": None if audit.lint is None else collect_facts(audit.lint, with_matrix=False),
        "robustness": None if audit.robustness is None else _format_robustness(audit.robustness),
        "findings": [_format_finding(finding) for finding in findings],
    }
    redacted: JsonObject = _redact(made, audit.redact)
    return redacted


def _redact(value: Any, redact: Callable[[str], str]) -> Any:
    """Return JSON without secrets, in keys and texts."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _redact(each, redact) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_redact(each, redact) for each in value]
    return value


def _format_part(part: Part) -> JsonObject:
    return {
        "part": part.id,
        "grade": part.grade,
        "summary": part.summary,
        "errors": part.errors,
        "warnings": part.warnings,
        "not_exercised": [{"what": what, "reason": reason} for what, reason in part.gaps],
    }


def _format_finding(finding: AuditFinding) -> JsonObject:
    return {
        "part": finding.part,
        "rule": finding.rule,
        "severity": finding.severity,
        "where": finding.where,
        "message": finding.message,
        "why": finding.why,
        "help": finding.help,
        "section": finding.source,
        "evidence": list(finding.evidence),
        **({"waived": finding.waived.as_json()} if finding.waived else {}),
    }


def _format_authorization(found: Authorization) -> JsonObject:
    return {
        "protected": found.is_protected,
        "facts": [{"name": name, "value": value} for name, value in found.facts],
        "checks": [
            {
                "rule": result.requirement.id,
                "revision": result.revision,
                "verdict": result.outcome.verdict.value,
                "message": result.outcome.message,
            }
            for result in found.results
        ],
    }


def _format_robustness(result: Robustness) -> JsonObject:
    return {
        "messages": result.messages,
        "revisions": result.revisions,
        "tools": result.tools,
        "memory_bytes": result.memory,
        "experiments": [
            {
                "experiment": row.experiment.id,
                "group": row.group,
                "transport": row.transport,
                "messages": row.messages,
                "faults": list(row.faults),
                "not_exercised": row.skipped,
                "applicable": row.is_applicable,
            }
            for row in result.rows
        ],
    }
