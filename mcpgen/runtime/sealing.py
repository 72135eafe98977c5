"""`requestState` that a client carries for the server and cannot read, change or reuse.

Sealed with AES-256-GCM where `cryptography` is installed (`mcpgen[seal]`), else authenticated
with HMAC-SHA256, which the log tells: then the client can read it, though not change it. All that
the runtime puts in are the client's own answers and what a handler chose to remember.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Final, Protocol

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, ProtocolError
from mcpgen.runtime.log import log
from mcpgen.runtime.protocol.call import Call
from mcpgen.runtime.protocol.jsonrpc import INVALID_PARAMS

LIFETIME_SECONDS: Final = 600.0
MIN_KEY_CHARACTERS: Final = 32
_NONCE_BYTES: Final = 12
_MAC_BYTES: Final = 32
_AEAD: Final = b"\x01"
_MAC: Final = b"\x02"
_UNBOUND: Final = frozenset({"_meta", "inputResponses", "requestState"})


class StateSealer(Protocol):
    """What keeps the state of a call safe while the client has it."""

    def seal(self, state: JsonObject, call: Call) -> str:
        """Give the state as text, bound to this call's principal, method and params."""
        ...

    def open(self, sealed: str, call: Call) -> JsonObject:
        """Give the state back, once.

        Raises:
            ProtocolError: it was changed, is too old, was used before, or is another call's.
        """
        ...


class KeyRingSealer:
    """Seals with the first key of a ring and opens with any, so that keys can be replaced."""

    def __init__(
        self,
        keys: tuple[bytes, ...],
        *,
        lifetime_seconds: float = LIFETIME_SECONDS,
        clock: Callable[[], float] = time.time,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._keys = tuple(_Key(key) for key in keys)
        self._lifetime_seconds = lifetime_seconds
        self._clock = clock
        self._random_bytes = random_bytes
        self._used: dict[bytes, float] = {}  # nonce -> when it may be forgotten
        self._has_warned = False

    @classmethod
    def from_environment(cls, name: str, environ: Mapping[str, str]) -> KeyRingSealer:
        """Read the ring from a variable: keys apart by commas, the one that seals first.

        Without it the ring is one key of this process, and no other process can go on with its
        calls.

        Raises:
            ConfigurationError: a key is too short to be one.
        """
        keys = [key.strip() for key in environ.get(name, "").split(",") if key.strip()]
        if any(len(key) < MIN_KEY_CHARACTERS for key in keys):
            raise ConfigurationError(
                f"a key in {name} is shorter than {MIN_KEY_CHARACTERS} characters; "
                "`openssl rand -base64 32` makes one"
            )
        return cls(tuple(key.encode() for key in keys) or (secrets.token_bytes(32),))

    def seal(self, state: JsonObject, call: Call) -> str:
        """Give the state as text, bound to this call's principal, method and params."""
        if not self._keys[0].hides and not self._has_warned:
            self._has_warned = True
            log(
                "warning",
                "`requestState` is protected from changes but can be read by the client, because "
                "`cryptography` is not installed; `pip install 'mcpgen[seal]'` encrypts it",
            )
        payload = json.dumps({"until": self._clock() + self._lifetime_seconds, "state": state})
        nonce = self._random_bytes(_NONCE_BYTES)
        sealed = self._keys[0].seal(nonce, payload.encode(), _binding(call))
        return urlsafe_b64encode(sealed).decode().rstrip("=")

    def open(self, sealed: str, call: Call) -> JsonObject:
        """Give the state back, once.

        Raises:
            ProtocolError: it was changed, is too old, was used before, or is another call's.
        """
        try:
            raw = urlsafe_b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4))
        except ValueError:
            raise _not_ours() from None
        # Base64 leaves bits unused at the end: only the very text that was given out counts.
        if urlsafe_b64encode(raw).decode().rstrip("=") != sealed:
            raise _not_ours()
        nonce, binding = raw[1 : 1 + _NONCE_BYTES], _binding(call)
        for key in self._keys:
            payload = key.open(raw, binding)
            if payload is not None:
                return self._fresh(nonce, payload)
        raise _not_ours()

    def _fresh(self, nonce: bytes, payload: bytes) -> JsonObject:
        now = self._clock()
        content = json.loads(payload)
        self._used = {used: until for used, until in self._used.items() if until > now}
        if content["until"] <= now or nonce in self._used:
            raise _not_ours()
        self._used[nonce] = content["until"]
        state: JsonObject = content["state"]
        return state


class _Aead(Protocol):
    """What is used of `cryptography`, which need not be installed."""

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes) -> bytes: ...
    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes) -> bytes: ...


def _aead(key: bytes) -> _Aead | None:
    try:
        module = import_module("cryptography.hazmat.primitives.ciphers.aead")
    except ImportError:
        return None
    aead: _Aead = module.AESGCM(key)
    return aead


def _invalid_tag() -> type[Exception]:
    found: type[Exception] = import_module("cryptography.exceptions").InvalidTag
    return found


class _Key:
    """One key of a ring, in the form that each of the two ways of sealing needs."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._mac_key = hashlib.blake2b(secret, digest_size=32, person=b"mcpgen-mac").digest()

    @property
    def hides(self) -> bool:
        """Tell whether a client cannot read what is sealed."""
        return self._aead is not None

    @cached_property
    def _aead(self) -> _Aead | None:
        # Not before something is sealed: importing `cryptography` takes longer than a cold start.
        return _aead(hashlib.blake2b(self._secret, digest_size=32, person=b"mcpgen-aead").digest())

    def seal(self, nonce: bytes, payload: bytes, binding: bytes) -> bytes:
        if self._aead is not None:
            return _AEAD + nonce + self._aead.encrypt(nonce, payload, binding)
        return _MAC + nonce + payload + self._mac(nonce + payload, binding)

    def open(self, sealed: bytes, binding: bytes) -> bytes | None:
        way, nonce, rest = sealed[:1], sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        if way == _AEAD and self._aead is not None:
            try:
                return self._aead.decrypt(nonce, rest, binding)
            except (_invalid_tag(), ValueError):
                return None
        payload, mac = rest[:-_MAC_BYTES], rest[-_MAC_BYTES:]
        is_ours = way == _MAC and hmac.compare_digest(mac, self._mac(nonce + payload, binding))
        return payload if is_ours else None

    def _mac(self, data: bytes, binding: bytes) -> bytes:
        return hmac.digest(self._mac_key, hashlib.sha256(binding).digest() + data, "sha256")


def _binding(call: Call) -> bytes:
    """Give what must be the same when the call comes again: who, what, with which params."""
    params = {key: value for key, value in call.params.items() if key not in _UNBOUND}
    return json.dumps([call.principal, call.method, params], sort_keys=True).encode()


def _not_ours() -> ProtocolError:
    return ProtocolError(
        INVALID_PARAMS, "`requestState` is not one that this call may go on with; call anew"
    )
