"""The results of lint as diagnostics and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from mcpgen.diagnostics import Diagnostic, Severity
from mcpgen.factory.lint.findings import Finding
from mcpgen.factory.lint.glama import ToolGrade, format_grade_json
from mcpgen.factory.lint.matrix import format_matrix_json
from mcpgen.factory.lint.run import Report
from mcpgen.factory.lint.settings import Settings

_SHOWN = 3  # of equal findings of different tools


def list_diagnostics(findings: Sequence[Finding]) -> list[Diagnostic]:
    """Return one diagnostic for each finding."""
    return [finding.as_diagnostic() for finding in findings]


def group_diagnostics(findings: Sequence[Finding]) -> Iterator[Diagnostic]:
    """Yield one diagnostic for findings that say the same of several tools, in the same order."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for number, finding in enumerate(findings):
        key = finding.detail or f"\0{number}"
        groups.setdefault((finding.severity.value, finding.rule, key), []).append(finding)
    for group in groups.values():
        first = group[0].as_diagnostic()
        if len(group) == 1:
            yield first
            continue
        others = list(dict.fromkeys(each.tool for each in group if each.tool != group[0].tool))
        shown = ", ".join(f"`{name}`" for name in others[:_SHOWN])
        more = f" and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
        also = f"; also {shown}{more}" if others else ""
        again = len(group) - 1
        times = f" ({again:,} more of this kind{also})"
        yield replace(first, message=first.message + times)


def collect_facts(report: Report, *, with_matrix: bool) -> dict[str, Any]:
    """Return what `--json` has beside the findings."""
    grades = {grade.name: grade for grade in report.grade.tools} if report.grade else {}
    tools = [
        {
            "name": cost.name,
            "tokens": cost.tokens,
            "input_schema_tokens": cost.input_schema,
            "output_schema_tokens": cost.output_schema,
            "glama": _format_tool_grade(grades[cost.name]),
        }
        for cost in report.costs
    ]
    facts: dict[str, Any] = {
        "server": report.listing.server,
        "tools": tools,
        "token_cost": report.listing.token_cost,
        "glama": None if report.grade is None else format_grade_json(report.grade),
        "clients": [_format_clients(finding) for finding in report.findings if finding.clients],
    }
    if with_matrix:
        facts["matrix"] = format_matrix_json(report.matrix)
    return facts


def collect_evidence(report: Report, settings: Settings) -> dict[str, Any]:
    """Return what `.mcpgen/evidence/lint.json` records of a run."""
    counts = Counter(finding.severity.value for finding in report.findings)
    rules = Counter(finding.rule for finding in report.findings)
    return {
        "outcome": "failed" if report.has_findings else "passed",
        "result": ", ".join(
            f"{count} {name}{'' if count == 1 else 's'}"
            for name in map(str, Severity)
            if (count := counts[name])
        )
        or "no findings",
        "findings": dict(sorted(counts.items())),
        "rules": dict(sorted(rules.items())),
        "portable": settings.is_portable,
        "clients": sorted(settings.clients),
        "token_cost": report.listing.token_cost,
        "budget": settings.budget,
    }


def _format_clients(finding: Finding) -> dict[str, Any]:
    """Return the clients that a finding concerns, with their limits."""
    return {
        "rule": finding.rule,
        "tool": finding.tool,
        "message": finding.message,
        "limits": [
            {
                "row": f"{each.client}/{each.limit.id}",
                "effect": each.limit.effect,
                "source": each.limit.source,
                "verified": each.limit.verified,
            }
            for each in finding.clients
        ],
    }


def _format_tool_grade(grade: ToolGrade) -> dict[str, Any]:
    signals = grade.signals
    return {
        "tier": grade.tier,
        "highest": grade.highest,
        "flags": list(grade.flags),
        "signals": {
            "paramCount": signals.parameters,
            "requiredParamCount": signals.required_parameters,
            "schemaDescriptionCoverage": signals.description_coverage,
            "requiredFieldCount": signals.required_fields,
            "schemaDepth": signals.schema_depth,
            "unionChoiceCount": signals.union_choices,
            "invocationCost": signals.invocation_cost,
            "hasOutputSchema": signals.has_output_schema,
            "hasAnnotations": signals.has_annotations,
            "titleIsMeaningful": signals.title_is_meaningful,
            "inputHash": signals.input_hash,
        },
    }
