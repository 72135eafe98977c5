"""`mcpgen override`: start an override of an operation in `handlers/`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcpgen.cli.options import Directory, DryRun, Operation
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.pipeline.options import GenerateOptions, Outcome

if TYPE_CHECKING:
    from mcpgen.pipeline.commands.override import OverrideReport


def override(
    printer: Printer,
    operation: Operation,
    directory: Directory = Path(),
    *,
    dry_run: DryRun = False,
) -> int:
    """Write a function in `handlers/` that wraps the generated call of a tool, for you to change.

    It is added to the end of `handlers/<tag>.py`. If the generated handler was edited by hand, its
    body is used.
    """
    return run_override(printer, operation, directory, is_dry_run=dry_run, replaces=False)


def run_override(
    printer: Printer, operation: str, directory: Path, *, is_dry_run: bool, replaces: bool
) -> int:
    """Write an override, with `replaces` as a copy of the generated body."""
    from mcpgen.pipeline.commands.override import override as write_override

    options = GenerateOptions(dry_run=is_dry_run)
    with printer.progress() as progress:
        report = write_override(directory, operation, options, progress, replaces=replaces)
    if report.outcome is Outcome.DONE:
        _show(printer, report, is_dry_run=is_dry_run)
    return finish(printer, report)


def _show(printer: Printer, report: OverrideReport, *, is_dry_run: bool) -> None:
    if report.at is not None:
        printer.result(f"`{visible(report.operation)}` is already overridden at {report.at}")
        return
    will = "would be " if is_dry_run else ""
    printer.result(f"{visible(report.function)} {will}written:\n")
    printer.raw(report.text)


def finish(printer: Printer, report: OverrideReport) -> int:
    """Print the problems and facts of a run, and return its exit code."""
    printer.problems(report.problems)
    printer.fact(
        operation=report.operation,
        function=report.function,
        exists=report.at is not None,
        written=list(report.written),
    )
    return printer.finish(report.outcome)
