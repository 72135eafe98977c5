"""`mcpgen audit`: validation, lint, authorization and robustness of any server in one report."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.examined import choose_revisions, choose_transports
from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import (
    AllowWrites,
    Env,
    ExaminedRevision,
    ExaminedTransport,
    Header,
    MarkdownFile,
    Server,
    TokenFrom,
)
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.cli.targets import find_target
from mcpgen.cli.waivers import load_waivers
from mcpgen.diagnostics import Severity
from mcpgen.pipeline.options import Outcome
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.factory.audit.findings import AuditFinding
    from mcpgen.factory.audit.parts import Part
    from mcpgen.factory.audit.run import Audit


class Level(enum.StrEnum):
    """The intensities of a robustness run."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


def audit(
    printer: Printer,
    target: Server = None,
    *,
    intensity: Annotated[
        Level,
        typer.Option(
            help="The most messages of the robustness run over each transport: 250, 800 or 2,500."
        ),
    ] = Level.NORMAL,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Choose other hostile messages; a seed repeats them.")
    ] = 1,
    revision: ExaminedRevision = "all",
    transport: ExaminedTransport = "",
    allow_writes: AllowWrites = False,
    header: Header = None,
    env: Env = None,
    token_from: TokenFrom = "",
    markdown: MarkdownFile = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write one HTML file that loads nothing.",
            rich_help_panel="Reports",
        ),
    ] = None,
) -> int:
    """Examine any MCP server: protocol, authorization, tools, and what hostile messages do to it.

    Each part has a grade of its own. The exit code is 1 if a part failed; warnings do not fail.
    """
    import asyncio

    from mcpgen.factory.audit.findings import check_audit_waivers, list_findings
    from mcpgen.factory.audit.parts import has_failed, list_parts
    from mcpgen.factory.audit.report import format_audit
    from mcpgen.factory.audit.run import AuditSettings
    from mcpgen.factory.audit.run import audit as run_audit
    from mcpgen.factory.lint.settings import choose_settings
    from mcpgen.factory.robustness.intensity import INTENSITIES
    from mcpgen.factory.waivers import current_date

    revisions = choose_revisions(revision)
    found = find_target(target, header=header, env=env, token_from=token_from)
    waivers, today = load_waivers(found.package), current_date()
    settings = AuditSettings(
        transports=choose_transports(found, transport),
        revisions=revisions,
        intensity=INTENSITIES[intensity.value],
        seed=seed,
        allow_writes=allow_writes,
        lint=choose_settings(found.package),
    )
    with printer.progress() as progress:
        result = asyncio.run(run_audit(found, settings, progress))
    findings = list_findings(result, waivers, today)
    parts = list_parts(result, findings)
    _write_reports(result, parts, findings, markdown, html)
    printer.fact(**format_audit(result, parts, findings))
    _show(printer, parts, findings)
    of_waivers = list(check_audit_waivers(result, waivers, today))
    printer.problems(of_waivers)
    if result.validation.trouble_kind:
        _report_trouble(printer, result)
        return printer.finish(Outcome.FINDINGS, result.validation.trouble_kind)
    failed = has_failed(parts) or any(each.severity is Severity.ERROR for each in of_waivers)
    return printer.finish(
        Outcome.FINDINGS if failed else Outcome.DONE, "failed" if failed else "passed"
    )


def _report_trouble(printer: Printer, result: Audit) -> None:
    kind = result.validation.trouble_kind
    printer.error(
        kind,
        visible(result.redact(result.validation.trouble)),
        help="start the server by hand to see why"
        if kind == "unreachable"
        else "give credentials with --token-from or --header to examine the other parts",
    )


def _show(printer: Printer, parts: Sequence[Part], findings: Sequence[AuditFinding]) -> None:
    for part in parts:
        printer.result(f"{part.title:<14} {part.grade:<8} {visible(part.summary)}")
    for finding in findings:
        if finding.severity == "note" and not printer.is_verbose:
            continue
        printer.result()
        printer.result(f"{finding.severity}[{finding.rule}]: {visible(finding.message)}")
        printer.result(f"      in:   {visible(finding.where)}")
        if finding.why:
            printer.result(f"      why:  {visible(finding.why)}")
        if finding.help:
            printer.result(f"      help: {visible(finding.help)}")
        if finding.waived:
            printer.result(f"      waived {visible(str(finding.waived))}")
    _show_gaps(printer, [gap for part in parts for gap in part.gaps])


def _show_gaps(printer: Printer, gaps: Sequence[tuple[str, str]]) -> None:
    if not gaps:
        return
    if not printer.is_verbose:
        printer.result(f"\nnot exercised: {format_count(len(gaps), 'row')}; --verbose lists them")
        return
    printer.result("\nnot exercised:")
    for what, reason in gaps:
        printer.result(f"  {visible(what)}: {visible(reason)}")


def _write_reports(
    result: Audit,
    parts: Sequence[Part],
    findings: Sequence[AuditFinding],
    markdown: Path | None,
    html: Path | None,
) -> None:
    """Write the reports that were asked for.

    Raises:
        UsageError: a file cannot be written.
    """
    from mcpgen.factory.audit.html import format_html
    from mcpgen.factory.audit.markdown import format_markdown

    try:
        for path, format_report in ((markdown, format_markdown), (html, format_html)):
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                text = format_report(result, parts, findings)
                path.write_text(text, "utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"cannot write `{error.filename}`: {error.strerror}") from None
