"""Exchanged tokens in the store that replicas share: encrypted, with one exchange at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcpgen.runtime.errors import StoreUnavailableError
from mcpgen.runtime.state.key_ring import KeyRing
from mcpgen.runtime.state.store import Store
from mcpgen.runtime.upstream.auth.renewal import renew_once

PURPOSE: Final = b"mcpgen-exchange"  # of the keys
MAX_STORED_SECONDS: Final = 86_400.0
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class ExchangedToken:
    """An access token of the API for one caller."""

    value: str = field(repr=False)
    renew_at: float
    """Seconds since the epoch."""
    is_refused: bool = False
    """Whether the API has refused it; not stored."""


class ExchangedTokens:
    """Exchanged tokens of all callers of a server, shared by its replicas.

    What is in the store cannot be read, or used for another caller, without a key of the ring.
    """

    def __init__(self, store: Store, ring: KeyRing, *, server: str) -> None:
        """`server` is its name: several servers may share a store and keys."""
        self._store = store
        self._ring = ring
        self._server = server

    async def renew(
        self,
        parts: Sequence[str | list[str]],
        *,
        is_usable: Callable[[ExchangedToken], bool],
        exchange: Callable[[], Awaitable[ExchangedToken]],
        now: Callable[[], float],
    ) -> ExchangedToken:
        """Return a usable token from the store; else exchange one, in one process at a time.

        `parts` name for whom and for what the token is. While the store is unavailable, each
        process exchanges its own.
        """
        key = self._make_key("exchanged", parts)

        async def find() -> ExchangedToken | None:
            content = self._ring.open(await self._store.get(key), key)
            token = ExchangedToken(**content) if content is not None else None
            return token if token is not None and is_usable(token) else None

        async def exchange_and_store() -> ExchangedToken:
            token = await exchange()
            sealed = self._ring.seal({"value": token.value, "renew_at": token.renew_at}, key)
            seconds = min(token.renew_at - now(), MAX_STORED_SECONDS)
            if seconds > 0:
                with contextlib.suppress(StoreUnavailableError):  # the others exchange their own
                    await self._store.put(key, sealed, seconds)
            return token

        try:
            if (found := await find()) is not None:
                return found
            lock = self._make_key("exchanged-lock", parts)
            return await renew_once(self._store, lock, find=find, renew=exchange_and_store)
        except StoreUnavailableError:
            return await exchange()

    def _make_key(self, kind: str, parts: Sequence[str | list[str]]) -> str:
        names = json.dumps([self._server, *parts]).encode()
        return f"{kind}:{_VERSION}:{hashlib.blake2b(names, digest_size=24).hexdigest()}"
