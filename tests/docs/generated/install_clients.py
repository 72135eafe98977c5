"""Table of the clients into which servers can be installed."""

from __future__ import annotations

from mcpgen.factory.clients.registry import InstallClient, read_install_clients


def install_clients() -> str:
    """Return a table of all clients, with their files on Linux."""
    heads = ("id", "client", "file of the user", "file of a project", "secrets", "URL", "verified")
    rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for client in read_install_clients().values():
        if client.is_verified:
            cells = (
                f"`{client.id}`",
                client.title,
                _code((*client.user.linux, *client.user.any)[0]),
                _code(client.project[0] if client.project else ""),
                _code(_describe_secrets(client)),
                "yes" if client.http is not None else "no",
                client.verified,
            )
            rows.append("| " + " | ".join(cells) + " |")
    others = [client for client in read_install_clients().values() if not client.is_verified]
    names = ", ".join(f"{client.title} (`{client.id}`)" for client in others)
    return "\n".join([*rows, "", f"For {names}, `mcpgen add` prints an entry to paste."])


def _describe_secrets(client: InstallClient) -> str:
    if client.inputs:
        return "${input:ID}"
    return client.forwards or client.variable


def _code(text: str) -> str:
    return f"`{text}`" if text else "-"
