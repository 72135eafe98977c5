"""A generated server under attack, and a second client that must be served meanwhile."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.attack.documents import HEALTHY_TOOL
from tests.support.paths import REPOSITORY

PACKAGE = "attacked_mcp"
PREFIX = "ATTACKED_"
GOAL_SECONDS = 1.0
"""Time limit for responses to a bystander on an otherwise idle machine."""
SLOWER = 5.0  # a machine that tests must bear, compared with that one
ANSWER_SECONDS = GOAL_SECONDS * SLOWER
MAX_GROWTH_MB = 150.0
START_SECONDS = 60.0
LEGACY, MODERN = "2025-11-25", "2026-07-28"
ATTACKER_ADDRESS, BYSTANDER_ADDRESS = "127.0.0.1", "127.0.0.2"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def generate(folder: Path, document: dict[str, Any], *arguments: str) -> Path:
    """Generate the server of a document with `mcpgen new`; return its folder."""
    source, target = folder / "api.json", folder / "attacked"
    source.write_text(json.dumps(document))
    run_mcpgen("new", str(source), str(target), "--defaults", *arguments)
    return target


def configure(project: Path, manifest: str) -> None:
    """Append entries to the `mcpgen.yaml` of a new project, and regenerate the project."""
    with (project / "mcpgen.yaml").open("a") as file:
        file.write(manifest)
    run_mcpgen("generate", str(project))


def run_mcpgen(*arguments: str) -> None:
    """Run an mcpgen command that must succeed."""
    command = [sys.executable, "-m", "mcpgen", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class AttackedServer:
    """A server process. Its log is `log`; leaving the block stops it, also after a failure."""

    def __init__(self, process: subprocess.Popen[bytes], log_file: Path, port: int = 0) -> None:
        self.process = process
        self.port = port
        self._log_file = log_file
        self._bytes_at_start = resident_bytes(process.pid)

    @property
    def log(self) -> str:
        return self._log_file.read_text(errors="backslashreplace")

    @property
    def growth_mb(self) -> float:
        """Maximum memory growth of the process since the start."""
        return (peak_resident_bytes(self.process.pid) - self._bytes_at_start) / 1e6

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None


@contextmanager
def serve_http(
    project: Path, environ: dict[str, str], *arguments: str, reads_stderr: bool = True
) -> Iterator[AttackedServer]:
    """Serve a generated project over HTTP on a free port.

    Without `reads_stderr`, stderr is a pipe that nobody reads once the server is up.
    """
    log_file = project.parent / "server-log.txt"
    with log_file.open("wb") as log:
        stderr = log if reads_stderr else subprocess.PIPE
        process = _start(
            project, environ, "--http", "--port", "0", *arguments, stderr=stderr, stdin=None
        )
        try:
            if process.stderr is not None:
                log.write(process.stderr.readline())
                log.flush()
            server = AttackedServer(process, log_file, _announced_port(process, log_file))
            with HttpClient(server.port, BYSTANDER_ADDRESS) as client:
                client.call_tool(HEALTHY_TOOL, {"id": "warm"})  # imports what calls need
            server._bytes_at_start = resident_bytes(process.pid)
            yield server
        finally:
            process.kill()
            process.wait()
            if process.stderr is not None:
                process.stderr.close()


@contextmanager
def serve_stdio(
    project: Path, environ: dict[str, str], *arguments: str, stderr: int | None = None
) -> Iterator[AttackedServer]:
    """Serve a generated project over stdio; `process.stdin` and `.stdout` are its pipes.

    `stderr` goes to the log file; `subprocess.PIPE` leaves it to the test, which may not read it.
    """
    log_file = project.parent / "stdio-server-log.txt"  # not the one that a server over HTTP writes
    with log_file.open("wb") as log:
        pipe = subprocess.PIPE
        process = _start(
            project,
            environ,
            *arguments,
            stdin=pipe,
            stdout=pipe,
            stderr=log if stderr is None else stderr,
        )
        try:
            yield AttackedServer(process, log_file)
        finally:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                with contextlib.suppress(BrokenPipeError):
                    if stream is not None:
                        stream.close()


def _start(
    project: Path, environ: dict[str, str], *arguments: str, **streams: Any
) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join([str(REPOSITORY), str(project / "src"), str(project)])
    return subprocess.Popen(
        [sys.executable, "-m", PACKAGE, *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": paths, **environ},
        **streams,
    )


def _announced_port(process: subprocess.Popen[bytes], log_file: Path) -> int:
    due = time.monotonic() + START_SECONDS
    while time.monotonic() < due and process.poll() is None:
        for word in log_file.read_text().split():
            if word.startswith("http://"):
                return int(word.removeprefix("http://").partition("/")[0].rpartition(":")[2])
        time.sleep(0.02)
    raise AssertionError(f"the server does not listen: {log_file.read_text()}")


def resident_bytes(pid: int) -> int:
    """Return the current memory of a process."""
    return _status_bytes(pid, "VmRSS:")


def peak_resident_bytes(pid: int) -> int:
    """Return the peak memory of a process."""
    return _status_bytes(pid, "VmHWM:")


def _status_bytes(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has ended")


class HttpClient:
    """A client over HTTP with one connection, one request at a time, and bounded waits."""

    def __init__(
        self, port: int, address: str = ATTACKER_ADDRESS, *, seconds: float = 60.0
    ) -> None:
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=seconds, source_address=(address, 0)
        )
        self._session: dict[str, str] = {}
        self.last_status = 0

    def __enter__(self) -> HttpClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def open_session(self) -> None:
        """Open a session as clients before 2026-07-28 do."""
        params = {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "bystander", "version": "1"},
        }
        self.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ping(self) -> None:
        """Ping in the session.

        Raises:
            AssertionError: the answer is not a pong.
        """
        answer = self.post({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        assert answer == {"jsonrpc": "2.0", "id": 2, "result": {}}, answer

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool as clients of 2026-07-28 do; return the JSON-RPC response."""
        params = {"name": name, "arguments": arguments, "_meta": _META}
        message = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name}
        answer: dict[str, Any] = self.post(message, headers)
        return answer

    def post(self, message: object, headers: dict[str, str] | None = None) -> Any:
        """Post a message; return the decoded body (the last event of a stream), None if empty."""
        sent = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            **(self._session if headers is None else headers),
        }
        self._connection.request("POST", "/mcp", json.dumps(message), sent)
        response = self._connection.getresponse()
        body = response.read()
        self.last_status = response.status
        session = response.getheader("Mcp-Session-Id")
        if session is not None:
            self._session = {"Mcp-Session-Id": session, "MCP-Protocol-Version": LEGACY}
        if response.getheader("Content-Type", "").startswith("text/event-stream"):
            data = [line[5:] for line in body.split(b"\n") if line.startswith(b"data:")]
            return json.loads(data[-1])
        return json.loads(body) if body else None


class Bystander:
    """A second HTTP client, at another address, that pings and calls a tool continuously.

    It runs on a thread between `with` and the end of the block. `check` then checks that it was
    always answered, with its own data, within the bound.
    """

    def __init__(self, server: AttackedServer, address: str = BYSTANDER_ADDRESS) -> None:
        self._server = server
        self._address = address
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._fault: Exception | None = None
        self._sent_at = 0.0
        self.rounds = 0
        self.longest_seconds = 0.0

    def __enter__(self) -> Bystander:
        self._client = HttpClient(self._server.port, self._address)
        self._client.open_session()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(65)
        self._client.__exit__(None, None, None)

    def wait_until_served(self, rounds: int = 2) -> None:
        """Wait for more rounds, for attacks that end quickly; `check` reports faults."""
        due = time.monotonic() + 2 * ANSWER_SECONDS
        wanted = self.rounds + rounds
        while self.rounds < wanted and self._fault is None and time.monotonic() < due:
            time.sleep(0.01)

    def check(self) -> None:
        """Check the goals that every attack must meet; call it after the block.

        Raises:
            AssertionError: an answer was late, wrong or missing, memory grew, or the server died.
        """
        assert self._server.is_alive, f"the server has died: {self._server.log[-2000:]}"
        assert not self._thread.is_alive(), "the bystander still waits for an answer"
        if self._fault is not None:
            raise AssertionError("the bystander was not served") from self._fault
        assert self.rounds >= 2, "the attack was over before the bystander was served twice"
        assert self.longest_seconds < ANSWER_SECONDS, f"answered in {self.longest_seconds:.1f} s"
        assert self._server.growth_mb < MAX_GROWTH_MB, f"grew by {self._server.growth_mb:.0f} MB"

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self._ask(f"bystander-{self.rounds}")
                self.rounds += 1
                self._is_over.wait(0.05)
        except Exception as fault:  # noqa: BLE001  (the end of the thread; `check` raises it)
            self._fault = fault

    def _ask(self, identifier: str) -> None:
        for question in (self._client.ping, lambda: self._call(identifier)):
            sent_at = time.monotonic()
            question()
            self.longest_seconds = max(self.longest_seconds, time.monotonic() - sent_at)

    def _call(self, identifier: str) -> None:
        answer = self._client.call_tool(HEALTHY_TOOL, {"id": identifier})
        value = answer["result"]["structuredContent"]
        assert identifier in json.dumps(value), f"asked for {identifier}, got {value}"
