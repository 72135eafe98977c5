"""Two replicas under load, one of which is killed repeatedly."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcpgen.runtime.state.open_store import open_store
from mcpgen.runtime.state.shared_sessions import SharedSessions
from mcpgen.runtime.transports.http.reply_stream import parse_event_id
from tests.support.balancer import Balancer, balancing
from tests.support.redis_server import RedisServer
from tests.support.replica_processes import (
    ServerProcess,
    read_lines,
    start_server,
    write_working_package,
)
from tests.support.wire_client import BrokenOffError, WireClient

CALL_SECONDS = 120.0  # within which each call must end
CLIENTS = 12
MAX_STEPS = 40
RESULTS_BETWEEN_KILLS = 10  # at least, however slow the machine is
REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25")


@dataclass
class Outcome:
    """The outcome of a call for its client."""

    name: str
    kind: str  # "result", "error" or "broken off"
    client: WireClient
    last_event_id: str = ""


@dataclass
class Report:
    """The counts and faults of a run."""

    kills: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    resumed: int = 0
    faults: list[str] = field(default_factory=list)

    def to_lines(self) -> list[str]:
        counted = self.outcomes
        calls = sum(counted.values())
        return [
            f"kills                                    {self.kills:>7,}",
            f"calls                                    {calls:>7,}",
            f"  answered with their result             {counted['result']:>7,}",
            f"  ended with an error, after a kill      {counted['error']:>7,}",
            f"  connection lost before a first event   {counted['broken off']:>7,}",
            f"streams resumed at another replica       {self.resumed:>7,}",
            f"lost, wrong or repeated answers          {len(self.faults):>7,}",
            f"seconds                                  {self.seconds:>7.0f}",
        ]


class Replicas:
    """Two servers on fixed ports, restarted after a kill."""

    def __init__(self, folder: Path, state_url: str, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._settings = {"SMALL_STATE_URL": state_url}
        self.servers: list[ServerProcess] = []
        self.ports: list[int] = []

    async def start(self) -> None:
        for _ in range(2):
            server = await self._start("0")
            self.servers.append(server)
            self.ports.append(int(server.url.rpartition(":")[2].partition("/")[0]))

    async def kill(self, number: int) -> None:
        """Kill a server and start it again."""
        self.servers[number].kill()
        await self.servers[number].end()
        self.servers[number] = await self._start(str(self.ports[number]))

    async def stop(self) -> None:
        for server in self.servers:
            server.kill(signal.SIGTERM)
        for server in self.servers:
            await server.end()

    async def _start(self, port: str) -> ServerProcess:
        server = await start_server(
            self._folder, "--port", port, *self._options, settings=self._settings
        )
        server.url = (await server.until_logged(r"served at (http://\S+)"))[1]
        return server


@asynccontextmanager
async def balanced_replicas(
    folder: Path, state_url: str, *options: str
) -> AsyncIterator[tuple[Replicas, Balancer]]:
    """Run two replicas behind a balancer."""
    replicas = Replicas(write_working_package(folder), state_url, *options)
    try:
        await replicas.start()
        async with balancing(replicas.ports) as balancer:
            yield replicas, balancer
    finally:
        await replicas.stop()


async def kill_replicas(folder: Path, kills: int, seed: int) -> Report:
    """Kill replicas at random moments while clients call; check the results of the clients."""
    random_moments = random.Random(seed)
    (folder / "redis").mkdir()
    with RedisServer(folder / "redis") as redis:
        async with balanced_replicas(folder, redis.url) as (replicas, balancer):
            clients = [
                WireClient(balancer.url, REVISIONS[number % len(REVISIONS)])
                for number in range(CLIENTS)
            ]
            for client in clients:
                await client.initialize()
            report, outcomes, is_over = Report(), list[Outcome](), asyncio.Event()
            begun = time.monotonic()
            calling = [
                asyncio.create_task(
                    _call_repeatedly(client, random.Random(f"{seed}-{number}"), outcomes, is_over)
                )
                for number, client in enumerate(clients)
            ]
            try:
                for number in range(kills):
                    await _wait_for_results(outcomes, number * RESULTS_BETWEEN_KILLS, calling)
                    await asyncio.sleep(random_moments.uniform(0.1, 0.8))
                    await replicas.kill(random_moments.randrange(2))
                    report.kills += 1
            finally:
                is_over.set()
                results = await asyncio.gather(*calling, return_exceptions=True)
            report.faults += [f"{type(it).__name__}: {it}" for it in results if it is not None]
            report.seconds = time.monotonic() - begun
            report.outcomes.update(outcome.kind for outcome in outcomes)
            report.resumed = sum(client.resumed for client in clients)
            report.faults += await _find_lost(outcomes, redis.url)
            report.faults += _find_repeated(outcomes, read_lines(folder / "finished"))
            for client in clients:  # their sessions go on
                answer = await client.call("work", name="the last one", id="last")
                if "result" not in answer:
                    report.faults.append(f"a session was lost: {answer}")
    return report


async def _wait_for_results(
    outcomes: list[Outcome], count: int, calling: list[asyncio.Task[None]]
) -> None:
    """Wait until this many calls were answered, or a client has failed."""
    while sum(outcome.kind == "result" for outcome in outcomes) < count:
        if any(task.done() for task in calling):
            return
        await asyncio.sleep(0.02)


async def _call_repeatedly(
    client: WireClient, chance: random.Random, outcomes: list[Outcome], is_over: asyncio.Event
) -> None:
    for number in itertools.count(1):
        if is_over.is_set():
            return
        name = f"{client.session_id[:8]}-{number}"
        steps = chance.randint(1, MAX_STEPS)
        try:
            async with asyncio.timeout(CALL_SECONDS):
                answer = await client.call("work", name=name, steps=steps, id=number)
        except BrokenOffError:
            outcomes.append(Outcome(name, "broken off", client))
            continue
        kind = _judge(answer, name, number)
        outcomes.append(Outcome(name, kind, client, client.last_event_id))
        if kind == "result" and client.first_event_id and chance.random() < 0.3:
            await _check_replay(client, answer)


def _judge(answer: Any, name: str, number: int) -> str:
    """Return the kind of a response; fail if it is wrong."""
    assert answer["id"] == number, f"{name}: the answer of another call: {answer}"
    if "error" in answer:
        assert "has ended" in answer["error"]["message"], answer
        return "error"
    assert json.loads(answer["result"]["content"][0]["text"])["name"] == name, answer
    return "result"


async def _check_replay(client: WireClient, answer: Any) -> None:
    """Check that a replay of a whole stream contains the response exactly once."""
    messages = await client.replay(client.first_event_id)
    answers = [it for it in messages if it.get("id") == answer["id"] and "method" not in it]
    assert answers == [answer], f"a replay has other answers: {answers}"


async def _find_lost(outcomes: list[Outcome], state_url: str) -> list[str]:
    """Return calls whose result is stored although the client got an error."""
    store = open_store(state_url, server="small")
    sessions, lost = SharedSessions(store), []
    try:
        for outcome in outcomes:
            if outcome.kind != "error":
                continue
            stream_id, _ = parse_event_id(outcome.last_event_id) or ("", 0)
            entries = await sessions.find_events_after(outcome.client.session_id, stream_id, 0)
            ends = [entry for _, entry in entries or () if entry.is_last]
            if len(ends) != 1 or b'"result"' in ends[0].data:
                lost.append(f"{outcome.name} was finished: {ends}")
    finally:
        await store.aclose()
    return lost


def _find_repeated(outcomes: list[Outcome], finished: list[str]) -> list[str]:
    """Return calls that ran twice, or that were answered without running."""
    ran = Counter(line.split()[0] for line in finished)
    repeated = [f"{name} ran {count} times" for name, count in ran.items() if count > 1]
    unfinished = [it.name for it in outcomes if it.kind == "result" and not ran[it.name]]
    return repeated + [f"{name} was answered and did not run" for name in unfinished]
