"""The server that a command line names, connections to it, and their failures."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.output.report import Printer
from mcpgen.factory.wire import targets
from mcpgen.pipeline.options import Outcome

if TYPE_CHECKING:
    from mcpgen.factory.wire.targets import Target
    from mcpgen.testing.client.client import Client, RpcError


TIMEOUT_SECONDS = 60.0


def find_target(
    words: Sequence[str] | None,
    *,
    header: Sequence[str] | None = None,
    env: Sequence[str] | None = None,
    token_from: str = "",
) -> Target:
    """Return the server that the argument and the options of a command describe.

    Raises:
        UsageError: they describe none.
        NoPackageError: it is a folder without a server.
    """
    try:
        return targets.find_target(
            words or (), headers=header or (), environment=env or (), token_variable=token_from
        )
    except targets.TargetError as error:
        raise UsageError(str(error), help=error.help) from None


@asynccontextmanager
async def connect(target: Target, revision: str) -> AsyncIterator[Client]:
    """Connect to a server, and start it if `target` is a command; stop both at the exit."""
    from mcpgen.testing.client.client import Client
    from mcpgen.testing.client.connections import HttpConnection, StdioConnection

    if target.url:
        connection: HttpConnection | StdioConnection = HttpConnection(target.url, target.headers)
    else:
        connection = await StdioConnection.start(target.command, target.environ())
    async with Client(connection, revision, timeout_seconds=TIMEOUT_SECONDS) as client:
        yield client


def log_about(client: Client, reference: str) -> str:
    """Return the log of a server from the reference to a failure on; "" for a server by URL.

    The log is complete only after the connection is closed.
    """
    from mcpgen.testing.client.connections import StdioConnection

    if not reference or not isinstance(client.connection, StdioConnection):
        return ""
    lines = client.connection.stderr.splitlines()
    first = next((number for number, line in enumerate(lines) if reference in line), 0)
    return "\n".join(lines[first:])


def converse(printer: Printer, talk: Coroutine[Any, Any, int]) -> int:
    """Run `talk` and return its exit code; an unreachable server is a finding."""
    import asyncio

    from mcpgen.testing.client.client import NoAnswerError, RpcError
    from mcpgen.testing.client.connections import ConnectionLostError

    try:
        return asyncio.run(talk)
    except RpcError as error:
        return report_refusal(printer, error)
    except (ConnectionLostError, NoAnswerError, OSError) as error:
        printer.error("unreachable", f"cannot connect to the server: {error}")
        return printer.finish(Outcome.FINDINGS, "unreachable")


def report_refusal(printer: Printer, error: RpcError, log: str = "") -> int:
    """Report a JSON-RPC error, with what the server logged about it, and return the exit code."""
    printer.error("refused", f"the server answered with the JSON-RPC error {error}")
    printer.log(log)
    return printer.finish(Outcome.FINDINGS, "refused")
