"""The server that a command connects to: a generated package, another command, or a URL."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mcpgen.factory.packages import GeneratedPackage, find_package

if TYPE_CHECKING:
    from mcpgen.testing.client.client import Client

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
