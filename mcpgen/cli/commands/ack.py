"""`mcpgen ack`: accept that an overridden operation changed."""

from __future__ import annotations

from pathlib import Path

from mcpgen.cli.commands.override import finish
from mcpgen.cli.options import Directory, DryRun, Operation
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.pipeline.options import GenerateOptions, Outcome


def ack(
    printer: Printer,
    operation: Operation,
    directory: Directory = Path(),
    *,
    dry_run: DryRun = False,
) -> int:
    """Accept that an overridden operation changed, after a review of its override."""
    from mcpgen.pipeline.commands.override import ack as accept

    with printer.progress() as progress:
        report = accept(directory, operation, GenerateOptions(dry_run=dry_run), progress)
    if report.outcome is Outcome.DONE:
        what = "is accepted as it is now" if report.written else "did not change; nothing to accept"
        printer.result(f"`{visible(report.operation)}` {what}")
    return finish(printer, report)
