"""The stored results of a server: their records in its store, and the index that bounds them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.json import Decoder, Encoder

from mcpgen.runtime.errors import StoreUnavailableError
from mcpgen.runtime.state.store import Store

MAX_RESULTS: Final = 1_000
MAX_OF_CLIENT: Final = 100
CLIENT_SHARE: Final = 4
"""The results of one client take at most the whole size divided by this."""
_GRACE_SECONDS: Final = 60.0  # for the clock of the store, which may be ahead
_MAX_TRIES: Final = 20  # to change the index, while other processes change it as well
_INDEX: Final = "results:1"
_LINE: Final = b"\n"


class StoredResult(Struct, frozen=True):
    """The record of a result, without its content. Times are seconds since the epoch."""

    caller: str  # hash of who may read it
    tool: str
    kind: str  # as in `PreparedResult`
    mime_type: str
    expires_at: float


class _Entry(Struct, frozen=True, array_like=True):
    """Index entry of a result."""

    handle: str
    client: str  # hash of the client that it counts for
    size: int
    expires_at: float


class ResultTable:
    """Bounded table of results, of all processes that share the store.

    A new result that exceeds a bound replaces the oldest ones: those of the same client if it has
    too many, else those of the client that has the most bytes. Every method raises
    `StoreUnavailableError` if the store does not answer.
    """

    def __init__(
        self,
        store: Store,
        *,
        max_bytes: int,
        ttl_seconds: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.ttl_seconds = ttl_seconds
        self._store = store
        self._max_bytes = max_bytes
        self._clock = clock
        self._encode = Encoder().encode
        self._decode = Decoder(StoredResult).decode
        self._decode_index = Decoder(tuple[_Entry, ...]).decode

    @property
    def max_result_bytes(self) -> int:
        """The size of the longest result that can be stored."""
        return self._max_bytes // CLIENT_SHARE

    @property
    def expires_at(self) -> float:
        """Expiry of a result that is stored now."""
        return self._clock() + self.ttl_seconds

    async def add(self, handle: str, client: str, record: StoredResult, content: bytes) -> None:
        """Store a result that is not longer than `max_result_bytes`."""
        dropped = await self._enter(_Entry(handle, client, len(content), record.expires_at))
        if dropped:
            await self._store.delete(*map(_make_key, dropped))
        seconds = max(record.expires_at - self._clock(), 0.0) + _GRACE_SECONDS
        data = b"".join((self._encode(record), _LINE, content))
        await self._store.put(_make_key(handle), data, seconds)

    async def find(self, handle: str) -> tuple[StoredResult, bytes] | None:
        """Return a result and its content; None if there is none or it has expired."""
        data = await self._store.get(_make_key(handle))
        if data is None:
            return None
        header, _, content = data.partition(_LINE)
        record = self._decode(header)
        return (record, content) if self._clock() < record.expires_at else None

    async def _enter(self, new: _Entry) -> list[str]:
        """Add a result to the index; return the handles of those that are removed for it."""
        seconds = self.ttl_seconds + _GRACE_SECONDS
        for _ in range(_MAX_TRIES):
            stored = await self._store.get(_INDEX)
            entries = () if stored is None else self._decode_index(stored)
            kept = self._make_room(entries, new)
            index = msgspec.json.encode((*kept, new))
            if stored is None:
                is_changed = await self._store.add(_INDEX, index, seconds)
            else:
                is_changed = await self._store.replace(_INDEX, stored, index, seconds)
            if is_changed:
                remaining = {it.handle for it in kept}
                return [it.handle for it in entries if it.handle not in remaining]
        raise StoreUnavailableError("other processes change the index of results all the time")

    def _make_room(self, entries: Sequence[_Entry], new: _Entry) -> list[_Entry]:
        """Return the entries, oldest first, that stay beside a new one."""
        now = self._clock()
        kept = [it for it in entries if now < it.expires_at]
        sizes, counts = Counter({new.client: new.size}), Counter({new.client: 1})
        for entry in kept:
            sizes[entry.client] += entry.size
            counts[entry.client] += 1
        while kept:
            if sizes[new.client] > self.max_result_bytes or counts[new.client] > MAX_OF_CLIENT:
                client = new.client
            elif sizes.total() > self._max_bytes or counts.total() > MAX_RESULTS:
                owners = {it.client for it in kept}
                client = max(owners, key=lambda each: (sizes[each], each))
            else:
                break
            oldest = next((it for it in kept if it.client == client), None)
            if oldest is None:
                break  # the new one alone is too long, which its sender has checked
            kept.remove(oldest)
            sizes[client] -= oldest.size
            counts[client] -= 1
        return kept


def _make_key(handle: str) -> str:
    return f"result:1:{handle}"
