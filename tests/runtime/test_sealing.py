"""`requestState`: what is sealed can be opened by us, for this call, once, in time."""

from __future__ import annotations

import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest

from mcpgen.runtime.errors import ConfigurationError, ProtocolError
from mcpgen.runtime.protocol.call import Call
from mcpgen.runtime.sealing import KeyRingSealer
from tests.protocol.harness import MODERN, Peer

OLD, NEW = b"old" * 12, b"new" * 12


def call(principal: str = "ada", method: str = "tools/call", **params: Any) -> Call:
    return Peer(MODERN, principal=principal).call(method, **params)


@pytest.mark.requirement("N063", "N064")
def test_what_is_sealed_is_opened_for_the_same_call() -> None:
    sealer = KeyRingSealer((NEW,))
    sealed = sealer.seal({"answers": {"a": 1}}, call(arguments={"x": 1}))
    assert sealer.open(sealed, call(arguments={"x": 1})) == {"answers": {"a": 1}}


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
def test_another_principal_method_or_argument_is_refused(other: dict[str, Any]) -> None:
    sealer = KeyRingSealer((NEW,))
    sealed = sealer.seal({}, call(arguments={"x": 1}))
    with pytest.raises(ProtocolError) as caught:
        sealer.open(sealed, call(**other))
    assert caught.value.code == -32602


def test_order_of_arguments_progress_and_answers_make_no_difference() -> None:
    sealer = KeyRingSealer((NEW,))
    sealed = sealer.seal({}, call(arguments={"x": 1, "y": 2}, _meta={"progressToken": 1}))
    again = call(arguments={"y": 2, "x": 1}, inputResponses={"k": {}}, requestState=sealed)
    assert sealer.open(sealed, again) == {}


@pytest.mark.requirement("N064")
def test_a_state_ends_with_its_time() -> None:
    now = [1000.0]
    sealer = KeyRingSealer((NEW,), lifetime_seconds=60, clock=lambda: now[0])
    first, second = sealer.seal({}, call()), sealer.seal({}, call())
    now[0] += 59.9
    assert sealer.open(first, call()) == {}
    now[0] += 0.1
    with pytest.raises(ProtocolError):
        sealer.open(second, call())


@pytest.mark.requirement("N063")
def test_a_key_can_be_replaced_without_losing_what_is_under_way() -> None:
    before, during, after = KeyRingSealer((OLD,)), KeyRingSealer((NEW, OLD)), KeyRingSealer((NEW,))
    old, new = before.seal({"n": 1}, call()), during.seal({"n": 2}, call())
    assert during.open(old, call()) == {"n": 1}
    assert after.open(new, call()) == {"n": 2}
    with pytest.raises(ProtocolError):
        after.open(before.seal({}, call()), call())


@pytest.mark.requirement("N063")
def test_every_bit_of_a_state_counts() -> None:
    sealer = KeyRingSealer((NEW,))
    sealed = sealer.seal({"n": 1}, call())
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for index, character in enumerate(sealed):
        flipped = alphabet[alphabet.index(character) ^ 1]
        with pytest.raises(ProtocolError):
            sealer.open(sealed[:index] + flipped + sealed[index + 1 :], call())
    assert sealer.open(sealed, call()) == {"n": 1}


@pytest.mark.requirement("N063")
@pytest.mark.parametrize("text", ["hunter2", "x" * 5000])
def test_the_client_cannot_read_what_it_carries(text: str) -> None:
    sealed = KeyRingSealer((NEW,)).seal({"secret": text}, call(arguments={"password": text}))
    raw = urlsafe_b64decode(sealed + "===")
    assert b"hunter2" not in raw
    assert b"xxxx" not in raw
    assert b"secret" not in raw


@pytest.mark.requirement("N063")
def test_a_state_that_is_cut_or_made_up_is_refused() -> None:
    sealer = KeyRingSealer((NEW,))
    sealed = sealer.seal({"n": 1}, call())
    plain = urlsafe_b64encode(b'\x02{"until": 9e9, "state": {"n": 2}}').decode().rstrip("=")
    for state in (*(sealed[:length] for length in range(len(sealed))), sealed + "A", plain, "é"):
        with pytest.raises(ProtocolError) as caught:
            sealer.open(state, call())
        assert caught.value.code == -32602
    assert sealer.open(sealed, call()) == {"n": 1}


@pytest.mark.requirement("N064")
def test_a_state_counts_once() -> None:
    sealer = KeyRingSealer((NEW,))
    sealed = sealer.seal({"n": 1}, call())
    assert sealer.open(sealed, call()) == {"n": 1}
    with pytest.raises(ProtocolError):
        sealer.open(sealed, call())


def test_nothing_is_sealed_without_encryption(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = KeyRingSealer((NEW,)).seal({}, call())
    for module in ("cryptography.exceptions", "cryptography.hazmat.primitives.ciphers.aead"):
        monkeypatch.setitem(sys.modules, module, None)
    sealer = KeyRingSealer((NEW,))
    with pytest.raises(ConfigurationError, match=r"pip install 'mcpgen\[seal\]'"):
        sealer.seal({}, call())
    with pytest.raises(ProtocolError) as caught:
        sealer.open(sealed, call())
    assert caught.value.code == -32602


def test_the_ring_comes_from_the_environment() -> None:
    ring = {"KEYS": f" {NEW.decode()} , {OLD.decode()},"}
    sealed = KeyRingSealer((OLD,)).seal({"n": 1}, call())
    assert KeyRingSealer.from_environment("KEYS", ring).open(sealed, call()) == {"n": 1}


def test_a_short_key_is_refused_with_a_way_to_make_one() -> None:
    with pytest.raises(ConfigurationError, match=r"KEYS is shorter than 32.*openssl"):
        KeyRingSealer.from_environment("KEYS", {"KEYS": "hunter2"})


def test_without_a_ring_each_process_has_a_key_of_its_own() -> None:
    sealed = KeyRingSealer.from_environment("KEYS", {}).seal({}, call())
    with pytest.raises(ProtocolError):
        KeyRingSealer.from_environment("KEYS", {}).open(sealed, call())
