"""The processes of a server and their memory, from /proc of Linux."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_POLL_SECONDS: Final = 0.1
_ENDED: Final = frozenset({"Z", "X", "x"})
_PAGE_SIZE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
CAN_MEASURE: Final = sys.platform == "linux"


def list_processes(session: int) -> list[int]:
    """Return the ids of processes that run in a session, whose id is that of its first process."""
    found = []
    for entry in _PROC.iterdir() if CAN_MEASURE else ():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            # "pid (name) state ppid pgrp session": the name may contain spaces and parentheses.
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[3]) == session and fields[0].decode() not in _ENDED:
                found.append(int(entry.name))
    return found


def measure_memory(session: int) -> int | None:
    """Return the resident bytes of all processes of a session; None if nothing was measured."""
    total = 0
    for process in list_processes(session):
        with contextlib.suppress(OSError):
            total += int((_PROC / str(process) / "statm").read_text().split()[1]) * _PAGE_SIZE
    return total or None


def describe_process(process: int) -> str:
    """Return the name of a program; "" if it has ended."""
    try:
        return (_PROC / str(process) / "comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


async def wait_for_end(session: int, timeout_seconds: float) -> list[int]:
    """Wait until no process of a session runs; return those that still run after the time."""
    for _ in range(round(timeout_seconds / _POLL_SECONDS)):
        if not list_processes(session):
            break
        await asyncio.sleep(_POLL_SECONDS)
    return list_processes(session)


def kill_all(processes: list[int]) -> None:
    """End processes at once."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
