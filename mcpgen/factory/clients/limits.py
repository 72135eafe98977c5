"""Limits of clients that depend on the name under which a server is installed."""

from __future__ import annotations

from mcpgen.factory.clients.entries import InstalledServer
from mcpgen.ir.client_checks import CheckedServer, iterate_excesses
from mcpgen.ir.clients import read_clients


def find_long_names(server: InstalledServer, client_id: str) -> list[str]:
    """Return the tools that a client drops because of their names with that of the server."""
    client = read_clients().get(client_id)
    if client is None:
        return []
    checked = CheckedServer(server.name, [{"name": tool} for tool in server.tools], "")
    found: dict[str, None] = {}
    for limit in client.limit:
        if limit.counts == "tool-name" and limit.effect in ("dropped", "breaks"):
            found |= dict.fromkeys(each.tool for each in iterate_excesses(checked, limit))
    return [*found]
