"""Pool of persistent connections, by origin."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Final

from mcpgen.runtime.upstream.http.connecting import Connector, Origin
from mcpgen.runtime.upstream.http.connection import Connection

MAX_CONNECTIONS: Final = 100  # of one origin
MAX_IDLE_CONNECTIONS: Final = 100  # of all origins
IDLE_SECONDS: Final = 4.0
"""How long an idle connection stays open; common servers close one after five seconds."""
MAX_IDLE_SECONDS: Final = 60.0  # if the API announces a longer time in `Keep-Alive`


class _Place:
    """The connections of one origin."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(MAX_CONNECTIONS)
        self.idle: list[Connection] = []
        self.users = 0  # requests that have a connection or wait for one


class ConnectionPool:
    """Pool that lends connections to requests."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._places: dict[Origin, _Place] = {}
        self._in_use: set[Connection] = set()
        self._idle_count = 0
        self._sweep: asyncio.TimerHandle | None = None

    async def acquire(self, origin: Origin, private_addresses_setting: str) -> Connection:
        """Return an idle connection, the latest used first, or a new one.

        Raises:
            ConnectError: no connection can be opened.
            ConfigurationError: a certificate file is invalid.
        """
        place = self._places.get(origin)
        if place is None:
            place = self._places[origin] = _Place()
        place.users += 1
        try:
            await place.turns.acquire()
            try:
                connection = await self._take_idle(place)
                if connection is None:
                    connection = await self._connector.connect(origin, private_addresses_setting)
            except BaseException:
                place.turns.release()
                raise
        except BaseException:
            self._leave(origin, place)
            raise
        self._in_use.add(connection)
        return connection

    def release(self, origin: Origin, connection: Connection, *, idle_seconds: float) -> None:
        """Return a connection; keep it for `idle_seconds`, or close it if that is 0."""
        self._in_use.discard(connection)
        place = self._places[origin]
        if idle_seconds > 0 and self._idle_count < MAX_IDLE_CONNECTIONS and connection.keep():
            connection.idle_seconds = idle_seconds
            place.idle.append(connection)
            self._idle_count += 1
            if self._sweep is None:
                self._schedule_sweep()
        else:
            connection.abort()
        place.turns.release()
        self._leave(origin, place)

    def close(self) -> None:
        """Close all connections; requests under way fail."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        idle = [connection for place in self._places.values() for connection in place.idle]
        for connection in (*idle, *self._in_use):
            connection.abort()
        for place in self._places.values():
            place.idle.clear()
        self._idle_count = 0

    async def _take_idle(self, place: _Place) -> Connection | None:
        if place.idle and sys.platform == "win32":
            # The proactor delivers a completed read within two turns.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        now = asyncio.get_running_loop().time()
        while place.idle:
            connection = place.idle.pop()
            self._idle_count -= 1
            if now - connection.idle_since > connection.idle_seconds:
                connection.abort()
            elif connection.take():
                return connection
        return None

    def _leave(self, origin: Origin, place: _Place) -> None:
        place.users -= 1
        if not place.users and not place.idle and self._places.get(origin) is place:
            del self._places[origin]

    def _schedule_sweep(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_later(IDLE_SECONDS / 2, self._close_stale)

    def _close_stale(self) -> None:
        self._sweep = None
        now = asyncio.get_running_loop().time()
        for origin, place in list(self._places.items()):
            kept = []
            for connection in place.idle:
                if connection.is_open and now - connection.idle_since <= connection.idle_seconds:
                    kept.append(connection)
                else:
                    connection.abort()
            self._idle_count -= len(place.idle) - len(kept)
            place.idle[:] = kept
            if not kept and not place.users:
                del self._places[origin]
        if self._idle_count:
            self._schedule_sweep()


def parse_idle_seconds(keep_alive: str) -> float:
    """Return how long a connection may idle, from the value of a `Keep-Alive` field or ""."""
    for parameter in keep_alive.split(","):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "timeout":
            with contextlib.suppress(ValueError):
                return min(max(float(int(value.strip()[:9])) - 1.0, 0.0), MAX_IDLE_SECONDS)
    return IDLE_SECONDS
