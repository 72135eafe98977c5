"""`mcpgen eject`: take the generated body of an operation over into `handlers/`."""

from __future__ import annotations

from pathlib import Path

from mcpgen.cli.commands.override import run_override
from mcpgen.cli.options import Directory, DryRun, Operation
from mcpgen.cli.output.report import Printer


def eject(
    printer: Printer,
    operation: Operation,
    directory: Directory = Path(),
    *,
    dry_run: DryRun = False,
) -> int:
    """Copy the generated body of a tool into `handlers/`, where you own it.

    `mcpgen check` reports when the generated body changes.
    """
    return run_override(printer, operation, directory, is_dry_run=dry_run, replaces=True)
