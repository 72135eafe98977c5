"""Choices, confirmation and reports of the commands that edit the files of MCP clients."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.completion_values import list_clients
from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.diagnostics import Diagnostic, Location, Severity, did_you_mean
from mcpgen.pipeline.options import Outcome

if TYPE_CHECKING:
    from mcpgen.factory.clients.install import Change, Installer, RejectedFileError
    from mcpgen.factory.clients.records import Records
    from mcpgen.factory.clients.registry import InstallClient

Clients = Annotated[
    str,
    typer.Option(
        "--client",
        metavar="A,B",
        help="The clients, by id; `mcpgen list` has them.",
        autocompletion=list_clients,
    ),
]


class ScopeName(enum.StrEnum):
    """Scope of the edited file."""

    USER = "user"
    PROJECT = "project"


ScopeOption = Annotated[
    ScopeName,
    typer.Option("--scope", help="The file of the user, or of the project in this folder."),
]


def choose_clients(names: str, *, all_detected: bool) -> list[InstallClient]:
    """Return the clients that options name.

    Raises:
        UsageError: one is unknown.
    """
    from mcpgen.factory.clients.registry import read_install_clients

    known = read_install_clients()
    chosen: dict[str, InstallClient] = {}
    if all_detected:
        chosen |= {each.id: each for each in known.values() if each.is_detected}
    for name in filter(None, (part.strip() for part in names.split(","))):
        if name not in known:
            hint = did_you_mean(name, [*known], f"one of {', '.join(known)}")
            raise UsageError(f"unknown client `{name}`", help=hint)
        chosen[name] = known[name]
    return [*chosen.values()]


def read_records() -> Records:
    """Return the records of what mcpgen installed.

    Raises:
        UsageError: they cannot be read.
    """
    from mcpgen.factory.clients.records import Records, RecordsError

    try:
        return Records()
    except RecordsError as error:
        raise UsageError(str(error), help="make the file readable, or delete it") from None


def open_records() -> Installer:
    """Return an installer for the current folder.

    Raises:
        UsageError: the records cannot be read.
    """
    from mcpgen.factory.clients.install import Installer

    return Installer(read_records(), Path.cwd())


def report_rejected(printer: Printer, error: RejectedFileError) -> Outcome:
    """Report a file that was left as it is, with the entry to add by hand."""
    at = Location(str(error.path), error.line, error.column) if error.line else None
    where = "" if at else f"{error.path}: "
    printer.problems(
        [
            Diagnostic(
                "client-file",
                Severity.ERROR,
                visible(f"{where}{error}"),
                at,
                "a file that cannot be read is never changed",
                "mend the file, or add this entry by hand" if error.snippet else "mend the file",
            )
        ]
    )
    if error.snippet:
        printer.fact(snippet=error.snippet)
        printer.raw(error.snippet)
    return Outcome.REJECTED


def confirm_and_write(
    printer: Printer, installer: Installer, outcome: Outcome, *, dry_run: bool, yes: bool
) -> int:
    """Show the changes, ask on a terminal, and write them.

    Nothing is written if a part of the command failed.
    """
    changes = installer.changes
    written = outcome is Outcome.DONE and not dry_run
    printer.fact(changes=[_describe(change) for change in changes], written=False)
    if outcome is not Outcome.DONE:
        if changes:
            printer.result("nothing was written")
        return printer.finish(outcome)
    for change in changes:
        if change.link is not None:
            printer.note("link", visible(f"{change.link} is a link to {change.path}"))
        if dry_run or printer.can_ask:
            printer.raw(change.diff())
    if changes and written and printer.can_ask and not yes:
        from mcpgen.cli.questions import confirm_write

        if not confirm_write():
            printer.result("nothing was written")
            return printer.finish(Outcome.DONE, "declined")
    if written:
        outcome = _write(printer, installer)
        if outcome is not Outcome.DONE:
            return printer.finish(outcome)
        printer.fact(written=True)
    if not changes:
        printer.result("nothing to change")
    for change in changes:
        _show(printer, change, written=written)
    return printer.finish(outcome)


def _write(printer: Printer, installer: Installer) -> Outcome:
    from mcpgen.factory.clients.install import ChangedSinceError
    from mcpgen.factory.clients.records import RecordsError

    try:
        installer.write()
    except ChangedSinceError as error:
        printer.error(
            "changed-since",
            visible(f"{error} was changed meanwhile"),
            why="its changes would be lost",
            help="run the command again",
        )
        return Outcome.CONFLICT
    except RecordsError as error:
        printer.error("records", visible(str(error)), why="without them, nothing can be undone")
        return Outcome.FINDINGS
    except OSError as error:
        printer.error(
            "client-file",
            visible(f"cannot write {error.filename}: {error.strerror}"),
            help="`mcpgen add --undo` restores what was written before",
        )
        return Outcome.FINDINGS
    return Outcome.DONE


def _describe(change: Change) -> dict[str, object]:
    return {
        "file": str(change.link or change.path),
        "clients": [*dict.fromkeys(each.id for each in change.clients)],
        "deleted": change.after is None,
        "diff": change.diff(),
        "environment": [*dict.fromkeys(change.variables)],
    }


def _show(printer: Printer, change: Change, *, written: bool) -> None:
    path = visible(shorten_path(change.link or change.path))
    done = "deleted" if change.after is None else "wrote"
    printer.result(f"{done if written else 'would change'} {path}")
    for variable in dict.fromkeys(change.variables):
        printer.result(f"  set {variable} in the environment of the client")
    for client in {each.id: each for each in change.clients}.values():
        printer.result(f"  {client.title}: {client.after}")


def shorten_path(path: Path) -> str:
    """Return a path relative to the current folder or to the home folder, if it is in one."""
    for folder, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(folder):
            return f"{prefix}{path.relative_to(folder).as_posix()}"
    return str(path)


def undo_last(printer: Printer) -> int:
    """Restore the files of the last command that wrote some."""
    from mcpgen.factory.clients.install import ChangedSinceError, undo
    from mcpgen.factory.clients.records import RecordsError

    try:
        restored = undo(read_records())
    except ChangedSinceError as error:
        printer.error(
            "changed-since",
            visible(f"{error} was changed since"),
            why="its changes would be lost",
            help="`mcpgen remove NAME` removes the entry alone",
        )
        return printer.finish(Outcome.CONFLICT)
    except (RecordsError, OSError) as error:
        printer.error("client-file", visible(str(error)))
        return printer.finish(Outcome.FINDINGS)
    printer.fact(restored=[str(path) for path in restored])
    for path in restored:
        printer.result(f"restored {visible(shorten_path(path))}")
    if not restored:
        printer.result("nothing to undo")
    return printer.finish(Outcome.DONE)
