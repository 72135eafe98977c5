"""The MCP Inspector: finding or installing the pinned version, its configuration, and its run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from mcpgen.factory.mock_api import serve_mock_api
from mcpgen.factory.node import (
    find_node,
    find_npm_package,
    read_node_version,
    read_package_version,
)
from mcpgen.factory.process_groups import OWN_GROUP, end_group
from mcpgen.factory.wire.targets import Target
from mcpgen.jsonschema.types import JsonObject

PACKAGE: Final = "@modelcontextprotocol/inspector"
VERSION: Final = "2.12.0"
MIN_NODE: Final = (22, 19)
_LAUNCHER: Final = Path("clients", "launcher", "build", "index.js")
_PRINT_PATH: Final = "process.env.PATH"
_INSTALL_HELP: Final = (
    f"connect to npm's registry once, or `npm install {PACKAGE}@{VERSION}` in this folder"
)
_INSTALL_SECONDS: Final = 600
_EXIT_SECONDS: Final = 10.0
_MAX_REASON: Final = 200
_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP")
_DIED_OF_SIGNAL: Final = 128


class InspectorError(Exception):
    """The Inspector cannot be run here; `help` states what to install."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


def find_inspector(report: Callable[[str], None]) -> list[str]:
    """Return the command that runs the Inspector; npx installs it if it is not installed.

    Raises:
        InspectorError: Node is missing or too old, or npx cannot install the Inspector.
    """
    needed = ".".join(map(str, MIN_NODE))
    node = find_node()
    if not node:
        raise InspectorError("Node is not installed", f"install Node {needed} or newer")
    version = read_node_version(node)
    if version < MIN_NODE:
        found = ".".join(map(str, version)) or "of an unknown version"
        raise InspectorError(
            f"`{node}` is Node {found}, expected {needed} or newer",
            f"install Node {needed} or newer, and put it first in PATH",
        )
    folder = find_npm_package(PACKAGE, VERSION)
    if folder is None:
        report(f"npx installs {PACKAGE}@{VERSION}")
        folder = _install(node)
    return [node, str(folder / _LAUNCHER)]


def _install(node: str) -> Path:
    """Let npx install the Inspector in its cache, unless it is there; return its folder.

    Only a program that npx starts learns the folder: from PATH.
    """
    environ = _put_on_path(node)
    npx = shutil.which("npx", path=environ["PATH"])
    if npx is None:
        raise InspectorError("npx is not installed, which installs the Inspector", _INSTALL_HELP)
    options = ("--yes", "--prefer-offline", "--fetch-retries=1", "--fetch-retry-mintimeout=1000")
    try:
        done = subprocess.run(  # noqa: S603 - npm's own program
            [npx, *options, f"--package={PACKAGE}@{VERSION}", "--", "node", "-p", _PRINT_PATH],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InspectorError(
            f"npx cannot install {PACKAGE}@{VERSION}: {error}", _INSTALL_HELP
        ) from None
    if done.returncode == 0:
        for entry in done.stdout.decode(errors="replace").strip().split(os.pathsep):
            folder = Path(entry).parent / PACKAGE
            if read_package_version(folder) == VERSION:
                return folder
    reason = _find_reason(done.stderr.decode(errors="replace"))
    raise InspectorError(f"npx cannot install {PACKAGE}@{VERSION}: {reason}", _INSTALL_HELP)


def _find_reason(log: str) -> str:
    """Return the lines of npm's log that name the fault."""
    lines = [line.removeprefix("npm error").strip() for line in log.splitlines()]
    named = [line for line in lines if line.startswith(("code ", "errno ", "network "))]
    reason = ", ".join(named[:2] or list(filter(None, lines))[-1:])
    return reason[:_MAX_REASON] or "it printed no reason"


def _put_on_path(node: str) -> dict[str, str]:
    """Return this process's environment in which `node` is the first Node of PATH."""
    if shutil.which("node") == node:
        return dict(os.environ)
    path = os.pathsep.join(filter(None, [str(Path(node).parent), os.environ.get("PATH", "")]))
    return {**os.environ, "PATH": path}


# Configuration


@asynccontextmanager
async def configure(target: Target, *, is_live: bool) -> AsyncIterator[Path]:
    """Write the Inspector's configuration for a server, and remove it at exit.

    A generated package uses a mock of its API, unless it is `is_live`. The configuration then
    contains no secret: it has placeholders instead of the user's credentials.
    """
    async with AsyncExitStack() as stack:
        environment = target.environ()
        if target.package is not None and not is_live:
            _, settings = await stack.enter_async_context(serve_mock_api(target.package, {}))
            target = target.for_mock(settings)
            environment = {"PYTHONPATH": environment["PYTHONPATH"], **target.environment}
        configuration = _make_configuration(target, environment)
        yield stack.enter_context(_write_configuration(configuration))


def _make_configuration(target: Target, environment: Mapping[str, str]) -> JsonObject:
    """Return the configuration of one server.

    `environment` is that of the server's process, in addition to the few variables that the
    Inspector passes on by itself.
    """
    entry: JsonObject = {"protocolEra": "auto"}
    if target.url:
        parts = urlsplit(target.url)
        name = parts.hostname or "server"
        kind = "sse" if parts.path.rstrip("/").endswith("/sse") else "streamable-http"
        entry |= {"type": kind, "url": target.url, "headers": dict(target.headers)}
    else:
        program, *arguments = target.command
        name = Path(program).stem if target.package is None else target.package.contract["name"]
        entry |= {
            "type": "stdio",
            "command": program,
            "args": arguments,
            "env": dict(environment),
            "cwd": str(Path.cwd()),
        }
    return {"mcpServers": {name: entry}}


@contextmanager
def _write_configuration(configuration: JsonObject) -> Iterator[Path]:
    """Write a configuration to a temporary file that only its owner can read; remove it at exit."""
    handle, name = tempfile.mkstemp(prefix="mcpgen-inspect-", suffix=".json")  # mode 0600
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(configuration, file)
        yield path
    finally:
        path.unlink(missing_ok=True)


# Run


async def run_inspector(
    command: Sequence[str],
    configuration: Path,
    arguments: Sequence[str],
    *,
    is_web: bool,
    opens_browser: bool = True,
) -> int:
    """Run the Inspector to its end and return its exit code; 128 + N after signal N.

    Signals are passed on to it. It has a process group of its own: its child processes end with it,
    and Ctrl-C reaches it once.
    """
    mode = "--web" if is_web else "--cli"
    environ = _put_on_path(command[0])
    environ.pop("MCP_CATALOG_PATH", None)  # contradicts `--config`
    # The configuration has all that the server needs, and nothing of it should be stored.
    environ.setdefault("MCP_INSPECTOR_SECRET_STORE", "memory")
    if not opens_browser:
        environ["MCP_AUTO_OPEN_ENABLED"] = "false"
    process = await asyncio.create_subprocess_exec(
        *command,
        mode,
        "--config",
        str(configuration),
        *arguments,
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        process_group=OWN_GROUP,
    )
    try:
        with _pass_signals_on(process):
            code = await process.wait()
    finally:
        await end_group(process)
    return code if code >= 0 else _DIED_OF_SIGNAL - code


@contextmanager
def _pass_signals_on(process: asyncio.subprocess.Process) -> Iterator[None]:
    """Send the signals that this process receives to another one; kill it at the second one."""
    if sys.platform == "win32":
        yield
        return
    loop = asyncio.get_running_loop()
    received: list[int] = []

    def pass_on(number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL if received else number)
        if not received:
            loop.call_later(_EXIT_SECONDS, pass_on, signal.SIGKILL)
        received.append(number)

    numbers = [getattr(signal, name) for name in _SIGNALS]
    for number in numbers:
        loop.add_signal_handler(number, pass_on, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
