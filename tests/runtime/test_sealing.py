"""`requestState`: what is sealed can be opened by us, for this call, once, in time."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime import sealing
from mcpgen.runtime.errors import ConfigurationError, ProtocolError
from mcpgen.runtime.protocol.call import Call
from mcpgen.runtime.sealing import KeyRingSealer
from tests.protocol.harness import MODERN, Peer

OLD, NEW = b"old" * 12, b"new" * 12


def call(principal: str = "ada", method: str = "tools/call", **params: Any) -> Call:
    return Peer(MODERN, principal=principal).call(method, **params)


class XorAead:
    """Stands in for `cryptography`: it hides, and knows a changed text or binding."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes) -> bytes:
        return bytes(byte ^ 0x5A for byte in data) + self._tag(nonce, data, associated_data)

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes) -> bytes:
        plain = bytes(byte ^ 0x5A for byte in data[:-8])
        if data[-8:] != self._tag(nonce, plain, associated_data):
            raise ValueError("tag")
        return plain

    def _tag(self, nonce: bytes, data: bytes, associated_data: bytes) -> bytes:
        from hashlib import blake2b

        return blake2b(nonce + data + associated_data, digest_size=8, key=self.key).digest()


@pytest.fixture(params=["HMAC", "AEAD"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of sealing, whether or not `cryptography` is installed."""
    monkeypatch.setattr(sealing, "_aead", XorAead if request.param == "AEAD" else lambda _: None)
    if request.param == "AEAD":
        monkeypatch.setattr(sealing, "_invalid_tag", lambda: ValueError)
    return str(request.param)


@pytest.mark.requirement("N063", "N064")
def test_what_is_sealed_is_opened_for_the_same_call(way: str) -> None:
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
def test_another_principal_method_or_argument_is_refused(way: str, other: dict[str, Any]) -> None:
    sealer = KeyRingSealer((NEW,))
    sealed = sealer.seal({}, call(arguments={"x": 1}))
    with pytest.raises(ProtocolError) as caught:
        sealer.open(sealed, call(**other))
    assert caught.value.code == -32602


def test_order_of_arguments_progress_and_answers_make_no_difference(way: str) -> None:
    sealer = KeyRingSealer((NEW,))
    sealed = sealer.seal({}, call(arguments={"x": 1, "y": 2}, _meta={"progressToken": 1}))
    again = call(arguments={"y": 2, "x": 1}, inputResponses={"k": {}}, requestState=sealed)
    assert sealer.open(sealed, again) == {}


@pytest.mark.requirement("N064")
def test_a_state_ends_with_its_time(way: str) -> None:
    now = [1000.0]
    sealer = KeyRingSealer((NEW,), lifetime_seconds=60, clock=lambda: now[0])
    first, second = sealer.seal({}, call()), sealer.seal({}, call())
    now[0] += 59.9
    assert sealer.open(first, call()) == {}
    now[0] += 0.1
    with pytest.raises(ProtocolError):
        sealer.open(second, call())


@pytest.mark.requirement("N063")
def test_a_key_can_be_replaced_without_losing_what_is_under_way(way: str) -> None:
    before, during, after = KeyRingSealer((OLD,)), KeyRingSealer((NEW, OLD)), KeyRingSealer((NEW,))
    old, new = before.seal({"n": 1}, call()), during.seal({"n": 2}, call())
    assert during.open(old, call()) == {"n": 1}
    assert after.open(new, call()) == {"n": 2}
    with pytest.raises(ProtocolError):
        after.open(before.seal({}, call()), call())


@pytest.mark.requirement("N063")
def test_every_bit_of_a_state_counts(way: str) -> None:
    sealer = KeyRingSealer((NEW,))
    sealed = sealer.seal({"n": 1}, call())
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for index, character in enumerate(sealed):
        flipped = alphabet[alphabet.index(character) ^ 1]
        with pytest.raises(ProtocolError):
            sealer.open(sealed[:index] + flipped + sealed[index + 1 :], call())
    assert sealer.open(sealed, call()) == {"n": 1}


def test_the_aead_hides_what_it_seals(monkeypatch: pytest.MonkeyPatch) -> None:
    from base64 import urlsafe_b64decode

    monkeypatch.setattr(sealing, "_aead", XorAead)
    sealed = KeyRingSealer((NEW,)).seal({"secret": "hunter2"}, call())
    assert b"hunter2" not in urlsafe_b64decode(sealed + "===")


def test_the_library_hides_binds_and_rotates() -> None:
    """The real AES-GCM, which the tests above have a stand-in for."""
    from base64 import urlsafe_b64decode

    before, during = KeyRingSealer((OLD,)), KeyRingSealer((NEW, OLD))
    sealed = before.seal({"secret": "hunter2"}, call(arguments={"x": 1}))
    assert urlsafe_b64decode(sealed + "===")[:1] == sealing._AEAD
    assert b"hunter2" not in urlsafe_b64decode(sealed + "===")
    for other in (call(arguments={"x": 2}), call("eve", arguments={"x": 1})):
        with pytest.raises(ProtocolError):
            during.open(sealed, other)
    for index in range(0, len(sealed), 7):
        changed = "A" if sealed[index] != "A" else "B"
        with pytest.raises(ProtocolError):
            during.open(sealed[:index] + changed + sealed[index + 1 :], call(arguments={"x": 1}))
    assert during.open(sealed, call(arguments={"x": 1})) == {"secret": "hunter2"}


def test_a_server_that_cannot_hide_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sealing, "_aead", lambda _: None)
    sealer = KeyRingSealer((NEW,))
    sealer.seal({}, call())
    sealer.seal({}, call())
    assert capsys.readouterr().err.count("mcpgen[seal]") == 1


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
