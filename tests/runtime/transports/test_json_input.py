"""Tests of decoding messages: what is rejected, and that the fast decoder rejects the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpgen.runtime.transports.json_input import (
    MAX_DEPTH,
    UndecodableError,
    decode_cold,
    make_hot_decoder,
)

DECODERS = {"cold": decode_cold, "hot": make_hot_decoder()}

TWICE = {
    "two values": b'{"a":1,"a":2}',
    "the same value": b'{"a":1,"a":1}',
    "inside": b'{"a":[{"b":{"c":1,"d":2,"c":3}}]}',
    "spelled otherwise": rb'{"a":1,"\u0061":2}',
    "a colon for a colon": rb'{"b":"\u003a","a":1,"a":2}',
    "a colon for a colon, in capitals": rb'{"b":"\u003A","a":1,"a":2}',
    "a colon in a name": b'{"a:":1,"a:":2}',
    "with room": b'{ "a" : 1 , "a" : 2 }',
    "beside a number that is not encoded": b'{"a":1,"a":2,"b":%d}' % 10**30,
    "an empty name": b'{"":1,"":2}',
    "objects": b'{"a":{"b":1},"a":{}}',
}
ONCE = {
    "in two objects": b'[{"a":1},{"a":2}]',
    "a colon as it is": b'{"a":"b:c","d":"http://e"}',
    "an escaped colon": rb'{"a":"\u003a"}',
    "an escaped quote": rb'{"a":"\":\":"}',
    "a long integer": b'{"a":%d}' % 10**30,
    "a float": b'{"a":1e5,"b":-0.0}',
    "other case": b'{"a":1,"A":2}',
}


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("kind", TWICE)
def test_an_object_with_a_duplicate_name_is_rejected(decoder: str, kind: str) -> None:
    with pytest.raises(UndecodableError, match="duplicate name") as caught:
        DECODERS[decoder](TWICE[kind])
    assert caught.value.code == -32600


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("kind", ONCE)
def test_objects_without_duplicate_names_are_decoded(decoder: str, kind: str) -> None:
    assert DECODERS[decoder](ONCE[kind]) == json.loads(ONCE[kind])


HALF_A_PAIR = {
    "the first half": rb'{"a":"\ud800"}',
    "the second half": rb'{"a":"\udc00b"}',
    "the wrong order": rb'["\udc00\ud800"]',
    "in a name": rb'{"\uD800":1}',
}


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("kind", HALF_A_PAIR)
def test_an_unpaired_surrogate_is_rejected(decoder: str, kind: str) -> None:
    with pytest.raises(UndecodableError) as caught:
        DECODERS[decoder](HALF_A_PAIR[kind])
    assert caught.value.code == -32700


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("data", [b"[1e400]", b"[-1E+999]"])
def test_a_number_outside_the_float_range_is_rejected(decoder: str, data: bytes) -> None:
    with pytest.raises(UndecodableError, match="out of range") as caught:
        DECODERS[decoder](data)
    assert caught.value.code == -32700


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("start", range(0, 400, 37))
@pytest.mark.parametrize("sign", [b"", b"-"])
def test_an_integer_has_at_most_400_digits(decoder: str, start: int, sign: bytes) -> None:
    before = b'["' + b"x" * start + b'",' + sign
    assert DECODERS[decoder](before + b"9" * 400 + b"]")[1] != 0
    with pytest.raises(UndecodableError, match="more than 400 digits") as caught:
        DECODERS[decoder](before + b"9" * 401 + b"]")
    assert caught.value.code == -32700


@pytest.mark.parametrize("decoder", DECODERS)
def test_long_digit_strings_are_accepted(decoder: str) -> None:
    assert DECODERS[decoder](b'["%b"]' % (b"9" * 5000)) == ["9" * 5000]


TOO_DEEP = b"[" * 200 + b"]" * 200
READABLE = {
    "after the version": (b'{"jsonrpc":"2.0","id":7,"method":"x","params":%b}' % TOO_DEEP, 7),
    "after the method": (b'{ "method" : "x" , "id" : "a" , "params":%b}' % TOO_DEEP, "a"),
    "a name twice": (b'{"params":{"a":1,"a":2},"method":"x","id":7}', 7),
    "too many elements": (b'{"id":-7,"method":"x","params":[%b1]}' % (b"1," * 100_001), -7),
    "after the params": (b'{"method":"x","params":%b,"id":7}' % TOO_DEEP, None),
    "no id that MCP allows": (b'{"id":null,"method":"x","params":%b}' % TOO_DEEP, None),
    "the id of a response": (b'{"jsonrpc":"2.0","id":7,"result":%b}' % TOO_DEEP, None),
    "the id of a response with a name twice": (b'{"id":7,"result":{"a":1,"a":2}}', None),
    "no object": (TOO_DEEP, None),
}


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("kind", READABLE)
def test_an_oversized_message_is_rejected_with_its_id(decoder: str, kind: str) -> None:
    data, request_id = READABLE[kind]
    with pytest.raises(UndecodableError) as caught:
        DECODERS[decoder](data)
    assert (caught.value.code, caught.value.id) == (-32600, request_id)


LEVELS = {
    "arrays": (b"[", b"]"),
    "objects": (b'{"":', b"}"),
    "both": (b'[{"":', b"}]"),
}


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("kind", LEVELS)
def test_a_message_above_the_maximum_depth_is_rejected(decoder: str, kind: str) -> None:
    opening, closing = LEVELS[kind]
    pairs = MAX_DEPTH // len(closing)
    data = opening * pairs + b"[]" + closing * pairs
    with pytest.raises(UndecodableError, match=f"deeper than {MAX_DEPTH} levels"):
        DECODERS[decoder](data)
    at_most = data.replace(b"[]", b"0")
    assert DECODERS[decoder](at_most) == json.loads(at_most)


names = st.text('ab:\\"é', max_size=2)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | names,
    lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(names, inner), max_size=4),
    max_leaves=12,
)


def spelled(value: Any, escapes: bool) -> str:
    """Return the JSON of a value in which lists of pairs are objects, with any names."""
    if isinstance(value, list) and value and all(isinstance(it, tuple) for it in value):
        members = (f"{spelled(name, escapes)}:{spelled(it, escapes)}" for name, it in value)
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(spelled(it, escapes) for it in value) + "]"
    text = json.dumps(value, ensure_ascii=False)
    return text.replace(":", r"\u003a") if escapes and isinstance(value, str) else text


@given(value=values, escapes=st.booleans())
@example(value=[("", [("", None), ("", None)]), ("", float("inf"))], escapes=False)
def test_both_decoders_agree(value: Any, escapes: bool) -> None:
    data = spelled(value, escapes).encode()
    outcomes = []
    for decode in DECODERS.values():
        try:
            outcomes.append(repr(decode(data)))
        except UndecodableError as error:
            outcomes.append(str(error.code))
    assert outcomes[0] == outcomes[1]
