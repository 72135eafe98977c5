"""Count the instructions of a server process per call with callgrind (valgrind).

Unlike CPU time, the count hardly depends on what else the machine does. It leaves out the kernel,
and what the processor's caches save or cost.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPResponse
from pathlib import Path

from http_load import Check
from measures import post_request
from processes import Candidate, http_server, stdio_server

WARM_UP = 640
CALLS = 512
"""Number of counted calls: with one span each, they fill one batch of the exporter."""
_TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)
# The watchdog wakes up at intervals, and the seed of hashes changes the cost of dictionaries.
_STEADY = {"MCPGEN_WATCHDOG_MS": "0", "PYTHONHASHSEED": "0"}

Params = dict[str, object]
SendCall = Callable[[], dict[str, object]]


def has_valgrind() -> bool:
    """Return whether the required programs are installed."""
    return shutil.which("valgrind") is not None and shutil.which("vgdb") is not None


def count_instructions(
    candidate: Candidate,
    params: Params,
    check: Check,
    *,
    is_http: bool,
    profile: Path | None = None,
) -> float:
    """Return the instructions of one call: the mean of `CALLS` sequential calls.

    `profile` receives the profile of these calls (`callgrind_annotate`).
    """
    start = _start_http if is_http else _start_stdio
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "callgrind")
        with start(_under_callgrind(candidate, output), params) as (pid, send_call):
            for _ in range(WARM_UP):
                check(send_call())
            _dump(pid)
            for _ in range(CALLS):
                check(send_call())
            _dump(pid)
        counted = Path(f"{output}.2")  # since the first dump
        if profile is not None:
            shutil.copy(counted, profile)
        (total,) = _TOTAL.findall(counted.read_text())
        return int(total) / CALLS


def _under_callgrind(candidate: Candidate, output: Path) -> Candidate:
    valgrind = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={output}")
    return replace(
        candidate,
        command=(*valgrind, *candidate.command),
        on_port=(*valgrind, *candidate.on_port),
        environment={**candidate.environment, **_STEADY},
    )


def _dump(pid: int) -> None:
    """Write the counts since the last dump to the next file."""
    subprocess.run(["vgdb", f"--pid={pid}", "dump"], check=True, capture_output=True)


@contextmanager
def _start_stdio(candidate: Candidate, params: Params) -> Iterator[tuple[int, SendCall]]:
    with stdio_server(candidate, 1) as server:
        yield server.pid, lambda: server.ask("tools/call", params)


@contextmanager
def _start_http(candidate: Candidate, params: Params) -> Iterator[tuple[int, SendCall]]:
    with (
        http_server(candidate, 1) as (pid, port),
        socket.create_connection(("127.0.0.1", port)) as connection,
    ):
        request = post_request(port, params)

        def send_call() -> dict[str, object]:
            connection.sendall(request)
            with HTTPResponse(connection) as response:
                response.begin()
                answer: dict[str, object] = json.loads(response.read())
                return answer

        yield pid, send_call
