"""Tests that long JSON is decoded in slices, and rejected if decoding would cost too much."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.runtime.upstream.response import json_decoding
from mcpgen.runtime.upstream.response.json_decoding import TooComplexError, check_size, decode_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.sampled_from('a"\\[,:{s')), inner),
    max_leaves=30,
)


@given(value=JSON, indent=st.sampled_from([None, 1]), length=st.integers(2, 60))
def test_decoding_in_slices_equals_decoding_at_once(value: Any, indent: Any, length: int) -> None:
    text = json.dumps(value, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_decoding, "LONG_BYTES", length)
        assert decode_json(text) == value


@given(st.lists(st.text(st.sampled_from('a"\\[,:{s'))), st.integers(1, 20))
def test_structural_characters_in_strings_are_not_counted(texts: list[str], length: int) -> None:
    text = json.dumps([texts, {"a": [1]}]).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_decoding, "LONG_BYTES", length)
        count = json_decoding._count_exactly(text)
    commas = max(0, len(texts) - 1) + 1
    assert (count.arrays, count.members, count.elements) == (3, 1, commas + 3 + 2)


@pytest.mark.parametrize(
    ("text", "excess"),
    [
        (b"[" + b"[]," * 500_000 + b"1]", "500,000 arrays"),
        (b"[" + b"1," * 1_300_000 + b"1]", "1,300,000 elements"),
        (b"[" + b"{}," * 500_000 + b"1]", "1,300,000 elements"),
        (b"{" + b'"a":1,' * 520_000 + b'"b":1}', "520,000 members"),
        (b'{"a":' * 129 + b'"' + b"x" * 40_000 + b'"' + b"}" * 129, "128 levels"),
    ],
)
def test_an_overly_complex_text_is_rejected(text: bytes, excess: str) -> None:
    with pytest.raises(TooComplexError, match=f"more than {excess}"):
        decode_json(text)


def test_brackets_and_commas_in_strings_are_accepted() -> None:
    value = ["[,:{" * 1_000] * 1_000
    text = json.dumps(value).encode()
    check_size(text)
    assert decode_json(text) == value


def test_slow_numbers_are_decoded_in_bounded_time() -> None:
    text = b"[" + b"1e-308," * 50_000 + b"6.59882e298]"
    started = time.process_time()
    value = decode_json(text)
    assert time.process_time() - started < 0.5  # it was 0.7 s on a fast machine
    assert value[0] == 1e-308
    assert value[-1] == 6.59882e298


def test_numbers_out_of_range_are_rejected_in_texts_of_any_length() -> None:
    for text in (b"[1e999]", b"[" + b"1e999," * 20_000 + b"1]"):
        with pytest.raises(msgspec.DecodeError, match="out of range"):
            decode_json(text)


def test_long_records_are_decoded() -> None:
    chance = random.Random(7)
    records = [
        {"id": i, "name": f"name {i}", "tags": ["a", "b"], "score": chance.random() * 1e-9}
        for i in range(20_000)
    ]
    assert decode_json(json.dumps({"data": records, "next": None}).encode()) == {
        "data": records,
        "next": None,
    }
