"""The report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcpgen.factory.audit.findings import AuditFinding
from mcpgen.factory.audit.parts import Part
from mcpgen.factory.audit.run import Audit
from mcpgen.factory.audit.tables import list_tables
from mcpgen.text.invisible import escape_comment_line as _escape


def format_markdown(audit: Audit, parts: Sequence[Part], findings: Sequence[AuditFinding]) -> str:
    """Return the report: the summary, then each part with its tables, findings and gaps."""
    settings = audit.settings
    lines = ["# Audit", "", f"Target: {_escape(audit.target)}  "]
    lines.append(f"Intensity {settings.intensity.name}, seed {settings.seed}")
    lines += _format_table(
        ("part", "grade", "errors", "warnings", "summary"),
        [(it.title, it.grade, str(it.errors), str(it.warnings), it.summary) for it in parts],
    )
    tables = list_tables(audit)
    for part in parts:
        lines += ["", f"## {part.title}: {part.grade}"]
        for table in tables:
            if table.part == part.id:
                lines += ["", f"### {_escape(table.caption)}"]
                lines += _format_table(table.heads, table.rows)
        lines += _format_findings([it for it in findings if it.part == part.id])
        if part.gaps:
            lines += ["", "### Not exercised"]
            lines += _format_table(("what", "reason"), part.gaps)
    return "\n".join(lines) + "\n"


def _format_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(map(_escape, row))} |"


def _format_findings(findings: Sequence[AuditFinding]) -> Iterator[str]:
    if findings:
        yield from ("", "### Findings", "")
    for finding in findings:
        source = f"; {finding.source}" if finding.source else ""
        yield (
            f"- **{finding.rule}** ({finding.severity}, {_escape(finding.where)}{source}):"
            f" {_escape(finding.message)}"
        )
        if finding.why:
            yield f"  - why: {_escape(finding.why)}"
        if finding.help:
            yield f"  - help: {_escape(finding.help)}"
        if finding.waived:
            yield f"  - waived {_escape(str(finding.waived))}"
