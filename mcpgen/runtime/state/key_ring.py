"""Encryption with the keys of the operator: the first one encrypts, all of them decrypt.

AES-256-GCM of `cryptography` (`mcpgen[seal]`): the standard library has no authenticated
encryption. A server that encrypts nothing needs no `cryptography`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

from mcpgen.contract.extras import MissingExtraError
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.values import TEXT, read_variable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MIN_KEY_CHARACTERS: Final = 32
NONCE_BYTES: Final = 12


class KeyRing:
    """The keys of `STATE_KEYS`, for one purpose.

    To replace a key, put a new one in front of it, and remove it when nothing that it encrypted is
    needed. Data can be decrypted only with the purpose and the binding of its encryption.
    """

    def __init__(self, keys: tuple[bytes, ...], *, purpose: bytes) -> None:
        """`purpose` has at most 16 bytes."""
        self._keys = keys
        self._purpose = purpose

    def encrypt(self, plain: bytes, binding: bytes) -> bytes:
        """Encrypt data; return a random nonce of 12 bytes, followed by the ciphertext.

        Raises:
            MissingExtraError: `cryptography` is not installed.
        """
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, plain, binding)

    def decrypt(self, encrypted: bytes, binding: bytes) -> bytes | None:
        """Decrypt what `encrypt` returned; None for another key, purpose or binding."""
        try:
            from cryptography.exceptions import InvalidTag
        except ImportError:
            return None  # this process cannot have encrypted it
        nonce, rest = encrypted[:NONCE_BYTES], encrypted[NONCE_BYTES:]
        for cipher in self._ciphers:
            with suppress(InvalidTag, ValueError):  # ValueError: it is too short
                return cipher.decrypt(nonce, rest, binding)
        return None

    def seal(self, content: JsonObject, key: str) -> bytes:
        """Encrypt a JSON object as the value of one key of a store.

        Raises:
            MissingExtraError: `cryptography` is not installed.
        """
        return self.encrypt(json.dumps(content).encode(), key.encode())

    def open(self, sealed: bytes | None, key: str) -> JsonObject | None:
        """Return the JSON object that `seal` encrypted; None if it was not for this key."""
        plain = None if sealed is None else self.decrypt(sealed, key.encode())
        if plain is None:
            return None
        content: JsonObject = json.loads(plain)
        return content

    @cached_property
    def _ciphers(self) -> list[AESGCM]:
        # Imported with the first use: importing `cryptography` takes longer than a cold start.
        import hashlib

        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise MissingExtraError("seal") from None
        hashes = (hashlib.blake2b(it, digest_size=32, person=self._purpose) for it in self._keys)
        return [AESGCM(it.digest()) for it in hashes]


def read_keys(environ: Mapping[str, str], name: str) -> tuple[bytes, ...]:
    """Read keys from a variable, where they are separated by commas; () if it is not set.

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
    return tuple(key.encode() for key in keys)
