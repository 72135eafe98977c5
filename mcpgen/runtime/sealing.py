"""`requestState` that a client carries for the server and cannot read, change or reuse.

AES-256-GCM of `cryptography` (`mcpgen[seal]`), and nothing else: the standard library has no
authenticated encryption, a cipher of our own would be one that nobody has examined, and a state
that is only signed would show the client's user what a handler remembers. A server whose handlers
ask nothing needs no `cryptography`. One whose contract says that its tools ask does not start
without it; where a handler written by hand asks, the call fails and says what to install.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, ProtocolError
from mcpgen.runtime.extras import MissingExtraError
from mcpgen.runtime.protocol.call import Call
from mcpgen.runtime.protocol.jsonrpc import INVALID_PARAMS

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LIFETIME_SECONDS: Final = 600.0
MIN_KEY_CHARACTERS: Final = 32
_NONCE_BYTES: Final = 12
_VERSION: Final = b"\x01"  # of what is sealed, so that another form can take its place
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
                "`openssl rand -base64 32` makes one",
                setting=name,
            )
        return cls(tuple(key.encode() for key in keys) or (secrets.token_bytes(32),))

    def seal(self, state: JsonObject, call: Call) -> str:
        """Give the state as text, bound to this call's principal, method and params.

        Raises:
            MissingExtraError: `cryptography` is not installed.
        """
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


class _Key:
    """One key of a ring, as AES-256-GCM takes it."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def seal(self, nonce: bytes, payload: bytes, binding: bytes) -> bytes:
        return _VERSION + nonce + self._cipher.encrypt(nonce, payload, binding)

    def open(self, sealed: bytes, binding: bytes) -> bytes | None:
        try:
            from cryptography.exceptions import InvalidTag
        except ImportError:
            return None  # nothing of ours can be out there
        if sealed[:1] != _VERSION:
            return None
        nonce, rest = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            return self._cipher.decrypt(nonce, rest, binding)
        except (InvalidTag, ValueError):  # ValueError: it is too short to be anything
            return None

    @cached_property
    def _cipher(self) -> AESGCM:
        # Not before something is sealed: importing `cryptography` takes longer than a cold start.
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise MissingExtraError("seal") from None
        return AESGCM(hashlib.blake2b(self._secret, digest_size=32, person=b"mcpgen-aead").digest())


def _binding(call: Call) -> bytes:
    """Give what must be the same when the call comes again: who, what, with which params."""
    params = {key: value for key, value in call.params.items() if key not in _UNBOUND}
    return json.dumps([call.principal, call.method, params], sort_keys=True).encode()


def _not_ours() -> ProtocolError:
    return ProtocolError(
        INVALID_PARAMS, "`requestState` is not one that this call may go on with; call anew"
    )
