"""The results of lint as diagnostics and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from msgspec.structs import replace

from mcpgen.diagnostics import Diagnostic, Severity
from mcpgen.factory.lint.findings import RULES, Finding
from mcpgen.factory.lint.glama import ToolGrade, format_grade_json
from mcpgen.factory.lint.matrix import Matrix, find_worst, format_matrix_json
from mcpgen.factory.lint.run import Report
from mcpgen.factory.lint.settings import Settings
from mcpgen.factory.tool_costs import format_cost_json
from mcpgen.factory.waivers import find_waiver
from mcpgen.ir.waivers import Waiver
from mcpgen.text.prose import shorten

_SHOWN = 3  # of equal findings of different tools
_MOST_RECORDED = 500  # findings in evidence
_MAX_RECORDED_TEXT = 300  # characters


def apply_waivers(report: Report, waivers: Sequence[Waiver], today: date) -> Report:
    """Mark the findings that a waiver accepts today."""
    findings = tuple(
        replace(each, waived=find_waiver(waivers, (each.rule, each.tool), today))
        for each in report.findings
    )
    return replace(report, findings=findings)


def list_diagnostics(findings: Sequence[Finding]) -> list[Diagnostic]:
    """Return one diagnostic for each finding."""
    return [finding.as_diagnostic() for finding in findings]


def group_diagnostics(findings: Sequence[Finding]) -> Iterator[Diagnostic]:
    """Yield one diagnostic for equal findings of several tools, in the same order."""
    groups: dict[tuple[str, str, str, str], list[Finding]] = {}
    for number, finding in enumerate(findings):
        key = finding.detail or f"\0{number}"
        waived = str(finding.waived or "")
        groups.setdefault((finding.severity.value, finding.rule, key, waived), []).append(finding)
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
    """Return the facts for `--json` in addition to the findings."""
    grades = {grade.name: grade for grade in report.grade.tools} if report.grade else {}
    tools = [
        {
            **format_cost_json(cost),
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
    """Return what `.mcpgen/evidence/lint.json` records of a run, without waivers.

    Readers apply the waivers that hold when they read it. The findings, worst first, are bounded in
    number and length, and name no files. `client_effects` has all known clients, also those that
    are no targets.
    """
    counts = Counter(finding.severity.value for finding in report.findings)
    rules = Counter(finding.rule for finding in report.findings)
    has_failed = any(each.severity is not Severity.NOTE for each in report.findings)
    return {
        "outcome": "failed" if has_failed else "passed",
        "result": ", ".join(
            f"{count} {name}{'' if count == 1 else 's'}"
            for name in map(str, Severity)
            if (count := counts[name])
        )
        or "no findings",
        "counts": dict(sorted(counts.items())),
        "findings": [_format_finding_json(finding) for finding in report.findings[:_MOST_RECORDED]],
        "more_findings": max(0, len(report.findings) - _MOST_RECORDED),
        "rules": dict(sorted(rules.items())),
        "portable": settings.is_portable,
        "clients": sorted(settings.clients),
        "client_effects": {
            client.id: _summarize_client(report.matrix, client.id)
            for client in report.matrix.clients
        },
        "tools_listed": len(report.listing.tools),
        "token_cost": report.listing.token_cost,
        "budget": settings.budget,
    }


def _format_finding_json(finding: Finding) -> dict[str, str]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "tool": finding.tool,
        "message": shorten(finding.message, _MAX_RECORDED_TEXT),
        "help": shorten(finding.help or RULES[finding.rule].help, _MAX_RECORDED_TEXT),
    }


def _summarize_client(matrix: Matrix, client: str) -> dict[str, Any]:
    """Return the worst effect, the number of affected tools, and a line per exceeded limit."""
    cells = {tool: matrix.cell(tool, client) for tool in matrix.tools}
    excesses = [excess for cell in cells.values() for excess in cell.excesses]
    counts = Counter(excess.limit.id for excess in excesses)
    first = {excess.limit.id: excess for excess in reversed(excesses)}
    limits = [
        f"{first[limit].limit.effect}: {first[limit].message}"
        + (f" and {count - 1:,} more" if count > 1 else "")
        for limit, count in counts.items()
    ]
    return {
        "effect": find_worst(excesses) if excesses else "ok",
        "tools": sum(bool(cell.excesses) for tool, cell in cells.items() if tool),
        "limits": [shorten(line, _MAX_RECORDED_TEXT) for line in limits],
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
