"""Interface of the store: state that outlives a request, shared by the replicas of a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from mcpgen.runtime.errors import StoreUnavailableError

__all__ = ["Store", "StoreUnavailableError"]


class Store(Protocol):
    """Key-value store with expiry, logs, counters and channels.

    Keys are text without control characters: `kind:version:…`. Values are bytes. Every key expires,
    so that nothing grows without bound; a store that is full refuses to store more, and never
    drops a key early. Values, logs and counters of the same key are independent. Each method
    raises `StoreUnavailableError` if the store does not answer within seconds; the next call tries
    again. The store in memory, in SQLite and in Valkey pass the same tests.
    """

    async def get(self, key: str) -> bytes | None:
        """Return a value; None if there is none or it has expired."""

    async def put(self, key: str, value: bytes, ttl_seconds: float) -> None:
        """Store a value, whether or not the key exists."""

    async def add(self, key: str, value: bytes, ttl_seconds: float) -> bool:
        """Store a value unless the key exists; return whether it was stored."""

    async def replace(self, key: str, old: bytes, new: bytes, ttl_seconds: float) -> bool:
        """Store `new` if the value is `old`; return whether it was stored."""

    async def take(self, key: str) -> bytes | None:
        """Return and delete a value in one step: of several callers, one gets it."""

    async def delete(self, *keys: str) -> None:
        """Delete values, logs and counters; unknown keys are ignored."""

    async def delete_if(self, key: str, value: bytes) -> bool:
        """Delete a key that has this value (release of a lock); return whether it had."""

    async def count(self, key: str, window_seconds: float, amount: int = 1) -> int:
        """Add to a counter that expires `window_seconds` after its first use; return the sum."""

    async def append(
        self, log: str, value: bytes, *, ttl_seconds: float, max_entries: int, max_bytes: int
    ) -> int:
        """Append an entry to a log and return its number; the first one is 1.

        The log expires `ttl_seconds` after its last entry. Above a bound the oldest entries are
        dropped; the newest one always stays. Numbers are never reused while the log exists.
        """

    async def read_log(self, log: str, after: int) -> list[tuple[int, bytes]] | None:
        """Return the stored entries above a number, oldest first; None for an unknown log."""

    async def publish(self, channel: str, message: bytes) -> None:
        """Send a message to the present subscribers of a channel, in every replica."""

    def subscribe(self, channels: Sequence[str]) -> AsyncGenerator[tuple[str, bytes], None]:
        """Yield the channel and the message of each publication; closing it unsubscribes.

        The subscription begins with the first iteration. `StoreUnavailableError` ends it:
        messages may have been lost. To continue, subscribe again and read the stored state.
        """

    async def check(self) -> None:
        """Check that the store answers, for `/readyz`."""

    async def aclose(self) -> None:
        """Release connections and files; end subscriptions."""
