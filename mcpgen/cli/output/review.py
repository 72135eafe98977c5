"""Output of reviews, of one server and of a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpgen.cli.app import write_bug_report
from mcpgen.cli.exit_codes import EXIT_CODES, UsageError
from mcpgen.cli.output.report import Printer, format_problem_json
from mcpgen.cli.output.visible import visible
from mcpgen.diagnostics import Severity
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.factory.review.model import Review
    from mcpgen.factory.review.workspace import WorkspaceReview
    from mcpgen.factory.workspace.fleet import ServerResult


def write_markdown(path: Path, text: str) -> None:
    """Write a page of Markdown.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def format_findings(found: Review, folder: str = "") -> list[Mapping[str, Any]]:
    """Return the findings for `--json`; their files are relative to a parent of `folder`."""
    from mcpgen.factory.review.model import relocate

    return [
        {
            **format_problem_json(relocate(it.problem, folder)),
            "part": it.part.value,
            "fails": it.fails,
        }
        for it in found.findings
    ]


def show_review(printer: Printer, found: Review, *, folder: str = "") -> None:
    """Print a review; files of findings are relative to a parent of `folder`."""
    from mcpgen.changelog import Changelog
    from mcpgen.cli.output.summary import show_changes
    from mcpgen.factory.review.model import relocate
    from mcpgen.factory.review.texts import describe_changes, describe_result, list_figures

    if printer.as_json:
        return
    since = f"{found.since} ({found.commit[:12]})" if found.commit else found.since
    printer.result(f"{visible(found.server)}: {describe_changes(found)} since {visible(since)}")
    rows = list_figures(found.before, found.now)
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, before, now, difference in rows:
        cells = f"  {name:<{widths[0]}}  {before:>{widths[1]}} -> {now:>{widths[2]}}  {difference}"
        printer.result(visible(cells.rstrip()))
    show_changes(printer, Changelog(tuple(it.change for it in found.changes)))
    for claim in found.claims:
        printer.result(
            f"  {visible(claim.subject)}: {visible(claim.reason)}; run `{visible(claim.command)}`"
        )
    for reviewed in found.waivers:
        waiver = reviewed.state
        state = "expired" if waiver.is_expired else "until"
        of_tool = f" of {waiver.tool}" if waiver.tool else ""
        word = "new waiver" if reviewed.is_new else "waiver"
        about = f"{word} of {waiver.rule}{of_tool}, {state} {waiver.expires} by {waiver.owner}"
        printer.result(
            visible(f"  {about}: {waiver.reason} ({format_count(waiver.findings, 'finding')})")
        )
    problems = [relocate(it.problem, folder) for it in found.findings]
    shown = [it for it in problems if printer.is_verbose or it.severity is not Severity.NOTE]
    printer.problems(shown)
    if hints := len(problems) - len(shown):
        printer.result(f"{format_count(hints, 'hint')}; --verbose shows them")
    printer.result(describe_result(found))


def show_workspace_review(printer: Printer, found: WorkspaceReview) -> None:
    """Print the reviews of a workspace, and store their JSON."""
    printer.fact(
        workspace=found.root.as_posix(),
        since=found.since,
        commit=found.commit,
        servers=[_collect_facts(it) for it in found.servers],
        unchanged=found.unchanged,
        removed=list(found.removed),
        other_files=found.other_files,
    )
    for result in found.servers:
        printer.problems(result.problems)
        if result.review is None:
            printer.result(f"{visible(result.server)}: {visible(result.summary)}")
        else:
            show_review(printer, result.review, folder=result.server)
        if result.traceback:
            printer.result(f"  the details are in {write_bug_report(result.traceback)}")
    for path in found.removed:
        printer.result(f"{visible(path)}: removed")
    since = f"{found.since} ({found.commit[:12]})" if found.commit else found.since
    changed = format_count(len(found.servers), "changed server")
    printer.result(f"{changed} since {visible(since)}, {found.unchanged:,} unchanged")


def _collect_facts(result: ServerResult) -> dict[str, Any]:
    from mcpgen.factory.review.report import format_facts

    facts = {
        "server": result.server,
        "outcome": result.outcome.value,
        "exit_code": EXIT_CODES[result.outcome],
    }
    if result.review is None:
        return facts
    return {
        **format_facts(result.review),
        **facts,
        "findings": format_findings(result.review, result.server),
    }
