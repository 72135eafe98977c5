"""Tests of `requestState`: it opens only at its servers, for its call, once, and in time."""

from __future__ import annotations

import asyncio
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest

from mcpgen.runtime.errors import ConfigurationError, ProtocolError
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.state import request_state as sealing
from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.state.request_state import KeyRingCipher
from mcpgen.runtime.state.store import StoreUnavailableError
from tests.support.protocol_client import MODERN, Peer

OLD, NEW = b"old" * 12, b"new" * 12


def call(principal: str = "ada", method: str = "tools/call", **params: Any) -> Request:
    return Peer(MODERN, principal=principal).call(method, **params)


@pytest.mark.requirement("N063", "N064")
def test_a_sealed_state_opens_for_the_same_call() -> None:
    state_cipher = KeyRingCipher((NEW,))
    sealed = state_cipher.seal({"answers": {"a": 1}}, call(arguments={"x": 1}))
    assert state_cipher.open(sealed, call(arguments={"x": 1})) == {"answers": {"a": 1}}


@pytest.mark.requirement("N063", "N064", "N135")
@pytest.mark.parametrize(
    "other",
    [
        {"principal": "eve"},
        {"principal": ""},
        {"arguments": {"x": 2}},
        {"arguments": {"x": True}},
        {"name": "tool_1", "arguments": {"x": 1}},
        {"method": "resources/read", "uri": "test://x"},
    ],
    ids=str,
)
def test_a_state_is_rejected_for_another_principal_method_or_argument(
    other: dict[str, Any],
) -> None:
    state_cipher = KeyRingCipher((NEW,))
    sealed = state_cipher.seal({}, call(arguments={"x": 1}))
    with pytest.raises(ProtocolError) as caught:
        state_cipher.open(sealed, call(**other))
    assert caught.value.code == -32602


def test_the_order_of_arguments_and_the_metadata_do_not_affect_a_state() -> None:
    state_cipher = KeyRingCipher((NEW,))
    sealed = state_cipher.seal({}, call(arguments={"x": 1, "y": 2}, _meta={"progressToken": 1}))
    again = call(arguments={"y": 2, "x": 1}, inputResponses={"k": {}}, requestState=sealed)
    assert state_cipher.open(sealed, again) == {}


@pytest.mark.requirement("N064")
def test_a_state_expires() -> None:
    now = [1000.0]
    state_cipher = KeyRingCipher((NEW,), lifetime_seconds=60, clock=lambda: now[0])
    first, second = state_cipher.seal({}, call()), state_cipher.seal({}, call())
    now[0] += 59.9
    assert state_cipher.open(first, call()) == {}
    now[0] += 0.1
    with pytest.raises(ProtocolError):
        state_cipher.open(second, call())


@pytest.mark.requirement("N063")
def test_states_sealed_with_the_old_key_open_during_key_rotation() -> None:
    before, during, after = KeyRingCipher((OLD,)), KeyRingCipher((NEW, OLD)), KeyRingCipher((NEW,))
    old, new = before.seal({"n": 1}, call()), during.seal({"n": 2}, call())
    assert during.open(old, call()) == {"n": 1}
    assert after.open(new, call()) == {"n": 2}
    with pytest.raises(ProtocolError):
        after.open(before.seal({}, call()), call())


@pytest.mark.requirement("N063")
def test_a_state_with_a_flipped_bit_is_rejected() -> None:
    state_cipher = KeyRingCipher((NEW,))
    sealed = state_cipher.seal({"n": 1}, call())
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for index, character in enumerate(sealed):
        flipped = alphabet[alphabet.index(character) ^ 1]
        with pytest.raises(ProtocolError):
            state_cipher.open(sealed[:index] + flipped + sealed[index + 1 :], call())
    assert state_cipher.open(sealed, call()) == {"n": 1}


@pytest.mark.requirement("N063")
@pytest.mark.parametrize("text", ["hunter2", "x" * 5000])
def test_a_sealed_state_is_not_readable(text: str) -> None:
    sealed = KeyRingCipher((NEW,)).seal({"secret": text}, call(arguments={"password": text}))
    raw = urlsafe_b64decode(sealed + "===")
    assert b"hunter2" not in raw
    assert b"xxxx" not in raw
    assert b"secret" not in raw


@pytest.mark.requirement("N063")
def test_a_truncated_or_forged_state_is_rejected() -> None:
    state_cipher = KeyRingCipher((NEW,))
    sealed = state_cipher.seal({"n": 1}, call())
    plain = urlsafe_b64encode(b'\x02{"until": 9e9, "state": {"n": 2}}').decode().rstrip("=")
    for state in (*(sealed[:length] for length in range(len(sealed))), sealed + "A", plain, "é"):
        with pytest.raises(ProtocolError) as caught:
            state_cipher.open(state, call())
        assert caught.value.code == -32602
    assert state_cipher.open(sealed, call()) == {"n": 1}


@pytest.mark.requirement("N064")
def test_a_state_opens_only_once() -> None:
    state_cipher = KeyRingCipher((NEW,))
    sealed = state_cipher.seal({"n": 1}, call())
    assert state_cipher.open(sealed, call()) == {"n": 1}
    with pytest.raises(ProtocolError):
        state_cipher.open(sealed, call())


@pytest.mark.requirement("N064")
def test_the_memory_of_used_states_is_bounded_without_allowing_replays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sealing, "MAX_USED_STATES", 10)
    now = [1000.0]
    state_cipher = KeyRingCipher((NEW,), lifetime_seconds=600, clock=lambda: now[0])
    unused, used = state_cipher.seal({}, call()), []
    for _ in range(50):
        now[0] += 1
        used.append(state_cipher.seal({}, call()))
        assert state_cipher.open(used[-1], call()) == {}
    assert len(state_cipher._used) == len(state_cipher._ends) <= 10
    for state in (unused, *used):  # `unused` ends before states that were forgotten
        with pytest.raises(ProtocolError):
            state_cipher.open(state, call())
    assert state_cipher.open(state_cipher.seal({"n": 1}, call()), call()) == {"n": 1}


def test_a_state_of_another_server_with_the_same_keys_is_rejected() -> None:
    sealed = KeyRingCipher((NEW,)).seal({}, call())
    other = call()
    other.connection.definition = other.connection.definition.replace(
        info={"name": "other", "version": "1"}
    )
    with pytest.raises(ProtocolError):
        KeyRingCipher((NEW,)).open(sealed, other)


def test_sealing_without_cryptography_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = KeyRingCipher((NEW,)).seal({}, call())
    for module in ("cryptography.exceptions", "cryptography.hazmat.primitives.ciphers.aead"):
        monkeypatch.setitem(sys.modules, module, None)
    state_cipher = KeyRingCipher((NEW,))
    with pytest.raises(ConfigurationError, match=r"pip install 'mcpgen\[seal\]'"):
        state_cipher.seal({}, call())
    with pytest.raises(ProtocolError) as caught:
        state_cipher.open(sealed, call())
    assert caught.value.code == -32602


def test_the_key_ring_is_read_from_the_environment() -> None:
    ring = {"KEYS": f" {NEW.decode()} , {OLD.decode()},"}
    sealed = KeyRingCipher((OLD,)).seal({"n": 1}, call())
    assert KeyRingCipher.from_environment("KEYS", ring).open(sealed, call()) == {"n": 1}


def test_a_short_key_is_rejected_with_the_command_to_create_one() -> None:
    with pytest.raises(ConfigurationError, match=r"KEYS is shorter than 32.*openssl"):
        KeyRingCipher.from_environment("KEYS", {"KEYS": "hunter2"})


@pytest.mark.parametrize("keys", [" , ", "x" * 40 + ",short", "x" * 40 + "\x1b", "\udcff" * 40])
def test_an_invalid_key_ring_is_rejected(keys: str) -> None:
    with pytest.raises(ConfigurationError, match="KEYS"):
        KeyRingCipher.from_environment("KEYS", {"KEYS": keys})


def test_each_process_without_a_key_ring_has_its_own_key() -> None:
    sealed = KeyRingCipher.from_environment("KEYS", {}).seal({}, call())
    with pytest.raises(ProtocolError):
        KeyRingCipher.from_environment("KEYS", {}).open(sealed, call())


# -- replicas that share a store -----------------------------------------------------------------


class UnavailableStore(MemoryStore):
    """A store that does not answer while `is_down` is set."""

    is_down = True

    async def add(self, key: str, value: bytes, ttl_seconds: float) -> bool:
        if self.is_down:
            raise StoreUnavailableError("the state store cannot be reached")
        return await super().add(key, value, ttl_seconds)


def test_replicas_that_share_a_store_accept_a_state_once() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        one, other = KeyRingCipher((NEW,), store=store), KeyRingCipher((NEW,), store=store)
        sealed = one.seal({"n": 1}, call())
        assert await other.open_shared(sealed, call()) == {"n": 1}
        for cipher in (one, other, KeyRingCipher((NEW,), store=store)):
            with pytest.raises(ProtocolError):
                await cipher.open_shared(sealed, call())

    asyncio.run(scenario())


def test_a_shared_state_expires_and_its_nonce_is_stored_until_every_clock_agrees() -> None:
    async def scenario() -> None:
        now = [1000.0]
        store = MemoryStore(clock=lambda: now[0])
        cipher, late = (
            KeyRingCipher(
                (NEW,), store=store, lifetime_seconds=60, clock=lambda late=late: now[0] - late
            )
            for late in (0, 50)
        )
        used, expired = cipher.seal({}, call()), cipher.seal({}, call())
        now[0] += 59
        await cipher.open_shared(used, call())
        now[0] += 1
        with pytest.raises(ProtocolError):
            await cipher.open_shared(expired, call())
        now[0] += 49
        with pytest.raises(ProtocolError):
            await late.open_shared(used, call())  # for which it has not expired
        now[0] += 100
        assert await store.add("clean", b"", 1)
        assert len(store._entries) == 1

    asyncio.run(scenario())


def test_a_state_can_be_used_after_the_store_is_available_again() -> None:
    async def scenario() -> None:
        store = UnavailableStore()
        cipher = KeyRingCipher((NEW,), store=store)
        sealed = cipher.seal({"n": 1}, call())
        for _ in range(2):
            with pytest.raises(StoreUnavailableError):
                await cipher.open_shared(sealed, call())
        store.is_down = False
        assert await cipher.open_shared(sealed, call()) == {"n": 1}

    asyncio.run(scenario())
