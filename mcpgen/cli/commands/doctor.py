"""`mcpgen doctor`: why a client does not see a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.client_files import (
    Clients,
    choose_clients,
    read_records,
    report_rejected,
    shorten_path,
)
from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.diagnostics import Diagnostic
from mcpgen.pipeline.options import Outcome, worst
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.factory.clients.doctor import Diagnosis
    from mcpgen.factory.clients.install import Listed


def doctor(
    printer: Printer,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]…", help="Servers; by default, those that mcpgen added."),
    ] = None,
    *,
    client: Clients = "",
) -> int:
    """Start servers as their clients would, and report why a client does not see them."""
    from mcpgen.factory.clients.install import RejectedFileError, list_servers

    clients = choose_clients(client, all_detected=False)
    outcome = Outcome.DONE
    chosen: list[Listed] = []
    for found in list_servers(read_records(), Path.cwd(), clients):
        if isinstance(found, RejectedFileError):
            outcome = worst([outcome, report_rejected(printer, found)])
        elif found.name in (names or ()) or (not names and found.is_ours):
            chosen.append(found)
    missing = sorted({*(names or ())} - {each.name for each in chosen})
    if missing:
        raise UsageError(
            f"no client has a server `{missing[0]}`", help="`mcpgen list` shows what they have"
        )
    diagnoses = _examine(printer, chosen)
    printer.fact(servers=[_format(each) for each in diagnoses])
    for each in diagnoses:
        _show(printer, each)
        if not each.is_healthy:
            outcome = worst([outcome, Outcome.FINDINGS])
    if not chosen and outcome is Outcome.DONE:
        printer.result("mcpgen added no server to a client; name one to examine it")
    return printer.finish(outcome)


def _examine(printer: Printer, chosen: list[Listed]) -> list[Diagnosis]:
    import asyncio

    from mcpgen.factory.clients.doctor import diagnose

    async def examine() -> list[Diagnosis]:
        found = []
        with printer.progress() as progress:
            for each in chosen:
                progress(f"`{each.name}` of {each.client.title}")
                found.append(await diagnose(each))
        return found

    return asyncio.run(examine())


def _format(diagnosis: Diagnosis) -> dict[str, object]:
    listed = diagnosis.listed
    return {
        "client": listed.client.id,
        "scope": listed.scope,
        "file": str(listed.path),
        "name": listed.name,
        "healthy": diagnosis.is_healthy,
        "tools": diagnosis.tools,
    }


def _show(printer: Printer, diagnosis: Diagnosis) -> None:
    listed = diagnosis.listed
    state = "cannot be used" if not diagnosis.is_healthy else "works"
    tools = "" if diagnosis.tools is None else f", {format_count(diagnosis.tools, 'tool')}"
    printer.result(
        visible(
            f"{listed.client.title}: `{listed.name}` {state}{tools} ({shorten_path(listed.path)})"
        )
    )
    if diagnosis.is_healthy:
        printer.result(f"  if it is not shown: {listed.client.after}")
    printer.problems(
        Diagnostic(it.rule, it.severity, visible(it.message), None, it.why, it.help)
        for it in diagnosis.symptoms
    )
