"""Server processes with a tool that returns its arguments and the id of its process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.paths import REPOSITORY
from tests.support.stdio_process import write_package

SECONDS = 60.0  # a bound on every wait
STATE_KEYS = secrets.token_urlsafe(32)
LEASE_SECONDS = 3.0
PROGRAM = f"""
import sys
from mcpgen.runtime.serving import serve
from mcpgen.runtime.state import replica

replica.LEASE_SECONDS = {LEASE_SECONDS}
sys.exit(serve("small_mcp"))
"""
HANDLERS = '''
import asyncio
import os

from mcpgen.runtime import Context, Features

features = Features(changing=("tools",), logs=True, subscriptions=True)


@features.resource("thing://a", name="a", mime_type="text/plain")
def thing(ctx: Context) -> str:
    """A thing."""
    return "a"


@features.tool()
async def work(ctx: Context, *, name: str, steps: int = 1) -> dict[str, object]:
    """Work in steps, and record the end of it."""
    for step in range(1, steps + 1):
        ctx.report_progress(step, steps)
        await asyncio.sleep(0.02)
    record("finished", name)
    return {"name": name, "process": os.getpid()}


@features.tool()
async def wait(ctx: Context, *, name: str) -> dict[str, object]:
    """Wait until a file exists."""
    record("started", name)
    while not os.path.exists(f"{name}.go"):
        await asyncio.sleep(0.01)
    return {"name": name, "process": os.getpid()}


@features.tool()
async def ask(ctx: Context, *, question: str) -> str:
    """Ask the user."""
    answer = await ctx.elicit(question, {"type": "object", "properties": {}})
    return answer.action


@features.tool()
async def change(ctx: Context) -> str:
    """Announce a change."""
    ctx.announce_change("tools")
    return str(os.getpid())


def record(kind: str, name: str) -> None:
    line = f"{name} {os.getpid()}\\n".encode()
    fd = os.open(kind, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, line)
    os.close(fd)
'''


def write_working_package(folder: Path) -> Path:
    """Write `small_mcp` with the tools of this module."""
    write_package(folder)
    (folder / "small_mcp" / "handlers" / "work.py").write_text(HANDLERS)
    return folder


class ServerProcess:
    """A running server with the lines of its log."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.log: list[str] = []
        self.url = ""
        self._changed = asyncio.Event()
        self._reading = asyncio.create_task(self._read_log())

    async def _read_log(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self.log.append(line.decode())
            self._changed.set()

    async def until_logged(self, pattern: str) -> re.Match[str]:
        """Wait for a line in the log."""

        async def wait() -> re.Match[str]:
            while True:
                self._changed.clear()
                for line in self.log:
                    if found := re.search(pattern, line):
                        return found
                if self._reading.done():
                    raise AssertionError(f"the server ended: {self.log}")
                await self._changed.wait()

        try:
            return await asyncio.wait_for(wait(), SECONDS)
        except TimeoutError:
            raise AssertionError(f"no {pattern!r} in {self.log}") from None

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self, number: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def end(self) -> int:
        """Wait for the process to end; return its exit code."""
        code = await asyncio.wait_for(self._process.wait(), SECONDS)
        await asyncio.wait_for(self._reading, SECONDS)
        return code


async def start_server(
    folder: Path, *options: str, settings: Mapping[str, str] | None = None
) -> ServerProcess:
    """Start a server over HTTP on a free port, in its own folder."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        "--http",
        *(("--port", "0") if "--port" not in options else ()),
        *options,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder), str(REPOSITORY)]),
            "SMALL_STATE_KEYS": STATE_KEYS,
            **(settings or {}),
        },
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    return ServerProcess(process)


@asynccontextmanager
async def serving(
    folder: Path, *options: str, settings: Mapping[str, str] | None = None
) -> AsyncIterator[ServerProcess]:
    """Start a server, wait until it is ready, and stop it at the end of the block."""
    server = await start_server(folder, *options, settings=settings)
    try:
        server.url = (await server.until_logged(r"served at (http://\S+)"))[1]
        yield server
    finally:
        server.kill(signal.SIGTERM)
        try:
            await server.end()
        finally:
            server.kill()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(SECONDS):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file, or none if it does not exist."""
    return path.read_text().splitlines() if path.exists() else []


def find_children(pid: int) -> Sequence[int]:
    """Return the ids of the running child processes."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children]
