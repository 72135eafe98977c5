"""`mcpgen add`: write servers into the configuration files of MCP clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.client_files import (
    Clients,
    ScopeName,
    ScopeOption,
    choose_clients,
    confirm_and_write,
    open_records,
    report_rejected,
    undo_last,
)
from mcpgen.cli.completion_values import list_servers
from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import DryRun, Yes
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.pipeline.options import Outcome, worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpgen.factory.clients.entries import InstalledServer
    from mcpgen.factory.clients.install import Installer
    from mcpgen.factory.clients.registry import InstallClient

Servers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SERVER]…",
        help="Folders of packages, a URL, or a command (after `--` if it has options).",
        autocompletion=list_servers,
    ),
]


def add(
    printer: Printer,
    servers: Servers = None,
    *,
    client: Clients = "",
    all_detected: Annotated[
        bool, typer.Option("--all-detected", help="Every client whose folder exists here.")
    ] = False,
    scope: ScopeOption = ScopeName.USER,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="The name of the server in its clients.")
    ] = "",
    env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=VALUE]",
            help="A variable of the server's environment; without a value, that of the client.",
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[=VALUE]", help="A header of every request; repeatable."),
    ] = None,
    inline_secrets: Annotated[
        bool,
        typer.Option("--inline-secrets", help="Write values of secrets into the files."),
    ] = False,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace an entry of this name that mcpgen did not write."),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Restore the files before the last add or remove.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Add servers to MCP clients."""
    from mcpgen.factory.clients.entries import EntryError
    from mcpgen.factory.clients.servers import find_servers

    if undo:
        return undo_last(printer)
    clients = choose_clients(client, all_detected=all_detected)
    if not clients:
        raise UsageError("no client was chosen", help="name some with --client, or --all-detected")
    try:
        found = find_servers(servers or (), name=name, env=env or (), headers=header or ())
    except EntryError as error:
        raise UsageError(str(error), help=error.help) from None
    installer = open_records()
    outcome = Outcome.DONE
    for server in found:
        for each in clients:
            prepared = _prepare(
                printer, installer, server, each, scope, replace=replace, inline=inline_secrets
            )
            outcome = worst([outcome, prepared])
    _report_names(printer, found, clients)
    return confirm_and_write(printer, installer, outcome, dry_run=dry_run, yes=yes)


def _prepare(
    printer: Printer,
    installer: Installer,
    server: InstalledServer,
    client: InstallClient,
    scope: ScopeName,
    *,
    replace: bool,
    inline: bool,
) -> Outcome:
    """Prepare one entry, or report why there is none."""
    from mcpgen.factory.clients.entries import EntryError, build_entry
    from mcpgen.factory.clients.install import (
        ExistingEntryError,
        RejectedFileError,
        SecretInRepositoryError,
        make_snippet,
    )

    try:
        if not client.is_verified:
            entry = build_entry(server, client, inline_secrets=inline)
            printer.note(
                "snippet-only",
                f"the file of {client.title} is not known",
                help=client.after,
            )
            printer.raw(make_snippet(client, server.name, entry))
            return Outcome.DONE
        installer.add(server, client, scope.value, replaces=replace, inline_secrets=inline)
    except RejectedFileError as error:
        return report_rejected(printer, error)
    except ExistingEntryError as error:
        printer.error(
            "existing-entry",
            visible(str(error)),
            why="it may be another server",
            help="--replace replaces it, --name NAME uses another name",
        )
        return Outcome.CONFLICT
    except SecretInRepositoryError as error:
        printer.error(
            "secret-in-repository",
            visible(str(error)),
            why="the next commit would publish it",
            help="leave out --inline-secrets, or use --scope user",
        )
        return Outcome.USAGE
    except EntryError as error:
        printer.error("unsupported", visible(str(error)), help=error.help)
        return Outcome.USAGE
    return Outcome.DONE


def _report_names(
    printer: Printer, servers: Sequence[InstalledServer], clients: Sequence[InstallClient]
) -> None:
    """Report tools that a client drops because of the server's name (`mcpgen lint` has all)."""
    from mcpgen.factory.clients.limits import find_long_names

    for server in servers:
        for client in clients:
            dropped = find_long_names(server, client.id)
            if dropped:
                printer.note(
                    "long-tool-names",
                    f"{client.title} drops {len(dropped)} of {len(server.tools)} tools of"
                    f" `{server.name}`, for instance `{dropped[0]}`",
                    why="the names of server and tool are too long together",
                    help="give the server a shorter name: --name NAME",
                )
