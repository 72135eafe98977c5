"""`mcpgen status`: the stages of a server, from its evidence."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import Directory, Strict
from mcpgen.cli.output.report import Printer
from mcpgen.ir.file_set import LOCK_FILE, MANIFEST_FILE
from mcpgen.pipeline.options import Outcome


def status(printer: Printer, directory: Directory = Path(), *, strict: Strict = False) -> int:
    """Show how far a package has come, what is stale, and the next command.

    Everything follows from the files of the package and `.mcpgen/evidence`: nothing is run, fetched
    or written.
    """
    import msgspec
    from msgspec.structs import replace

    from mcpgen.cli.output.status_table import show_server
    from mcpgen.factory.status.examine import examine_server, is_in_order
    from mcpgen.pipeline.project.evidence import format_time

    if not any((directory / name).is_file() for name in (LOCK_FILE, MANIFEST_FILE)):
        raise UsageError(
            f"{directory} is not an mcpgen project: it has no {LOCK_FILE}",
            help="give the folder of a package; `mcpgen ws status` is for a workspace",
        )
    now = datetime.now(UTC)
    found = examine_server(directory, directory.as_posix(), (), now)
    found = replace(found, server=directory.resolve().name)
    printer.fact(now=format_time(now), server=msgspec.to_builtins(found))
    show_server(printer, found, now)
    is_fine = is_in_order(found, is_strict=strict)
    return printer.finish(Outcome.DONE if is_fine else Outcome.FINDINGS)
