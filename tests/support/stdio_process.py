"""A real server process with a small package written for the test, and a client for it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mcpgen.render.json_text import wrap_tools
from tests.support.paths import REPOSITORY

SECONDS = 20.0  # a bound on every wait, far above what any of them takes

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HANDLERS = """
import asyncio, os, subprocess, sys, time
from pathlib import Path

from mcpgen.runtime import Context, ToolError, ToolGroup

tools = ToolGroup.load(__name__, "some.json")
waiting: dict[str, asyncio.Event] = {}


@tools.handler("echo")
async def echo(ctx: Context, *, text: str) -> dict:
    return {"text": text}


@tools.handler("wait_for")
async def wait_for(ctx: Context, *, text: str) -> dict:
    try:
        await asyncio.wait_for(waiting.setdefault(text, asyncio.Event()).wait(), 15)
    except asyncio.CancelledError:
        Path(text).write_text("cancelled")
        raise
    return {"text": text}


@tools.handler("release")
async def release(ctx: Context, *, text: str) -> dict:
    waiting.setdefault(text, asyncio.Event()).set()
    return {"text": text}


@tools.handler("started")
async def started(ctx: Context, *, text: str) -> dict:
    Path(text).touch()
    await asyncio.sleep(0.3)
    return {"text": text}


@tools.handler("noise")
async def noise(ctx: Context, *, text: str) -> dict:
    print(text, flush=True)
    os.write(1, text.encode())
    os.system(f"echo {text}")
    child = subprocess.run([sys.executable, "-c", f"print(input() if False else {text!r})"])
    return {"text": text, "stdin": os.read(0, 10).decode(), "child": child.returncode}


@tools.handler("crash")
async def crash(ctx: Context, *, text: str) -> dict:
    raise RuntimeError(text)


@tools.handler("stays")
async def stays(ctx: Context, *, text: str) -> dict:
    Path("staying").touch()
    if text == "in the event loop":
        time.sleep(60)
    if text == "in a thread":
        await asyncio.to_thread(time.sleep, 60)
    while text == "whatever it is told":
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
    return {"text": text}


@tools.handler("big")
async def big(ctx: Context, *, text: str) -> dict:
    return {"text": "x" * int(text)}
"""
MAIN = """
import sys
from mcpgen.runtime.serving import serve

def main() -> None:
    sys.exit(serve("small_mcp"))

if __name__ == "__main__":
    main()
"""
NAMES = ("big", "crash", "echo", "noise", "release", "started", "stays", "wait_for")


def write_package(folder: Path, *, tools: Iterable[str] = NAMES, listed: int = 0) -> Path:
    """Write `small_mcp` with `listed` additional tools that no test calls."""
    package = folder / "small_mcp"
    generated = package / "_generated"
    (generated / "tools").mkdir(parents=True)
    (package / "handlers").mkdir()
    shape = {
        "description": "A tool of a test.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
    }
    names = [*tools, *(f"more_{number}" for number in range(listed))]
    listing = wrap_tools({"name": name, **shape} for name in names)
    request: dict[str, Any] = {"method": "GET", "path": "/", "parameters": []}
    contract = {
        name: {
            "operation": f"GET /{name}",
            "arguments": {"text": "text"},
            "result_key": "",
            "request": request,
        }
        for name in tools
    }
    server = {
        "name": "small",
        "title": "Small",
        "description": "Serves a test.",
        "instructions": "",
        "env_prefix": "SMALL_",
        "servers": [{"url": "https://api.example"}],
        "security_schemes": {},
        "environment": [
            {"name": "SMALL_KEY", "required": True, "description": "The key."},
            {"name": "SMALL_REGION", "required": False, "description": "Where."},
        ],
        "groups": ["some"],
    }
    for path, text in {
        "__init__.py": '__version__ = "0.1.0"\n',
        "__main__.py": MAIN,
        "handlers/__init__.py": '"""Nothing by hand."""\n',
        "_generated/__init__.py": "",
        "_generated/tools/__init__.py": "",
        "_generated/tools/some.py": HANDLERS,
        "_generated/tools/some.json": json.dumps({"tag": "some", "tools": contract}),
        "_generated/contract.json": json.dumps(server),
        "_generated/listing.json": listing.decode(),
    }.items():
        (package / path).write_text(text)
    return folder


class StdioProcess:
    """A server process. Every wait is bounded; leaving the block ends the process."""

    def __init__(
        self, folder: Path, *arguments: str, python: Iterable[str] = ("-m", "small_mcp")
    ) -> None:
        self._stderr = (folder / "stderr.txt").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, *python, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{folder}"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.stdin = self._process.stdin
        self.stdout = self._process.stdout.fileno()
        self._read = b""

    def __enter__(self) -> StdioProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._stderr):
            assert file is not None
            with contextlib.suppress(BrokenPipeError):  # what was sent after the server had left
                file.close()

    @property
    def stderr(self) -> str:
        """The server's output to stderr so far."""
        self._stderr.seek(0)
        return self._stderr.read()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, *messages: Any) -> None:
        """Send messages, or raw lines as bytes, in a single write."""
        self.send_bytes(
            b"".join(
                (each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n"
                for each in messages
            )
        )

    def send_bytes(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def receive(self, seconds: float = SECONDS) -> Any:
        """Return the next message that the server writes."""
        line = self.receive_line(seconds)
        assert line, f"the server said nothing more; stderr: {self.stderr}"
        return json.loads(line)

    def receive_line(self, seconds: float = SECONDS) -> bytes:
        deadline = time.monotonic() + seconds
        while b"\n" not in self._read:
            ready, _, _ = select.select([self.stdout], [], [], deadline - time.monotonic())
            assert ready, f"the server did not answer in time; stderr: {self.stderr}"
            data = os.read(self.stdout, 1 << 16)
            if not data:
                return b""
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        return line

    def ask(self, message: Any) -> Any:
        self.send(message)
        return self.receive()

    def close_stdin(self) -> None:
        self.stdin.close()

    def close_stdout(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.close()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def signal_until_it_ends(self, number: signal.Signals) -> None:
        """Send a signal repeatedly until the process ends, since signals may be merged."""
        deadline = time.monotonic() + SECONDS
        while self.is_running() and time.monotonic() < deadline:
            self.signal(number)
            select.select([], [], [], 0.02)

    def wait_for_output(self) -> None:
        """Wait until the server has begun to write, without reading."""
        ready, _, _ = select.select([self.stdout], [], [], SECONDS)
        assert ready, f"the server wrote nothing; stderr: {self.stderr}"

    def wait(self, seconds: float = SECONDS) -> int:
        """Wait for the end and return the exit code."""
        return self._process.wait(seconds)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def rest(self) -> list[Any]:
        """Return all messages up to the end of the output."""
        messages = []
        while line := self.receive_line():
            messages.append(json.loads(line))
        return messages


def request(id: Any, method: str, **params: Any) -> dict[str, Any]:
    """Return a modern request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": META, **params}}


def call(id: Any, tool: str, text: str) -> dict[str, Any]:
    return request(id, "tools/call", name=tool, arguments={"text": text})


def initialize(version: str = "2025-11-25") -> dict[str, Any]:
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    }
    return {"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params}


def wait_until_exists(path: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} never came"
        select.select([], [], [], 0.01)
