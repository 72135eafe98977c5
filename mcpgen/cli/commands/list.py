"""`mcpgen list`: the servers in the configuration files of MCP clients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mcpgen.cli.client_files import Clients, choose_clients, read_records, report_rejected
from mcpgen.cli.options import command
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.pipeline.options import Outcome, worst


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(command(list_installed))


def list_installed(
    printer: Printer,
    *,
    client: Clients = "",
    known: Annotated[
        bool, typer.Option("--clients", help="List the clients that mcpgen knows instead.")
    ] = False,
) -> int:
    """List the servers of MCP clients on this machine and in this folder."""
    from mcpgen.factory.clients.install import RejectedFileError, describe_entry, list_servers

    clients = choose_clients(client, all_detected=False)
    if known:
        return _list_clients(printer)
    outcome = Outcome.DONE
    facts = []
    for found in list_servers(read_records(), Path.cwd(), clients):
        if isinstance(found, RejectedFileError):
            outcome = worst([outcome, report_rejected(printer, found)])
            continue
        facts.append(
            {
                "client": found.client.id,
                "scope": found.scope,
                "file": str(found.path),
                "name": found.name,
                "server": describe_entry(found.entry),
                "added_by_mcpgen": found.is_ours,
            }
        )
        mark = "*" if found.is_ours else " "
        where = f"{found.client.id} ({found.scope})"
        line = f"{mark} {where:<26} {found.name:<24} {describe_entry(found.entry)}"
        printer.result(visible(line))
    printer.fact(servers=facts)
    if any(fact["added_by_mcpgen"] for fact in facts):
        printer.result("* added by mcpgen")
    if not facts and outcome is Outcome.DONE:
        printer.result("no servers in the files of known clients")
    return printer.finish(outcome)


def _list_clients(printer: Printer) -> int:
    from mcpgen.factory.clients.registry import read_install_clients

    facts = []
    for each in read_install_clients().values():
        files = each.candidates("user", "NAME", Path.cwd())
        facts.append(
            {
                "id": each.id,
                "title": each.title,
                "detected": each.is_detected,
                "user_file": str(files[0]) if files else None,
                "project_file": each.project[0] if each.project else None,
                "verified": each.verified or None,
                "source": each.source or None,
            }
        )
        mark = "+" if each.is_detected else " "
        shown = files[0] if files else "(prints an entry to paste)"
        printer.result(visible(f"{mark} {each.id:<20} {each.title:<24} {shown}"))
    printer.fact(clients=facts)
    printer.result("+ found on this machine")
    return printer.finish(Outcome.DONE)
