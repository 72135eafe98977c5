"""`mcpgen changelog`: what changed in the tools, graded for those who call them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import Directory, FailOnLevel
from mcpgen.cli.output.report import Printer
from mcpgen.pipeline.options import GenerateOptions, Outcome

if TYPE_CHECKING:
    from mcpgen.changelog import Changelog, Level
    from mcpgen.pipeline.commands.changelog import ChangelogReport


def changelog(
    printer: Printer,
    directory: Directory = Path(),
    *,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="REF|FILE|DIR",
            help="What to compare with: a git revision, the folder of another server, or a"
            " surface.json of an earlier mcpgen. A path on the disk takes precedence over a"
            " revision. By default, HEAD or, outside git, the last result of `generate`.",
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")
    ] = False,
    github: Annotated[
        bool, typer.Option("--github", help="Print annotations for GitHub Actions.")
    ] = False,
    fail_on: FailOnLevel = None,
) -> int:
    """Report what changed in the tools of a package, and the next version to release.

    The report compares the tools that `mcpgen generate` would write now. It does not contain the
    hand-written tools of `handlers/`, whose schemas are known only when their code runs.
    """
    if markdown + github + printer.as_json > 1:
        raise UsageError("--markdown, --github and --json are three forms of one answer")
    from mcpgen.changelog import Level, formats
    from mcpgen.pipeline.commands.changelog import changelog as find_changes

    level = Level[fail_on.name] if fail_on else None
    with printer.progress() as progress:
        report = find_changes(directory, against, GenerateOptions(), progress, fail_on=level)
    printer.problems(report.problems)
    if report.changelog is not None:
        if markdown:
            printer.raw(formats.format_markdown(report.changelog))
        elif github:
            printer.raw(_annotations(report, report.changelog, level))
        else:
            _show(printer, report, report.changelog)
    is_over = report.changelog is not None and report.outcome is Outcome.FINDINGS
    return printer.finish(report.outcome, "over_fail_on" if is_over else "")


def _show(printer: Printer, report: ChangelogReport, changes: Changelog) -> None:
    from mcpgen.cli.output.summary import collect_report_facts, count_changes, show_changes

    printer.fact(**collect_report_facts(report, changes))
    printer.result(f"{count_changes(changes)} in the tools since {report.since}")
    show_changes(printer, changes)
    if report.suggested_version and changes.level:
        printer.result(f"next version: {report.suggested_version} (was {report.version})")


def _annotations(report: ChangelogReport, changes: Changelog, fail_on: Level | None) -> str:
    from mcpgen.changelog import formats
    from mcpgen.cli.output.summary import display_path

    found = sorted(report.target.glob("src/*/_generated/listing.json"))
    return formats.format_github_annotations(
        changes,
        display_path(found[0] if found else report.target),
        found[0].read_bytes() if found else b"",
        fail_on=fail_on,
    )
