"""The store of a single process: `memory:`."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from mcpgen.runtime.state.channels import Channels
from mcpgen.runtime.state.store import StoreUnavailableError

MAX_KEYS: Final = 1_000_000
MAX_BYTES: Final = 256 * 1024 * 1024
_KEY_BYTES: Final = 200  # estimate for an entry without its key and value
_MIN_REBUILD: Final = 1000


@dataclass(slots=True)
class _Log:
    last: int = 0  # number of the newest entry
    size: int = 0
    entries: deque[tuple[int, bytes]] = field(default_factory=deque)


_Content: TypeAlias = bytes | int | _Log
_Key: TypeAlias = tuple[str, str]  # kind ("value", "count", "log") and key


@dataclass(slots=True)
class _Entry:
    content: _Content
    expires_at: float
    size: int


class MemoryStore:
    """State of this process, bounded in keys and bytes; it ends with the process."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        max_keys: int = MAX_KEYS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._clock = clock
        self._max_keys = max_keys
        self._max_bytes = max_bytes
        self._entries: dict[_Key, _Entry] = {}
        self._ends: list[
            tuple[float, str, str]
        ] = []  # heap of expiry times; may name entries that were replaced
        self._size = 0
        self._channels = Channels()
        self._is_closed = False

    async def get(self, key: str) -> bytes | None:
        """Return a value."""
        return self._find_value(key)

    async def put(self, key: str, value: bytes, ttl_seconds: float) -> None:
        """Store a value."""
        self._store(("value", key), value, self._clock() + ttl_seconds, len(value))

    async def add(self, key: str, value: bytes, ttl_seconds: float) -> bool:
        """Store a value unless the key exists."""
        if self._find_value(key) is not None:
            return False
        self._store(("value", key), value, self._clock() + ttl_seconds, len(value))
        return True

    async def replace(self, key: str, old: bytes, new: bytes, ttl_seconds: float) -> bool:
        """Store `new` if the value is `old`."""
        if self._find_value(key) != old:
            return False
        self._store(("value", key), new, self._clock() + ttl_seconds, len(new))
        return True

    async def take(self, key: str) -> bytes | None:
        """Return and delete a value."""
        value = self._find_value(key)
        self._drop(("value", key))
        return value

    async def delete(self, *keys: str) -> None:
        """Delete values, logs and counters."""
        for key in keys:
            for kind in ("value", "count", "log"):
                self._drop((kind, key))

    async def delete_if(self, key: str, value: bytes) -> bool:
        """Delete a key that has this value."""
        if self._find_value(key) != value:
            return False
        self._drop(("value", key))
        return True

    async def count(self, key: str, window_seconds: float, amount: int = 1) -> int:
        """Add to a counter."""
        entry = self._find(("count", key))
        before = entry.content if entry is not None else 0
        ends = entry.expires_at if entry is not None else self._clock() + window_seconds
        assert isinstance(before, int)  # noqa: S101  (by its key)
        self._store(("count", key), before + amount, ends, 8)
        return before + amount

    async def append(
        self, log: str, value: bytes, *, ttl_seconds: float, max_entries: int, max_bytes: int
    ) -> int:
        """Append an entry to a log."""
        entry = self._find(("log", log))
        stored = entry.content if entry is not None else _Log()
        assert isinstance(stored, _Log)  # noqa: S101  (by its key)
        self._check_room(len(value) + _KEY_BYTES)
        stored.last += 1
        stored.entries.append((stored.last, value))
        stored.size += len(value) + _KEY_BYTES
        while len(stored.entries) > 1 and (
            len(stored.entries) > max_entries
            or stored.size - _KEY_BYTES * len(stored.entries) > max_bytes
        ):
            stored.size -= len(stored.entries.popleft()[1]) + _KEY_BYTES
        self._store(("log", log), stored, self._clock() + ttl_seconds, stored.size)
        return stored.last

    async def read_log(self, log: str, after: int) -> list[tuple[int, bytes]] | None:
        """Return the stored entries above a number."""
        entry = self._find(("log", log))
        if entry is None:
            return None
        assert isinstance(entry.content, _Log)  # noqa: S101  (by its key)
        return [(number, value) for number, value in entry.content.entries if number > after]

    async def publish(self, channel: str, message: bytes) -> None:
        """Send a message to the subscribers in this process."""
        self._channels.deliver(channel, message)

    def subscribe(self, channels: Sequence[str]) -> AsyncGenerator[tuple[str, bytes], None]:
        """Yield the messages of channels."""
        return self._channels.subscribe(channels)

    async def check(self) -> None:
        """Check that the store is open."""
        if self._is_closed:
            raise StoreUnavailableError("the state store is closed")

    async def aclose(self) -> None:
        """Delete everything; end subscriptions."""
        self._is_closed = True
        self._entries.clear()
        self._ends.clear()
        self._size = 0
        self._channels.fail("the state store is closed")

    def _find(self, key: _Key) -> _Entry | None:
        entry = self._entries.get(key)
        return entry if entry is not None and entry.expires_at > self._clock() else None

    def _find_value(self, key: str) -> bytes | None:
        entry = self._find(("value", key))
        return entry.content if entry is not None and isinstance(entry.content, bytes) else None

    def _store(self, key: _Key, content: _Content, expires_at: float, size: int) -> None:
        self._expire()
        size += len(key[1]) + _KEY_BYTES
        before = self._entries.get(key)
        freed = before.size if before is not None else 0
        if before is None and len(self._entries) >= self._max_keys:
            raise StoreUnavailableError(f"the state in memory has {self._max_keys:,} keys")
        if not isinstance(content, _Log):  # `append` has checked its size
            self._check_room(size - freed)
        self._size += size - freed
        self._entries[key] = _Entry(content, expires_at, size)
        if before is None or before.expires_at != expires_at:
            heapq.heappush(self._ends, (expires_at, *key))

    def _check_room(self, size: int) -> None:
        self._expire()
        if self._size + size > self._max_bytes:
            raise StoreUnavailableError(f"the state in memory has {self._max_bytes:,} bytes")

    def _drop(self, key: _Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size -= entry.size

    def _expire(self) -> None:
        now = self._clock()
        while self._ends and self._ends[0][0] <= now:
            _, *key = heapq.heappop(self._ends)
            entry = self._entries.get((key[0], key[1]))
            if entry is not None and entry.expires_at <= now:
                self._drop((key[0], key[1]))
        if len(self._ends) > 2 * len(self._entries) + _MIN_REBUILD:
            self._ends = [(it.expires_at, *key) for key, it in self._entries.items()]
            heapq.heapify(self._ends)
