"""Measure many tasks in one server over stdio with the default store: CPU and memory.

`make bench` runs it. The answers of the server are read in batches, so that its CPU is that of the
requests and not of waiting for them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mcpgen.runtime.protocol.jsonrpc import TASKS_EXTENSION
from tests.benchmarks.processes import cpu_seconds, resident_megabytes
from tests.support.protocol_client import CAPABILITIES, MODERN, VERSION
from tests.support.stdio_process import StdioProcess, write_package

BATCH = 50
WARM_TASKS = 1000
READS = 3000
MAX_GET_MS = 1.0
META = {VERSION: MODERN, CAPABILITIES: {"extensions": {TASKS_EXTENSION: {}}}}
HANDLERS = '''
import asyncio

from mcpgen.runtime import Context, Features

features = Features()
TEXT = "x" * 1000


@features.tool(task="auto")
async def job(ctx: Context) -> str:
    """Become a task with a result of a kilobyte."""
    await ctx.task.begin()
    await asyncio.sleep(0)
    return TEXT


@features.tool()
async def at_once(ctx: Context) -> str:
    """Return the same at once."""
    return TEXT
'''


@dataclass(frozen=True)
class ManyTasks:
    """CPU milliseconds of the server for each request, and its memory in megabytes."""

    tasks: int
    create_ms: float
    get_ms: float
    call_ms: float
    before_mb: float
    after_mb: float

    def to_lines(self) -> list[str]:
        return [
            f"| a task, from its call to its stored result (1 kB) | {self.create_ms:.2f} ms |",
            f"| `tasks/get` of one of {self.tasks:,} tasks | {self.get_ms:.2f} ms |",
            f"| a call with the same result and without a task | {self.call_ms:.2f} ms |",
            f"| `tasks/get` / that call | {self.get_ms / self.call_ms:.1f} |",
            f"| memory after {WARM_TASKS:,} tasks | {self.before_mb:.0f} MB |",
            f"| memory after {self.tasks:,} tasks | {self.after_mb:.0f} MB |",
        ]


class Peer:
    """A client that sends requests in batches."""

    def __init__(self, process: StdioProcess) -> None:
        self._process = process
        self._ids = count(1)

    def ask(self, requests: Iterator[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """Send requests; return their results in the order of the requests."""
        results: list[dict[str, Any]] = []
        waiting: dict[int, str] = {}
        for method, params in requests:
            number = next(self._ids)
            message = {"jsonrpc": "2.0", "id": number, "method": method}
            waiting[number] = json.dumps({**message, "params": {"_meta": META, **params}})
            if len(waiting) == BATCH:
                results += self._exchange(waiting)
                waiting = {}
        return results + self._exchange(waiting)

    def _exchange(self, waiting: dict[int, str]) -> list[dict[str, Any]]:
        self._process.send_bytes("".join(f"{line}\n" for line in waiting.values()).encode())
        answers = {it["id"]: it["result"] for it in (self._process.receive() for _ in waiting)}
        return [answers[number] for number in waiting]


def measure(folder: Path, tasks: int, seed: int = 1) -> ManyTasks:
    """Start tasks in a new server, and read some of them again."""
    write_package(folder)
    (folder / "small_mcp" / "handlers" / "jobs.py").write_text(HANDLERS)
    os.environ["SMALL_MAX_TASKS"] = str(2 * tasks + WARM_TASKS)
    os.environ["SMALL_STATE_URL"] = f"sqlite:///{folder / 'tasks.db'}"
    try:
        with StdioProcess(folder) as process:
            return _measure(process, tasks, random.Random(seed))
    finally:
        del os.environ["SMALL_MAX_TASKS"], os.environ["SMALL_STATE_URL"]


def _measure(process: StdioProcess, tasks: int, chance: random.Random) -> ManyTasks:
    peer = Peer(process)
    begun = peer.ask(("tools/call", {"name": "job"}) for _ in range(WARM_TASKS))
    _wait_for_all(peer, begun)
    before = resident_megabytes(process.pid)

    def begin() -> None:
        begun.extend(peer.ask(("tools/call", {"name": "job"}) for _ in range(tasks - WARM_TASKS)))
        _wait_for_all(peer, begun[-BATCH:])

    create = _count_cpu(process.pid, begin) / (tasks - WARM_TASKS)
    after = resident_megabytes(process.pid)
    chosen = [chance.choice(begun)["taskId"] for _ in range(READS)]

    def read() -> None:
        found = peer.ask(("tasks/get", {"taskId": it}) for it in chosen)
        assert all(it["status"] == "completed" for it in found)

    def call() -> None:
        found = peer.ask(("tools/call", {"name": "at_once"}) for _ in range(READS))
        assert all(it["resultType"] == "complete" for it in found)

    get_seconds = _count_cpu(process.pid, read) / READS
    call_seconds = _count_cpu(process.pid, call) / READS
    return ManyTasks(tasks, create * 1e3, get_seconds * 1e3, call_seconds * 1e3, before, after)


def _wait_for_all(peer: Peer, begun: list[dict[str, Any]]) -> None:
    waiting = [it["taskId"] for it in begun]
    while waiting:
        found = peer.ask(("tasks/get", {"taskId": it}) for it in waiting)
        waiting = [it["taskId"] for it in found if it["status"] != "completed"]


def _count_cpu(pid: int, work: Callable[[], None]) -> float:
    """Return the CPU seconds that the server spends on some work."""
    begun = cpu_seconds(pid)
    work()
    return cpu_seconds(pid) - begun


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), options.tasks)
    print("\n".join(found.to_lines()))
    return 0 if found.get_ms < MAX_GET_MS else 1


if __name__ == "__main__":
    sys.exit(main())
