"""Short-lived records of the connect pages in the store: encrypted, found by a secret."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.state.key_ring import KeyRing
from mcpgen.runtime.state.store import Store

PURPOSE: Final = b"mcpgen-connect"  # of the keys
_VERSION: Final = 1
_MAX_SECRET: Final = 200  # characters of a secret that a browser sends


class Records:
    """Records of one kind, each under the hash of a secret: who reads the store has no secret."""

    def __init__(
        self, store: Store, ring: KeyRing, kind: str, *, server: str, ttl_seconds: float
    ) -> None:
        """`kind` and `server` separate the records of what shares the store."""
        self._store = store
        self._ring = ring
        self._prefix = f"{kind}:{_VERSION}:"
        self._server = server
        self._ttl_seconds = ttl_seconds

    async def create(self, content: JsonObject, secret: str = "") -> str:
        """Store a record; return its secret, a new one by default."""
        secret = secret or secrets.token_urlsafe(32)
        key = self._make_key(secret)
        await self._store.put(key, self._ring.seal(content, key), self._ttl_seconds)
        return secret

    async def find(self, secret: str) -> JsonObject | None:
        """Return a record; None if there is none, or it has expired."""
        if not 0 < len(secret) <= _MAX_SECRET:
            return None
        key = self._make_key(secret)
        return self._ring.open(await self._store.get(key), key)

    async def take(self, secret: str) -> JsonObject | None:
        """Return and delete a record: of several callers, one gets it."""
        if not 0 < len(secret) <= _MAX_SECRET:
            return None
        key = self._make_key(secret)
        return self._ring.open(await self._store.take(key), key)

    async def delete(self, secret: str) -> None:
        """Delete a record."""
        await self._store.delete(self._make_key(secret))

    def _make_key(self, secret: str) -> str:
        hashed = hashlib.blake2b(f"{self._server} {secret}".encode(), digest_size=24)
        return self._prefix + hashed.hexdigest()
