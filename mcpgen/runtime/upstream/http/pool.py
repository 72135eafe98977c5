"""Pool of persistent connections, by origin."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Final

from mcpgen.contract.limits import Limits
from mcpgen.runtime.upstream.http.connecting import Connector, Origin
from mcpgen.runtime.upstream.http.connection import Connection

MAX_IDLE_SECONDS: Final = 60.0  # if the API announces a longer time in `Keep-Alive`
_MIN_SWEEP_SECONDS: Final = 0.1


class _Place:
    """The connections of one origin."""

    def __init__(self, max_connections: int) -> None:
        self.turns = asyncio.Semaphore(max_connections)
        self.idle: list[Connection] = []
        self.users = 0  # requests that have a connection or wait for one


class ConnectionPool:
    """Pool that lends connections to requests.

    An origin has at most `max_concurrent` connections, and as many of all origins may be idle.
    """

    def __init__(self, connector: Connector, limits: Limits) -> None:
        self._connector = connector
        self._max_connections = limits.max_concurrent
        # Common servers close an idle connection after five seconds.
        self._idle_seconds = limits.idle_timeout_seconds
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
            place = self._places[origin] = _Place(self._max_connections)
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

    def find_idle_seconds(self, keep_alive: str) -> float:
        """Return how long a connection may idle, from the value of a `Keep-Alive` field or ""."""
        return parse_idle_seconds(keep_alive, self._idle_seconds)

    def release(self, origin: Origin, connection: Connection, *, idle_seconds: float) -> None:
        """Return a connection; keep it for `idle_seconds`, or close it if that is 0."""
        self._in_use.discard(connection)
        place = self._places[origin]
        if idle_seconds > 0 and self._idle_count < self._max_connections and connection.keep():
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
        self._sweep = loop.call_later(
            max(self._idle_seconds, _MIN_SWEEP_SECONDS) / 2, self._close_stale
        )

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


def parse_idle_seconds(keep_alive: str, default: float) -> float:
    """Return how long a connection may idle, from the value of a `Keep-Alive` field or "".

    A `default` of 0 is 0 for every connection.
    """
    if not default:
        return 0.0
    for parameter in keep_alive.split(","):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "timeout":
            with contextlib.suppress(ValueError):
                return min(max(float(int(value.strip()[:9])) - 1.0, 0.0), MAX_IDLE_SECONDS)
    return default
