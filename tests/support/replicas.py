"""Two replicas of a server in one process, with a shared store and an alternating client."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from msgspec.json import Encoder

from mcpgen.contract.limits import Limits
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.state.replica import Replica
from mcpgen.runtime.transports.http.exchange import HttpExchange
from mcpgen.runtime.transports.http.streamable import StreamableHttp
from mcpgen.runtime.transports.json_input import make_hot_decoder
from tests.support.http_server import BOUND_SECONDS, Client, Clock, FakeTools, definition
from tests.support.stoppable_store import StoppableStore

LEASE_SECONDS = 0.4


@dataclass
class ReplicaServed:
    """One replica."""

    replica: Replica
    app: StreamableHttp
    tools: FakeTools
    dispatcher: Dispatcher
    clock: Clock

    @property
    def client(self) -> Client:
        """A new client that reaches only this replica."""
        return Client(self.app)

    async def die(self) -> None:
        """Stop as after SIGKILL: nothing is written or sent any more."""
        dead: Any = StoppableStore()
        dead.stop()
        shared: Any = self.app._sessions
        self.replica.store = shared.shared.store = dead
        self.dispatcher.announce_elsewhere = None
        for tasks in (self.replica._running, self.dispatcher._tasks.values(), shared._writers):
            ended = list(tasks)
            for task in ended:
                task.cancel()
            await asyncio.gather(*ended, return_exceptions=True)


class RoundRobin:
    """An application that forwards each request to the next replica."""

    def __init__(self, apps: list[StreamableHttp]) -> None:
        self._next = itertools.cycle(apps)

    async def answer(self, exchange: HttpExchange) -> None:
        await next(self._next).answer(exchange)


@dataclass
class Replicas:
    """Two replicas and their store."""

    store: StoppableStore
    both: tuple[ReplicaServed, ReplicaServed]

    def new_client(self) -> Client:
        """Return a client whose requests alternate between the replicas."""
        app: Any = RoundRobin([it.app for it in self.both])
        return Client(app)

    def at(self, number: int, client: Client) -> Client:
        """Return a copy of the client whose requests go to one replica."""
        moved = Client(self.both[number].app)
        moved.session_id, moved.revision = client.session_id, client.revision
        return moved


def make_replica(store: StoppableStore, **more: Any) -> ReplicaServed:
    """Make a replica; `more` is passed to `StreamableHttp`."""
    tools, clock = FakeTools(), Clock()
    dispatcher = Dispatcher(tools, limits=Limits({"client_timeout_seconds": BOUND_SECONDS}))
    shared: Any = store
    replica = Replica(shared, lease_seconds=LEASE_SECONDS)
    app = StreamableHttp(
        more.pop("definition", None) or definition(),
        dispatcher,
        decode=make_hot_decoder(),
        encode=Encoder().encode,
        replica=replica,
        now=clock,
        **more,
    )
    return ReplicaServed(replica, app, tools, dispatcher, clock)


def run_replicas(scenario: Callable[[Replicas], Coroutine[Any, Any, None]], **options: Any) -> None:
    """Run a test against two replicas, with a time limit."""

    async def bounded() -> None:
        store = StoppableStore()
        both = make_replica(store, **options), make_replica(store, **options)
        for each in both:
            await each.replica.start()
        try:
            await asyncio.wait_for(scenario(Replicas(store, both)), 3 * BOUND_SECONDS)
        finally:
            for each in both:
                with suppress(Exception):
                    await each.replica.aclose()

    with asyncio.Runner() as runner:
        runner.run(bounded())
