"""Limits over all connections: their number, and the bytes that are buffered for them.

Above a limit, connections of the client with the largest share are closed. A client is an IPv4
address or an IPv6 /64 network. There is no limit per client, so that a single reverse proxy can
use the whole capacity while no one else needs it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from heapq import nsmallest
from ipaddress import IPv6Address
from typing import Final, Protocol

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.process.memory_budget import MemoryBudget, response_budget

_SPARE_DESCRIPTORS: Final = 200  # for requests to the API, and files that handlers open
_CLOSED_AT_ONCE: Final = (
    64  # connections; several, because finding the oldest ones is a scan of all
)
PARSING_SECONDS: Final = 0.005  # per turn of the event loop, for sliced input

IDLE: Final = 0  # between requests, or within an incomplete one
STREAMING: Final = 1  # a response has started, and its events may follow
CALLING: Final = 2  # a request is being answered


class LimitedConnection(Protocol):
    """Interface of a connection that the limits use."""

    client_network: str
    used_at: float  # when bytes last arrived
    buffered_bytes: int

    def state(self) -> int:
        """Return IDLE, STREAMING or CALLING."""

    def abort(self) -> None:
        """Close the connection at once."""

    def parse_next(self) -> None:
        """Parse the next slice of the input."""


class ConnectionLimits:
    """The open connections by client, and the bytes that each holds in memory."""

    def __init__(
        self,
        max_connections: int,
        *,
        max_buffered_bytes: int = DEFAULT_LIMITS.max_buffered_bytes,
        budget: MemoryBudget = response_budget,
    ) -> None:
        self.max_connections = max_connections
        self.asks_to_close = False  # responses ask clients to close the connection
        self.count = 0
        self.buffered_bytes = 0  # input and output that is buffered
        self.closed = 0  # to make room, since the server started
        self._max_buffered_bytes = max_buffered_bytes
        self._budget = budget
        self._by_client: dict[str, dict[LimitedConnection, None]] = {}
        self._holding: dict[LimitedConnection, None] = {}
        self._unparsed: deque[LimitedConnection] = deque()

    @property
    def is_memory_short(self) -> bool:
        """Whether calls wait for memory until slow clients have read their responses."""
        return self._budget.is_short

    def add(self, connection: LimitedConnection) -> bool:
        """Register a connection; return False if there is no room and none can be made."""
        if self.count >= self.max_connections and not self._make_room(connection.client_network):
            return False
        self._by_client.setdefault(connection.client_network, {})[connection] = None
        self.count += 1
        return True

    def remove(self, connection: LimitedConnection) -> None:
        """Unregister a closed connection; harmless if repeated."""
        of_client = self._by_client.get(connection.client_network, {})
        if connection in of_client:
            del of_client[connection]
            self.count -= 1
            if not of_client:
                del self._by_client[connection.client_network]
        self.hold(connection, 0)

    def close_idle(self) -> bool:
        """Close idle connections of the client that has the most; return False if there are none.

        A client keeps its only connection.
        """
        largest = self._largest_client()
        has_several = len(self._by_client.get(largest, ())) > 1
        return has_several and self._close_of(largest, below=CALLING)

    def hold(self, connection: LimitedConnection, size: int) -> None:
        """Record how many bytes are buffered for a connection."""
        change = size - connection.buffered_bytes
        if change == 0:
            return
        connection.buffered_bytes = size
        self.buffered_bytes += change
        self._budget.change_buffered(change)
        if size:
            self._holding[connection] = None
        else:
            self._holding.pop(connection, None)
        if change > 0:
            self._close_holders()

    def parse_later(self, connection: LimitedConnection) -> None:
        """Queue the connection, so that a slice of its input is parsed in turn."""
        if not self._unparsed:
            asyncio.get_running_loop().call_soon(self._parse_some)
        self._unparsed.append(connection)

    def _parse_some(self) -> None:
        """Parse queued slices for `PARSING_SECONDS`, then yield to the event loop."""
        due = time.monotonic() + PARSING_SECONDS
        for _ in range(len(self._unparsed)):
            self._unparsed.popleft().parse_next()
            if time.monotonic() >= due:
                break
        if self._unparsed:
            asyncio.get_running_loop().call_soon(self._parse_some)

    def _make_room(self, newcomer: str) -> bool:
        largest = self._largest_client()
        if self._close_of(largest, below=CALLING):
            return True
        # Every connection of the largest client awaits an answer: it loses one only to a client
        # that has less than half as many.
        own = len(self._by_client.get(newcomer, ()))
        is_entitled = len(self._by_client[largest]) > 2 * (own + 1)
        return is_entitled and self._close_of(largest, below=CALLING + 1, at_most=1)

    def _largest_client(self) -> str:
        by_client = self._by_client
        return max(by_client, key=lambda client: len(by_client[client]), default="")

    def _close_of(self, client: str, *, below: int, at_most: int = 0) -> bool:
        """Close the least used connections of a client; return False if none was closed."""
        of_client = self._by_client.get(client, {})
        least_used = nsmallest(
            at_most or max(1, self.max_connections // _CLOSED_AT_ONCE),
            of_client,
            key=lambda connection: (connection.state(), connection.used_at),
        )
        return self._close_all(it for it in least_used if it.state() < below)

    def _close_all(self, connections: Iterable[LimitedConnection]) -> bool:
        before = self.closed
        for connection in connections:
            self.closed += 1
            self.remove(connection)
            connection.abort()
        return self.closed > before

    def _close_holders(self) -> None:
        """Close connections of the clients that hold the most bytes, longest unused first."""
        while self.buffered_bytes > self._max_buffered_bytes:
            by_client: dict[str, int] = {}
            for connection in self._holding:
                client = connection.client_network
                by_client[client] = by_client.get(client, 0) + connection.buffered_bytes
            largest = max(by_client, key=lambda client: by_client[client])
            of_largest = (it for it in self._holding if it.client_network == largest)
            self._close_all([min(of_largest, key=lambda it: it.used_at)])


def determine_max_connections(requested: int) -> int:
    """Return the connection limit: `requested`, within the process's limit on file descriptors."""
    try:
        import resource
    except ImportError:  # Windows, where sockets are not file descriptors
        return requested
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return requested
    return max(1, min(requested, soft - min(_SPARE_DESCRIPTORS, soft // 2)))


MAX_RATIO: Final = 9
"""Maximum ratio of a caller's share to the free rest: a single caller gets nine tenths."""

_REMEMBERED: Final = 64
"""Callers that keep an entry of 0: adding one for each call costs more."""


class FairShare:
    """A shared limit. A caller may take more while it has less than `MAX_RATIO` times the rest.

    Exhausting the limit takes many callers: the first gets nine tenths, the second nine tenths of
    the rest, and so on.
    """

    __slots__ = ("_by_caller", "_free", "max_amount")

    def __init__(self, limit: int) -> None:
        self.max_amount = limit
        self._free = limit
        self._by_caller: dict[str, int] = {}

    def take(self, caller: str, amount: int = 1) -> bool:
        """Take an amount; return False, without taking any, if it exceeds the caller's share."""
        taken = self._by_caller.get(caller, 0)
        if amount > self._free or taken >= MAX_RATIO * self._free:
            return False
        self._by_caller[caller] = taken + amount
        self._free -= amount
        return True

    def release(self, caller: str, amount: int = 1) -> None:
        """Return an amount that `take` took."""
        self._free += amount
        left = self._by_caller[caller] - amount
        if left or len(self._by_caller) <= _REMEMBERED:
            self._by_caller[caller] = left
        else:
            del self._by_caller[caller]


@lru_cache(maxsize=4096)
def identify_client(host: str) -> str:
    """Return the network that counts as one client: an IPv4 address, or the /64 of an IPv6 one."""
    if ":" not in host:
        return host
    address = IPv6Address(host.partition("%")[0])  # without the name of an interface
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return address.exploded[:19]
