"""`mcpgen generate`: bring a server package up to date with its vendored document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mcpgen.cli.options import Diff, Directory, DryRun
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.summary import (
    collect_changelog_facts,
    count_changes,
    describe_cost,
    show_changes,
)
from mcpgen.cli.output.visible import visible
from mcpgen.pipeline.options import GenerateOptions, Outcome, Report
from mcpgen.text.counts import format_count

_YES_NO = {True: "yes", False: "no"}  # as the skeleton's questions are answered


def generate(
    printer: Printer,
    directory: Directory = Path(),
    *,
    dry_run: DryRun = False,
    diff: Diff = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite generated files, even if they were edited.")
    ] = False,
    vendor_runtime: Annotated[
        bool | None,
        typer.Option(
            "--vendor-runtime/--no-vendor-runtime",
            help="Copy the wheel of mcpgen to vendor/, or remove it. Later runs keep the choice.",
        ),
    ] = None,
    code: Annotated[
        bool | None,
        typer.Option(
            "--code/--no-code",
            help="Turn code mode on or off in mcpgen.yaml. Needs `mcpgen[code]`.",
        ),
    ] = None,
) -> int:
    """Update the generated files of a package; your own files and edits are kept.

    `--dry-run` and `--diff` always exit with 0; `mcpgen check` exits with 1 if a package is not
    current.
    """
    from mcpgen.pipeline.commands.generate import generate as generate_package

    answers = {} if vendor_runtime is None else {"vendor_runtime": _YES_NO[vendor_runtime]}
    options = GenerateOptions(dry_run=dry_run, force=force, diff=diff, answers=answers, code=code)
    with printer.progress() as progress:
        report = generate_package(directory, options, progress)
    printer.problems(report.problems)
    printer.fact(
        written=list(report.written),
        deleted=list(report.deleted),
        diffs={change.path: change.diff for change in report.diffs},
        tools=None if report.changelog is None else collect_changelog_facts(report.changelog),
    )
    if diff:
        for change in report.diffs:
            printer.raw(f"{change.diff}\n")
    if report.outcome is Outcome.DONE or report.written:
        _show_changes(printer, report, is_dry_run=dry_run or diff)
    if report.plan is not None and report.plan.search is not None:
        cost = describe_cost(printer, report.plan)
        printer.result(f"{format_count(len(report.plan.tools), 'tool')}; {cost}")
    return printer.finish(report.outcome)


def _show_changes(printer: Printer, report: Report, *, is_dry_run: bool) -> None:
    if not (report.written or report.deleted):
        printer.result("nothing to do: every file is current")
        return
    will = "would be " if is_dry_run else ""
    for done, paths in (("written", report.written), ("deleted", report.deleted)):
        if paths:
            printer.result(f"{format_count(len(paths), 'file')} {will}{done}:")
            for path in paths:
                printer.result(f"  {visible(path)}")
    if report.changelog is not None and report.changelog.changes:
        printer.result(f"{count_changes(report.changelog)} in the tools:")
        show_changes(printer, report.changelog)
