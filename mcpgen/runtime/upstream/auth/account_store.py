"""Connected accounts in the store: encrypted, by principal and security scheme."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Final

from mcpgen.runtime.state.key_ring import KeyRing
from mcpgen.runtime.state.store import Store

IDLE_SECONDS: Final = 90 * 86_400.0
"""Time for which an account is stored after its tokens were last renewed."""
PURPOSE: Final = b"mcpgen-account"  # of the keys
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Account:
    """Tokens of one user at the API."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    """"" if the API issues none: the access token is used until the API refuses it."""
    renew_at: float
    """Seconds since the epoch."""
    scopes: frozenset[str]
    """The scopes that were requested from the user."""
    connected_at: float
    user: str = ""
    """The user at the authorization server (`TokenGrant.user`); "" if unknown."""
    sealed: bytes = field(default=b"", repr=False, compare=False)
    """The encrypted form in the store."""


class AccountStore:
    """Accounts of all users of a server, shared by its replicas.

    Without a key of the ring, entries cannot be read or assigned to another user. An account whose
    key was removed counts as absent.
    """

    def __init__(self, store: Store, ring: KeyRing, *, server: str) -> None:
        """`server` is its name: several servers may share a store and keys."""
        self.store = store
        self._ring = ring
        self._server = server

    def make_key(self, principal: str, scheme: str, kind: str = "account") -> str:
        """Return the key of a user's account, or of its lock; the principal is hashed."""
        names = json.dumps([self._server, principal, scheme]).encode()
        return f"{kind}:{_VERSION}:{hashlib.blake2b(names, digest_size=24).hexdigest()}"

    async def find(self, principal: str, scheme: str) -> Account | None:
        """Return a user's account; None if there is none that can be decrypted."""
        key = self.make_key(principal, scheme)
        return self._open(key, await self.store.get(key))

    async def take(self, principal: str, scheme: str) -> Account | None:
        """Delete a user's account and return it; None if there is none that can be decrypted."""
        key = self.make_key(principal, scheme)
        return self._open(key, await self.store.take(key))

    def _open(self, key: str, sealed: bytes | None) -> Account | None:
        it = self._ring.open(sealed, key)
        if sealed is None or it is None:
            return None
        return Account(
            it["access"],
            it["refresh"],
            it["renew_at"],
            frozenset(it["scopes"]),
            it["connected_at"],
            it.get("user", ""),  # absent in the entries of mcpgen 0.6
            sealed,
        )

    async def save(self, principal: str, scheme: str, account: Account) -> None:
        """Store a user's account; replace a former one."""
        key = self.make_key(principal, scheme)
        await self.store.put(key, self._seal(key, account), IDLE_SECONDS)

    async def replace(self, principal: str, scheme: str, old: Account, new: Account) -> bool:
        """Store renewed tokens; return False if the account was replaced or revoked meanwhile."""
        key = self.make_key(principal, scheme)
        return await self.store.replace(key, old.sealed, self._seal(key, new), IDLE_SECONDS)

    async def delete(self, principal: str, scheme: str, account: Account) -> None:
        """Delete a user's account, unless it was replaced by another one."""
        await self.store.delete_if(self.make_key(principal, scheme), account.sealed)

    def _seal(self, key: str, account: Account) -> bytes:
        content = {
            "access": account.access_token,
            "refresh": account.refresh_token,
            "renew_at": account.renew_at,
            "scopes": sorted(account.scopes),
            "connected_at": account.connected_at,
            "user": account.user,
        }
        return self._ring.seal(content, key)
