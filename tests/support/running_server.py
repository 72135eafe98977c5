"""A generated server with a mock API, for third-party clients."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcpgen.factory.packages import find_package
from mcpgen.testing import MockUpstream
from tests.support.paths import CACHE, REPOSITORY

WAIT_SECONDS = 60
NODE_MODULES = CACHE / "node" / "node_modules"
NO_API: dict[str, Any] = {"servers": [], "schemas": {}, "security_schemes": [], "operations": []}


@dataclass(frozen=True)
class RunningServer:
    """Addresses of the server, and the requests that it sent to the API."""

    command: Sequence[str]
    settings: Mapping[str, str]  # the environment variables that it needs
    url: str
    upstream: MockUpstream

    @property
    def environment(self) -> dict[str, str]:
        """The complete environment of a process that starts the server over stdio."""
        return {**os.environ, **self.settings}


@asynccontextmanager
async def running(
    directory: Path,
    site: Path | None = None,
    *,
    toolset: str = "",
    more: Mapping[str, str] | None = None,
) -> AsyncIterator[RunningServer]:
    """Run the mock API and the server over HTTP; over stdio, clients start the server.

    The package runs from its source folder, or from `site` where it was installed. The mock of a
    server without an API refuses every request. `toolset` selects tools other than the default.
    `more` are further settings, without the server's prefix.
    """
    package = find_package(directory)
    upstream = MockUpstream(package.upstream() if package.contract["groups"] else NO_API)
    base_url = await upstream.start()
    prefix = package.contract["env_prefix"]
    source = str((site or directory / "src").resolve())
    settings = {
        **package.mock_environment(base_url),
        "PYTHONPATH": os.pathsep.join([source, str(REPOSITORY)]),
        **({f"{prefix}TOOLSET": toolset} if toolset else {}),
        **{f"{prefix}{name}": value for name, value in (more or {}).items()},
    }
    process = await asyncio.create_subprocess_exec(
        *package.mock_command,
        "--http",
        "--port",
        "0",
        env={**os.environ, **settings},
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        url = await asyncio.wait_for(_announced_url(process), WAIT_SECONDS)
        yield RunningServer(package.mock_command, settings, url, upstream)
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), WAIT_SECONDS)
        await upstream.stop()


async def _announced_url(process: asyncio.subprocess.Process) -> str:
    """Return the URL that the server prints on stderr once it listens."""
    assert process.stderr is not None
    seen = []
    while line := (await process.stderr.readline()).decode():
        seen.append(line)
        for word in line.split():
            if word.startswith("http://"):
                return word.rstrip(".,")
    raise AssertionError(f"the server never said where it listens: {seen}")


async def run(command: Sequence[str], *, stdin: str = "", **settings: Any) -> tuple[int, str, str]:
    """Run a program to completion; return exit code, stdout and stderr."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        **settings,
    )
    out, err = await asyncio.wait_for(process.communicate(stdin.encode()), WAIT_SECONDS)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def run_json(command: Sequence[str], *, stdin: str = "", **settings: Any) -> Any:
    """Run a program that must succeed, and return the JSON that it prints."""
    code, out, err = await run(command, stdin=stdin, **settings)
    assert code == 0, f"{command[:3]} ended with {code}: {err[-2000:]}{out[-500:]}"
    return json.loads(out)


def inspector() -> list[str]:
    """Return the command of the MCP Inspector; skip the test if it is missing, or fail in CI."""
    node = installed(NODE_MODULES / "node" / "bin" / "node", "peers")
    package = NODE_MODULES / "@modelcontextprotocol" / "inspector"
    return [str(node), str(package / "clients" / "launcher" / "build" / "index.js"), "--cli"]


def inspected(server: RunningServer, transport: str) -> list[str]:
    """Return the Inspector's arguments for a server, over "stdio" or else HTTP."""
    if transport != "stdio":
        return ["--server-url", server.url]
    return [*(f"-e{name}={value}" for name, value in server.settings.items()), *server.command]


def installed(path: Path, target: str) -> Path:
    """Return a program that `make` installs; skip the test if it is missing, or fail in CI."""
    if not path.exists():
        message = f"{path.relative_to(REPOSITORY)} is missing; `make {target}` installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path
