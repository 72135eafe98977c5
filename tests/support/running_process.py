"""Processes of servers, ours and third-party ones, and of proxies."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.http_server import BOUND_SECONDS
from tests.support.paths import REPOSITORY

ATTEMPTS = 3000
PAUSE_SECONDS = 0.02  # between two


@contextmanager
def serving(
    folder: Path, command: Sequence[str], served: str, settings: Mapping[str, str] | None = None
) -> Iterator[int]:
    """Run a Python module; yield the port that `served` finds in its log."""
    log_file = folder / f"{command[0]}.log"
    paths = os.pathsep.join([str(folder), str(REPOSITORY)])
    environ = {**os.environ, "PYTHONPATH": paths, **(settings or {})}
    with log_file.open("w") as log:
        process = subprocess.Popen([sys.executable, "-m", *command], env=environ, stderr=log)
    try:
        found = None
        for _ in range(ATTEMPTS):
            found = re.search(served, log_file.read_text())
            if found or process.poll() is not None:
                break
            select.select([], [], [], PAUSE_SECONDS)
        assert found, log_file.read_text()
        yield int(found[1])
        process.terminate()
        assert process.wait(BOUND_SECONDS) in {0, -signal.SIGTERM}, log_file.read_text()
        assert "Traceback" not in log_file.read_text()
    finally:
        process.kill()
        process.wait()


def wait_until_listening(port: int, process: subprocess.Popen[bytes], log_file: Path) -> None:
    """Wait until a process accepts connections on a port."""
    for _ in range(ATTEMPTS):
        assert process.poll() is None, log_file.read_text()
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            select.select([], [], [], PAUSE_SECONDS)
        else:
            return
    raise AssertionError(f"nothing listens on port {port}: {log_file.read_text()}")


def wait_for_end(pid: int) -> None:
    """Wait until a process that is not our child has ended, or is a zombie."""
    for _ in range(ATTEMPTS):
        if not is_running(pid):
            return
        select.select([], [], [], PAUSE_SECONDS)
    raise AssertionError(f"process {pid} still runs")


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
