"""A server with tasks that is killed repeatedly: no announced task may be lost or changed.

`python -m tests.kills.tasks --kills 200 --seed 1` prints a table.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcpgen.cli.app import run
from mcpgen.testing.client.client import MODERN, Client, NoAnswerError, RpcError
from mcpgen.testing.client.connections import ConnectionLostError, HttpConnection
from tests.support.paths import REPOSITORY
from tests.support.replica_processes import ServerProcess
from tests.support.reports import DOCUMENT, HEAD
from tests.support.task_scene import FINAL, SUPPORTS_TASKS

CLIENTS = 6
TASKS_BETWEEN_KILLS = 4  # that were announced, at least
END_SECONDS = 120.0  # for all tasks to end after the last kill
MANIFEST = """
operations:
  createReport:
    poll: {until: status, values: [done], interval_seconds: 0.05, timeout_seconds: 5,
      operation: getReport}
"""
PROGRAM = """
import sys
from mcpgen.runtime.serving import serve
from mcpgen.runtime.tasks import table

table.LEASE_SECONDS = 1.0
table.RENEWAL_SECONDS = 0.25
sys.exit(serve("reports_mcp"))
"""
HANDLERS = '''"""Work that ends with its process."""

import asyncio

from mcpgen.runtime import Context, Features

features = Features()


@features.tool(task="auto")
async def work(ctx: Context, *, name: str, steps: int) -> str:
    """Work in steps."""
    await ctx.task.begin("begun")
    for step in range(steps):
        ctx.report_progress(step, steps)
        await asyncio.sleep(0.02)
    return f"{name} is done"
'''


@dataclass
class Announced:
    """A task whose id was sent to a client."""

    id: str
    kind: str  # "work" or "job"
    name: str
    final: dict[str, Any] | None = None


@dataclass
class Report:
    """The counts and faults of a run."""

    kills: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    seen_before: int = 0  # final states that a client saw before a later kill
    continued: int = 0  # jobs whose polling went on in another process
    faults: list[str] = field(default_factory=list)

    def to_lines(self) -> list[str]:
        counted = self.outcomes
        return [
            f"kills                                    {self.kills:>7,}",
            f"announced tasks                          {sum(counted.values()):>7,}",
            f"  handlers that completed                {counted['work completed']:>7,}",
            f"  handlers that a kill interrupted       {counted['work failed']:>7,}",
            f"  jobs that completed                    {counted['job completed']:>7,}",
            f"jobs continued by another process        {self.continued:>7,}",
            f"results compared after a later kill      {self.seen_before:>7,}",
            f"unknown, lost or changed                 {len(self.faults):>7,}",
            f"seconds                                  {self.seconds:>7.0f}",
        ]


class ReportsApi:
    """The reports API: a report is done after a number of requests, from any client."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._needed: dict[str, int] = {}
        self.polls: dict[str, list[int]] = {}  # the number of kills at each poll
        self.kills = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while line := await reader.readline():
                method, path, _ = line.decode().split()
                length = 0
                while (header := (await reader.readline()).decode().strip().lower()) != "":
                    if header.startswith("content-length:"):
                        length = int(header.partition(":")[2])
                await reader.readexactly(length)
                status, body = self._answer(method, path)
                data = json.dumps(body).encode()
                head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n"
                writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the server was killed
        finally:
            writer.close()

    def _answer(self, method: str, path: str) -> tuple[int, dict[str, str]]:
        if method == "POST":
            name = f"r{len(self._needed) + 1}"
            self._needed[name], self.polls[name] = self._chance.randint(1, 40), []
            return 202, {"id": name, "status": "queued"}
        name = path.rpartition("/")[2]
        self.polls[name].append(self.kills)
        is_done = len(self.polls[name]) >= self._needed[name]
        return 200, {"id": name, "status": "done" if is_done else "running"}


class KilledServer:
    """A server over HTTP on a fixed port, with the default store, restarted after a kill."""

    def __init__(self, folder: Path, api_url: str) -> None:
        self._folder = folder
        self._environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(REPOSITORY)]),
            "XDG_STATE_HOME": str(folder / "state"),
            "REPORTS_BASE_URL": api_url,
        }
        self._port = "0"
        self._process: ServerProcess | None = None
        self.url = ""
        self.is_up = asyncio.Event()

    async def start(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, "--http", "--port", self._port,
            cwd=self._folder, env=self._environ, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self._process = ServerProcess(process)
        self.url = (await self._process.until_logged(r"served at (http://\S+)"))[1]
        self._port = self.url.rpartition(":")[2].partition("/")[0]
        self.is_up.set()

    async def kill(self) -> None:
        self.is_up.clear()
        if self._process is not None:
            self._process.kill()
            await self._process.end()

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """Send a request; return its result, or None if the server was killed meanwhile."""
        await self.is_up.wait()
        connection = HttpConnection(self.url)
        try:
            async with Client(connection, MODERN, capabilities=SUPPORTS_TASKS) as client:
                return await client.request(method, params)
        except (ConnectionLostError, NoAnswerError, OSError):
            return None


@asynccontextmanager
async def served(folder: Path, api: ReportsApi) -> AsyncIterator[KilledServer]:
    """Generate the project, and serve it with the API."""
    source, project = folder / "openapi.json", folder / "reports-mcp"
    source.write_text(json.dumps(DOCUMENT))
    new = ["new", str(source), str(project), "--name", "reports", "--no-models", "-q"]
    (code,) = [await asyncio.to_thread(run, new)]
    (project / "mcpgen.yaml").write_text(HEAD + MANIFEST)
    (project / "src/reports_mcp/handlers/work.py").write_text(HANDLERS)
    code = code or await asyncio.to_thread(run, ["generate", str(project), "-q"])
    assert code == 0
    listener = await asyncio.start_server(api.serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    server = KilledServer(project, f"http://127.0.0.1:{port}")
    try:
        await server.start()
        yield server
    finally:
        await server.kill()
        listener.close()


async def kill_with_tasks(folder: Path, kills: int, seed: int) -> Report:
    """Kill the server at random moments while clients start tasks; check the tasks afterwards."""
    moments = random.Random(seed)
    api, report = ReportsApi(random.Random(f"{seed}-api")), Report()
    announced: list[Announced] = []
    begun = time.monotonic()
    async with served(folder, api) as server:
        clients = [
            asyncio.create_task(
                _begin_tasks(server, random.Random(f"{seed}-{number}"), number, announced)
            )
            for number in range(CLIENTS)
        ]
        for _ in range(kills):
            await _wait_for_tasks(announced, len(announced) + TASKS_BETWEEN_KILLS, clients)
            await asyncio.sleep(moments.uniform(0.0, 0.4))
            await server.kill()
            report.kills += 1
            api.kills += 1
            await server.start()
        for client in clients:
            client.cancel()
        results = await asyncio.gather(*clients, return_exceptions=True)
        report.faults += [repr(it) for it in results if isinstance(it, Exception)]
        async with asyncio.timeout(END_SECONDS):
            for task in announced:
                report.seen_before += task.final is not None
                await _check(server, task, report)
    report.continued = sum(len(set(polls)) > 1 for polls in api.polls.values())
    report.seconds = time.monotonic() - begun
    return report


async def _wait_for_tasks(
    announced: list[Announced], count: int, clients: list[asyncio.Task[None]]
) -> None:
    while len(announced) < count:
        if any(client.done() for client in clients):
            return
        await asyncio.sleep(0.01)


async def _begin_tasks(
    server: KilledServer, chance: random.Random, number: int, announced: list[Announced]
) -> None:
    """Start tasks one after the other; poll some of them until they have ended."""
    for count in itertools.count(1):
        name, is_job = f"{number}-{count}", chance.random() < 0.5
        arguments = {} if is_job else {"name": name, "steps": chance.randint(1, 40)}
        call = {"name": "create_report" if is_job else "work", "arguments": arguments}
        result = await server.request("tools/call", call)
        if result is None or result["resultType"] != "task":
            continue
        task = Announced(result["taskId"], "job" if is_job else "work", name)
        announced.append(task)
        if chance.random() < 0.5:
            task.final = await _ask_until_final(server, task.id)


async def _ask_until_final(server: KilledServer, task_id: str) -> dict[str, Any]:
    while True:
        found = await server.request("tasks/get", {"taskId": task_id})
        if found is not None and found["status"] in FINAL:
            return found
        await asyncio.sleep(0.05)


async def _check(server: KilledServer, task: Announced, report: Report) -> None:
    """Compare the final state of a task with the expected one and with earlier responses."""
    try:
        final = await _ask_until_final(server, task.id)
    except RpcError as error:
        report.faults.append(f"{task.kind} {task.name} is unknown: {error}")
        return
    report.outcomes[f"{task.kind} {final['status']}"] += 1
    if task.final is not None and task.final != final:
        report.faults.append(f"{task.kind} {task.name} has changed: {task.final} {final}")
    if final["status"] == "completed":
        content = final["result"]["content"][0]["text"]
        is_right = (
            '"status":"done"' in content
            if task.kind == "job"
            else (content == f"{task.name} is done")
        )
    else:  # only a handler can have been interrupted
        is_right = task.kind == "work" and "the server ended" in final["error"]["message"]
    if not is_right:
        report.faults.append(f"{task.kind} {task.name} is wrong: {final}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(kill_with_tasks(Path(folder), options.kills, options.seed))
    for line in (*report.to_lines(), *report.faults):
        print(line)
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
