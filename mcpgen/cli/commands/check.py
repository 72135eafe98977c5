"""`mcpgen check`: is a server package current, compared with its document and this mcpgen?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mcpgen.cli.options import Directory
from mcpgen.cli.output.report import Printer
from mcpgen.pipeline.options import Outcome


def check(
    printer: Printer,
    directory: Directory = Path(),
    *,
    ignore_toolchain: Annotated[
        bool,
        typer.Option(
            "--ignore-toolchain", help="Accept other versions of ruff and of the model generator."
        ),
    ] = False,
) -> int:
    """Check that a package is current, unedited and can be loaded; write nothing."""
    from mcpgen.pipeline.commands.check import check as check_package

    report = check_package(directory, ignore_toolchain=ignore_toolchain)
    printer.problems(report.problems)
    if report.outcome is Outcome.DONE:
        printer.result("current: no generated file was edited, and nothing has to be generated")
    return printer.finish(report.outcome)
