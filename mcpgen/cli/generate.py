"""`mcpgen generate`: bring a server package up to date with its vendored document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mcpgen.cli.exit_codes import ExitCode
from mcpgen.cli.report import Printer


def generate(
    printer: Printer,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A package that `mcpgen new` made.")
    ] = Path(),
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show each change as a unified diff.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite generated files that were edited by hand.")
    ] = False,
) -> int:
    """Generate a package again; what you wrote stays as it is."""
    from mcpgen import pipeline

    options = pipeline.GenerateOptions(dry_run=dry_run, force=force)
    with printer.progress() as progress:
        report = pipeline.generate(directory, options, progress)
    printer.problems(report.problems)
    if report.exit_code == ExitCode.DONE:
        printer.result("todo")
    return printer.finish(ExitCode(report.exit_code).outcome, report.exit_code)
