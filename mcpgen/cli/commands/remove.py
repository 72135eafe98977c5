"""`mcpgen remove`: remove servers from the configuration files of MCP clients."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpgen.cli.client_files import (
    Clients,
    ScopeName,
    ScopeOption,
    choose_clients,
    confirm_and_write,
    open_records,
    report_rejected,
)
from mcpgen.cli.options import DryRun, Yes
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.pipeline.options import Outcome, worst


def remove(
    printer: Printer,
    names: Annotated[
        list[str], typer.Argument(metavar="NAME…", help="The names of servers in their clients.")
    ],
    *,
    client: Clients = "",
    scope: ScopeOption = ScopeName.USER,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Remove servers that mcpgen added to MCP clients: from all, or from those with --client."""
    from mcpgen.factory.clients.install import RejectedFileError
    from mcpgen.factory.clients.registry import read_install_clients

    clients = choose_clients(client, all_detected=False) or [*read_install_clients().values()]
    installer = open_records()
    outcome = Outcome.DONE
    for name in names:
        found = False
        for each in clients:
            try:
                found |= installer.remove(name, each, scope.value) is not None
            except RejectedFileError as error:
                found = True
                outcome = worst([outcome, report_rejected(printer, error)])
        if not found:
            printer.error(
                "unknown-server",
                visible(f"mcpgen added no server `{name}` to the files of the {scope.value}"),
                help="`mcpgen list` shows the servers of all clients",
            )
            outcome = worst([outcome, Outcome.USAGE])
    return confirm_and_write(printer, installer, outcome, dry_run=dry_run, yes=yes)
