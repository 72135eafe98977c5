"""Tests of operator keys: the first encrypts, all decrypt, for one purpose and binding only."""

from __future__ import annotations

import pytest

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.state.key_ring import KeyRing, read_keys

OLD, NEW = b"o" * 32, b"n" * 32


def make_ring(*keys: bytes, purpose: bytes = b"test") -> KeyRing:
    return KeyRing(keys, purpose=purpose)


def test_keys_are_replaced_by_putting_a_new_one_first() -> None:
    sealed = make_ring(OLD).encrypt(b"text", b"of ada")
    assert make_ring(NEW, OLD).decrypt(sealed, b"of ada") == b"text"
    renewed = make_ring(NEW, OLD).encrypt(b"text", b"of ada")
    assert make_ring(NEW).decrypt(renewed, b"of ada") == b"text"
    assert make_ring(NEW).decrypt(sealed, b"of ada") is None


def test_what_is_for_something_else_cannot_be_decrypted() -> None:
    sealed = make_ring(OLD).encrypt(b"text", b"of ada")
    assert make_ring(OLD).decrypt(sealed, b"of bob") is None
    assert make_ring(OLD, purpose=b"other").decrypt(sealed, b"of ada") is None
    assert make_ring(OLD).decrypt(sealed[:-1] + bytes([sealed[-1] ^ 1]), b"of ada") is None
    assert make_ring(OLD).decrypt(b"", b"of ada") is None


def test_keys_are_read_in_order_and_short_ones_are_refused() -> None:
    assert read_keys({"KEYS": f" {'a' * 32}, {'b' * 32},"}, "KEYS") == (b"a" * 32, b"b" * 32)
    assert read_keys({}, "KEYS") == ()
    with pytest.raises(ConfigurationError, match="shorter than 32") as refused:
        read_keys({"KEYS": "short"}, "KEYS")
    assert refused.value.setting == "KEYS"
