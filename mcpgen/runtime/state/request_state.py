"""Encryption of `requestState`, which a client carries and cannot read, change or reuse.

AES-256-GCM of `cryptography` (`mcpgen[seal]`): the standard library has no authenticated
encryption, and a state that is only signed would show the client's user what a handler remembers.
A server whose handlers ask nothing needs no `cryptography`. A server whose contract says that its
tools ask does not start without it; if a hand-written handler asks, the call fails and says what
to install.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

from mcpgen.contract.extras import MissingExtraError
from mcpgen.runtime.auth.values import TEXT, read_variable
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, ProtocolError
from mcpgen.runtime.protocol.jsonrpc import INVALID_PARAMS
from mcpgen.runtime.protocol.request import Request

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LIFETIME_SECONDS: Final = 600.0
MIN_KEY_CHARACTERS: Final = 32
MAX_USED_STATES: Final = 100_000  # that a process remembers, to refuse them
_NONCE_BYTES: Final = 12
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
        lifetime_seconds: float = LIFETIME_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keys = keys
        self._lifetime_seconds = lifetime_seconds
        self._clock = clock
        self._used: set[bytes] = set()  # nonces
        self._ends: list[tuple[float, bytes]] = []  # of `_used`, a heap
        self._forgotten_until = 0.0  # what ends by then may have been used

    @classmethod
    def from_environment(cls, name: str, environ: Mapping[str, str]) -> KeyRingCipher:
        """Read the ring from a variable: keys separated by commas, the one that encrypts first.

        Without it the ring is one key of this process, and no other process can continue its
        calls.

        Raises:
            ConfigurationError: a key is too short.
        """
        text = read_variable(environ, name, allowed=TEXT)
        keys = [key.strip() for key in text.split(",") if key.strip()]
        if (text and not keys) or any(len(key) < MIN_KEY_CHARACTERS for key in keys):
            raise ConfigurationError(
                f"a key in {name} is shorter than {MIN_KEY_CHARACTERS} characters; "
                "`openssl rand -base64 32` makes one",
                setting=name,
            )
        return cls(tuple(key.encode() for key in keys) or (secrets.token_bytes(32),))

    def seal(self, state: JsonObject, request: Request) -> str:
        """Encrypt the state, bound to the request's principal, method and params.

        Raises:
            MissingExtraError: `cryptography` is not installed.
        """
        payload = json.dumps({"until": self._clock() + self._lifetime_seconds, "state": state})
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._ciphers[0].encrypt(nonce, payload.encode(), _make_binding(request))
        return urlsafe_b64encode(_VERSION + nonce + sealed).decode().rstrip("=")

    def open(self, sealed: str, request: Request) -> JsonObject:
        """Decrypt a state; each one is accepted once.

        Raises:
            ProtocolError: it was changed, expired, used before, or belongs to another request.
        """
        try:
            raw = urlsafe_b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4))
        except ValueError:
            raise _make_state_error() from None
        # Base64 leaves bits unused at the end: only the text that `seal` returned is accepted.
        if raw[:1] != _VERSION or urlsafe_b64encode(raw).decode().rstrip("=") != sealed:
            raise _make_state_error()
        nonce, encrypted = raw[1 : 1 + _NONCE_BYTES], raw[1 + _NONCE_BYTES :]
        payload = self._decrypt(nonce, encrypted, _make_binding(request))
        return self._accept_once(nonce, payload)

    def _decrypt(self, nonce: bytes, encrypted: bytes, binding: bytes) -> bytes:
        try:
            from cryptography.exceptions import InvalidTag
        except ImportError:
            raise _make_state_error() from None  # this process cannot have encrypted it
        for cipher in self._ciphers:
            with suppress(InvalidTag, ValueError):  # ValueError: it is too short
                return cipher.decrypt(nonce, encrypted, binding)
        raise _make_state_error()

    @cached_property
    def _ciphers(self) -> list[AESGCM]:
        # Imported with the first state: importing `cryptography` takes longer than a cold start.
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise MissingExtraError("seal") from None
        hashes = (hashlib.blake2b(it, digest_size=32, person=b"mcpgen-aead") for it in self._keys)
        return [AESGCM(it.digest()) for it in hashes]

    def _accept_once(self, nonce: bytes, payload: bytes) -> JsonObject:
        content = json.loads(payload)
        until: float = content["until"]
        self._forget(self._clock())
        if until <= self._forgotten_until or nonce in self._used:
            raise _make_state_error()
        self._used.add(nonce)
        heapq.heappush(self._ends, (until, nonce))
        state: JsonObject = content["state"]
        return state

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
