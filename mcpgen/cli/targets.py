"""The server that a command connects to: a package, a command or a URL; calls and failures."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mcpgen.cli.output.report import Printer
from mcpgen.factory.packages import GeneratedPackage, find_package
from mcpgen.pipeline.options import Outcome

if TYPE_CHECKING:
    from mcpgen.testing.client.client import Client, RpcError


TIMEOUT_SECONDS = 60.0


class Target(Struct, frozen=True):
    """A server that can be connected to: by `url`, or by starting `command`."""

    url: str = ""
    command: tuple[str, ...] = ()
    package: GeneratedPackage | None = None  # where `command` starts a generated package

    def __str__(self) -> str:
        return self.url or shlex.join(self.command)


def find_target(words: Sequence[str]) -> Target:
    """Tell a URL, the folder of a generated package, and a command from each other.

    No words mean the folder that one is in.

    Raises:
        NoPackageError: it is a folder without a generated package.
    """
    first = words[0] if words else "."
    if first.startswith(("http://", "https://")):
        return Target(url=first)
    if len(words) <= 1 and Path(first).is_dir():
        package = find_package(Path(first))
        return Target(command=package.command, package=package)
    return Target(command=tuple(shlex.split(first) if len(words) == 1 else words))


@asynccontextmanager
async def connect(
    target: Target, revision: str, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Client]:
    """Connect to a server, and start it if `target` is a command; stop both at the exit.

    `environment` is added to that of a generated package.
    """
    from mcpgen.testing.client.client import Client
    from mcpgen.testing.client.connections import HttpConnection, StdioConnection

    if target.url:
        connection: HttpConnection | StdioConnection = HttpConnection(target.url)
    else:
        environ = target.package.environment(environment) if target.package else None
        connection = await StdioConnection.start(target.command, environ)
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
