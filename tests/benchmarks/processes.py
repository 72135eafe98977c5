"""Server processes and their CPU time and memory as the kernel reports them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
START_SECONDS = 120  # under valgrind, everything takes fifty times as long
# Bytecode is cached, as on any machine that has started a server before.
WARM_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}


@dataclass(frozen=True)
class Candidate:
    """A server to measure, and how to start it with a number of tools, over stdio or on a port."""

    name: str
    command: Sequence[str]
    on_port: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process, as accounted by the scheduler."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def resident_megabytes(pid: int) -> float:
    """Return the current resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the kernel gives no VmRSS")


def pin(pid: int, core: int) -> None:
    """Pin server and driver to separate cores, if there are two."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(pid, {cores[core % len(cores)]})


def request_line(identifier: int, method: str, params: dict[str, object]) -> bytes:
    """Return one request of 2026-07-28 as a line."""
    message = {
        "jsonrpc": "2.0",
        "id": identifier,
        "method": method,
        "params": {**params, "_meta": MODERN_META},
    }
    return json.dumps(message).encode() + b"\n"


class StdioServer:
    """A server process over stdio."""

    def __init__(self, candidate: Candidate, tools: int) -> None:
        self.process = subprocess.Popen(
            [*candidate.command, str(tools)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **WARM_BYTECODE, **candidate.environment},
        )
        pin(self.process.pid, 0)
        self.pid = self.process.pid

    def ask(self, method: str, params: dict[str, object], identifier: int = 1) -> dict[str, object]:
        """Send one request and wait for its response."""
        return self.exchange([request_line(identifier, method, params)])[0]

    def exchange(self, lines: Sequence[bytes]) -> list[dict[str, object]]:
        """Write all lines, then read as many responses, and decode them only at the end."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(b"".join(lines))
        stdin.flush()
        answers = [stdout.readline() for _ in lines]
        return [json.loads(answer) for answer in answers]

    def close(self) -> None:
        """Close the input; kill the process if it does not end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self.process.stdout.close()


@contextmanager
def stdio_server(candidate: Candidate, tools: int) -> Iterator[StdioServer]:
    """Run a server over stdio until the end of the block."""
    server = StdioServer(candidate, tools)
    try:
        yield server
    finally:
        server.close()


def free_port() -> int:
    """Return a port that was just free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_listening(process: subprocess.Popen[bytes], port: int, name: str) -> None:
    """Wait until the port accepts connections; abort the run if it never does."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if time.monotonic() > deadline or process.poll() is not None:
            sys.exit(f"{name} does not listen on port {port}")
        time.sleep(0.05)


@contextmanager
def http_server(candidate: Candidate, tools: int) -> Iterator[tuple[int, int]]:
    """Run a server on a port; yield its process id and the port once it accepts connections."""
    port = free_port()
    process = subprocess.Popen(
        [*candidate.on_port, str(tools), str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **WARM_BYTECODE, **candidate.environment},
    )
    pin(process.pid, 0)
    try:
        wait_until_listening(process, port, candidate.name)
        yield process.pid, port
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
