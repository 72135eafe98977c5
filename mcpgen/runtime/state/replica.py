"""Replicas: processes that share a store. Their leases, and messages between them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeAlias

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.process.log import describe_error, log
from mcpgen.runtime.state.store import Store, StoreUnavailableError

LEASE_SECONDS: Final = 10.0
"""Validity of a lease after its renewal."""
RENEWALS_PER_LEASE: Final = 4
RETRY_SECONDS: Final = 0.5  # of a store that did not answer
START_SECONDS: Final = 5.0  # for the first message to arrive through the store
_GREETING_SECONDS: Final = 0.05
_EVERYONE: Final = "replicas:1"

Receive: TypeAlias = Callable[[JsonObject], Awaitable[None]]


class Replica:
    """This process as a replica: it renews a lease, sends messages and receives them.

    A replica whose lease has expired is dead, and the others no longer wait for it. Messages are
    delivered at most once. Data that must not be lost is in the store; a message only refers to it.
    """

    def __init__(self, store: Store, *, lease_seconds: float | None = None) -> None:
        self.id = secrets.token_hex(6)
        self.store = store
        self.lease_seconds = LEASE_SECONDS if lease_seconds is None else lease_seconds
        self._receivers: dict[str, Receive] = {"hello": self._receive_greeting}
        self._is_reached = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()  # an event loop keeps no task alive
        self._running: list[asyncio.Task[None]] = []
        self._is_failing = False

    def on(self, kind: str, receive: Receive) -> None:
        """Pass each message of this kind to `receive`, one after the other."""
        self._receivers[kind] = receive

    async def start(self) -> None:
        """Begin to renew the lease and to receive; return once messages arrive.

        If the store does not answer within `START_SECONDS`, return too: the process then serves
        requests that need no store, and tries again.
        """
        self._running = [
            asyncio.create_task(self._renew_lease()),
            asyncio.create_task(self._receive_all()),
        ]
        with contextlib.suppress(TimeoutError, StoreUnavailableError):
            async with asyncio.timeout(START_SECONDS):
                await self._greet()

    async def aclose(self) -> None:
        """Stop, and delete the lease, so that the others know at once."""
        for task in (*self._running, *self._tasks):
            task.cancel()
        await asyncio.gather(*self._running, *self._tasks, return_exceptions=True)
        with contextlib.suppress(StoreUnavailableError):
            await self.store.delete(_lease_key(self.id))

    async def is_alive(self, replica_id: str) -> bool:
        """Return whether the lease of a replica is valid."""
        return replica_id == self.id or await self.store.get(_lease_key(replica_id)) is not None

    async def broadcast(self, kind: str, **fields: Any) -> None:
        """Send a message to all other replicas."""
        await self._publish(_EVERYONE, kind, fields)

    async def send(self, replica_id: str, kind: str, **fields: Any) -> None:
        """Send a message to one replica; it is lost if that replica has ended."""
        await self._publish(_channel(replica_id), kind, fields)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background; log a store that does not answer."""

        async def run() -> None:
            try:
                await work
            except StoreUnavailableError as error:
                self._report(error)

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- internal ------------------------------------------------------------------------------

    async def _publish(self, channel: str, kind: str, fields: JsonObject) -> None:
        message = {"from": self.id, "kind": kind, **fields}
        await self.store.publish(channel, json.dumps(message).encode())

    async def _greet(self) -> None:
        while not self._is_reached.is_set():
            await self.send(self.id, "hello")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GREETING_SECONDS):
                    await self._is_reached.wait()

    async def _receive_greeting(self, _: JsonObject) -> None:
        self._is_reached.set()

    async def _renew_lease(self) -> None:
        while True:
            try:
                await self.store.put(_lease_key(self.id), b"1", self.lease_seconds)
                self._report_recovery()
            except StoreUnavailableError as error:
                self._report(error)
                await asyncio.sleep(min(RETRY_SECONDS, self.lease_seconds / RENEWALS_PER_LEASE))
                continue
            await asyncio.sleep(self.lease_seconds / RENEWALS_PER_LEASE)

    async def _receive_all(self) -> None:
        channels = (_EVERYONE, _channel(self.id))
        while True:
            try:
                async with contextlib.aclosing(self.store.subscribe(channels)) as messages:
                    async for channel, data in messages:
                        await self._receive(channel, data)
            except StoreUnavailableError as error:
                self._report(error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _receive(self, channel: str, data: bytes) -> None:
        try:
            message = json.loads(data)
            if channel == _EVERYONE and message["from"] == self.id:
                return
            receive = self._receivers.get(message["kind"])
            if receive is not None:
                await receive(message)
        except StoreUnavailableError as error:
            self._report(error)
        except Exception as error:  # noqa: BLE001  (the boundary: other messages must be received)
            log("error", f"message of a replica: {describe_error(error)}")

    def _report(self, error: StoreUnavailableError) -> None:
        if not self._is_failing:
            self._is_failing = True
            log("error", f"the state store is unavailable: {error}; sessions are refused")

    def _report_recovery(self) -> None:
        if self._is_failing:
            self._is_failing = False
            log("info", "the state store is available again")


async def join_replicas(store: Store) -> Replica:
    """Start this process as a replica; the caller closes the store after the replica."""
    replica = Replica(store)
    await replica.start()
    return replica


def _channel(replica_id: str) -> str:
    return f"replica:1:{replica_id}"


def _lease_key(replica_id: str) -> str:
    return f"lease:1:{replica_id}"
