"""`mcpgen ack`: accept that an overridden operation changed."""

from __future__ import annotations

from pathlib import Path

import typer

from mcpgen.cli.command import command
from mcpgen.cli.exit_codes import ExitCode
from mcpgen.cli.override import Directory, DryRun, Operation, finish
from mcpgen.cli.report import Printer, visible


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ack")(command(ack))


def ack(
    printer: Printer,
    operation: Operation,
    directory: Directory = Path(),
    *,
    dry_run: DryRun = False,
) -> int:
    """Say that the override of an operation is right for what the operation is now."""
    from mcpgen.pipeline.options import GenerateOptions
    from mcpgen.pipeline.take_over import ack as accept

    with printer.progress() as progress:
        report = accept(directory, operation, GenerateOptions(dry_run=dry_run), progress)
    if report.exit_code == ExitCode.DONE:
        what = "is accepted as it is now" if report.written else "did not change; nothing to accept"
        printer.result(f"`{visible(report.operation)}` {what}")
    return finish(printer, report)
