"""Encryption of `requestState`, which a client carries and cannot read, change or reuse.

A state that is only signed would show the client's user what a handler remembers. A server whose
handlers ask nothing needs no `cryptography`. A server whose contract says that its tools ask does
not start without it; if a hand-written handler asks, the call fails and says what to install.
"""

from __future__ import annotations

import heapq
import json
import os
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.protocol.jsonrpc import INVALID_PARAMS
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.state.key_ring import NONCE_BYTES, KeyRing, read_keys

if TYPE_CHECKING:
    from mcpgen.runtime.state.store import Store

CLOCK_SKEW_SECONDS: Final = 60.0
_PURPOSE: Final = b"mcpgen-aead"
MAX_USED_STATES: Final = 100_000  # that a process remembers, to refuse them
_VERSION: Final = b"\x01"  # of the format, so that another one can replace it
_UNBOUND: Final = frozenset({"_meta", "inputResponses", "requestState"})


class KeyRingCipher:
    """Encryption of the state of a call while the client stores it.

    The first key of the ring encrypts and every key decrypts, so that keys can be replaced.
    """

    def __init__(
        self,
        keys: tuple[bytes, ...],
        *,
        lifetime_seconds: float = DEFAULT_LIMITS.question_timeout_seconds,
        clock: Callable[[], float] = time.time,
        store: Store | None = None,
    ) -> None:
        """`store` is that of the replicas, if there are several."""
        self._ring = KeyRing(keys, purpose=_PURPOSE)
        self._lifetime_seconds = lifetime_seconds
        self._clock = clock
        self._store = store
        self._used: set[bytes] = set()  # nonces
        self._ends: list[tuple[float, bytes]] = []  # of `_used`, a heap
        self._forgotten_until = 0.0  # what ends by then may have been used

    @classmethod
    def from_environment(
        cls,
        name: str,
        environ: Mapping[str, str],
        *,
        lifetime_seconds: float = DEFAULT_LIMITS.question_timeout_seconds,
        store: Store | None = None,
    ) -> KeyRingCipher:
        """Read the ring from a variable: keys separated by commas, the one that encrypts first.

        Without it the ring is one key of this process, and no other process can continue its
        calls.

        Raises:
            ConfigurationError: a key is too short.
        """
        ring = read_keys(environ, name) or (os.urandom(32),)
        return cls(ring, lifetime_seconds=lifetime_seconds, store=store)

    def seal(self, state: JsonObject, request: Request) -> str:
        """Encrypt the state, bound to the request's principal, method and params.

        Raises:
            MissingExtraError: `cryptography` is not installed.
        """
        payload = json.dumps({"until": self._clock() + self._lifetime_seconds, "state": state})
        sealed = self._ring.encrypt(payload.encode(), _make_binding(request))
        return urlsafe_b64encode(_VERSION + sealed).decode().rstrip("=")

    @property
    def is_shared(self) -> bool:
        """Whether replicas share the used states, so that `open_shared` is needed."""
        return self._store is not None

    def open(self, sealed: str, request: Request) -> JsonObject:
        """Decrypt a state; each one is accepted once by this process.

        Raises:
            ProtocolError: it was changed, expired, used before, or belongs to another request.
        """
        nonce, until, state = self._decrypt(sealed, request)
        self._forget(self._clock())
        if until <= self._forgotten_until or nonce in self._used:
            raise _make_state_error()
        self._used.add(nonce)
        heapq.heappush(self._ends, (until, nonce))
        return state

    async def open_shared(self, sealed: str, request: Request) -> JsonObject:
        """Decrypt a state; each one is accepted once by all replicas.

        Raises:
            ProtocolError: as `open`.
            StoreUnavailableError: whether it was used before is unknown.
        """
        nonce, until, state = self._decrypt(sealed, request)
        seconds = until - self._clock()
        if seconds <= 0 or self._store is None:
            raise _make_state_error()
        # The clock of another replica may be behind.
        if not await self._store.add(f"used:1:{nonce.hex()}", b"", seconds + CLOCK_SKEW_SECONDS):
            raise _make_state_error()
        return state

    def _decrypt(self, sealed: str, request: Request) -> tuple[bytes, float, JsonObject]:
        """Return the nonce, the time at which the state ends, and the state."""
        try:
            raw = urlsafe_b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4))
        except ValueError:
            raise _make_state_error() from None
        # Base64 leaves bits unused at the end: only the text that `seal` returned is accepted.
        if raw[:1] != _VERSION or urlsafe_b64encode(raw).decode().rstrip("=") != sealed:
            raise _make_state_error()
        payload = self._ring.decrypt(raw[1:], _make_binding(request))
        if payload is None:
            raise _make_state_error()
        content = json.loads(payload)
        return raw[1 : 1 + NONCE_BYTES], content["until"], content["state"]

    def _forget(self, now: float) -> None:
        """Drop the used states that have expired, and the oldest ones if there are too many.

        States that expire no later than a dropped one are refused from then on, used or not.
        """
        self._forgotten_until = max(self._forgotten_until, now)
        while self._ends and (
            self._ends[0][0] <= self._forgotten_until or len(self._ends) >= MAX_USED_STATES
        ):
            until, nonce = heapq.heappop(self._ends)
            self._used.discard(nonce)
            self._forgotten_until = max(self._forgotten_until, until)


def _make_binding(request: Request) -> bytes:
    """Return what the next round must repeat exactly: server, principal, method and params."""
    params = {key: value for key, value in request.params.items() if key not in _UNBOUND}
    server = request.connection.definition.info["name"]  # several servers may have the same keys
    return json.dumps([server, request.principal, request.method, params], sort_keys=True).encode()


def _make_state_error() -> ProtocolError:
    return ProtocolError(
        INVALID_PARAMS, "invalid or expired `requestState`; repeat the call without it"
    )
