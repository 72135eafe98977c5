"""Tests of results that are too long, contain invisible text, or violate their schema."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.media import Media
from mcpgen.runtime.tools.projection import _Cutter, shorten
from mcpgen.runtime.tools.result_shape import ResultShape
from mcpgen.runtime.tools.results import make_result

PET = {
    "type": "object",
    "properties": {
        "id": {"type": ["integer", "null"]},
        "tags": {"type": ["array", "null"], "items": {"type": ["string", "null"]}},
    },
}


def shape(schema: Any = None, result_key: str = "") -> ResultShape:
    return ResultShape("GET /pets", result_key, output=schema and SchemaValidator(schema))


def test_a_valid_response_has_no_note() -> None:
    result = make_result({"id": 1, "more": "x"}, shape(PET))
    assert result.structured_content == {"id": 1, "more": "x"}
    assert result.content == (Text('{"id":1,"more":"x"}'),)
    assert result.meta == {}


def test_an_invalid_response_is_kept_in_text_and_adapted_in_structured_content() -> None:
    result = make_result({"id": "seven", "tags": ["a", 2]}, shape(PET))
    assert result.structured_content == {"id": None, "tags": ["a", None]}
    assert result.content[0] == Text('{"id":"seven","tags":["a",2]}')
    assert '`/id` must be an integer or null, not "seven"' in result.content[1].text
    assert len(result.meta["mcpgen/schemaDepartures"]) == 2
    assert not result.is_error


def test_a_member_inside_an_adapted_value_is_skipped() -> None:
    schema = {
        "properties": {"a": {"type": ["string", "null"], "properties": {"b": {"type": "string"}}}}
    }
    result = make_result({"a": {"b": 1}}, shape(schema))
    assert result.structured_content == {"a": None}


def test_structured_content_that_cannot_be_adapted_is_empty() -> None:
    result = make_result({"id": "x"}, shape({"properties": {"id": {"type": "integer"}}}))
    assert result.structured_content == {}
    assert result.content[0] == Text('{"id":"x"}')


def test_list_is_wrapped_and_checked_under_its_key() -> None:
    schema = {"type": "object", "properties": {"result": {"type": ["array", "null"]}}}
    assert make_result([1], shape(schema, "result")).structured_content == {"result": [1]}
    assert make_result(5, shape(schema, "result")).structured_content == {"result": None}


def test_content_of_a_handwritten_handler_is_unchanged() -> None:
    assert make_result(Text("\u200b"), shape()).content == (Text("\u200b"),)
    ready = ToolResult((Text("a"),), {"b": 1})
    assert make_result(ready, shape()) is ready


def test_undecodable_text_is_returned_with_a_note() -> None:
    result = make_result(Media(b"x", "text/plain", "It is text."), shape())
    assert result.content[1] == Text("It is text.")


def test_an_object_with_thousands_of_members_is_truncated() -> None:
    short = shorten({f"name{i}": i for i in range(50_000)}, 100_000)
    assert len(short.text) < 100_000
    assert short.value["name0"] == 0
    assert short.cuts[0].total == 50_000
    assert short.cuts[0].following == f"name{len(short.value)}"


def test_a_deep_value_is_truncated_in_linear_time() -> None:
    value: Any = ["x" * 100] * 80_000
    for _ in range(100):
        value = {"a": value}
    measured: list[int] = []

    def measure(part: Any) -> int:
        measured.append(len(msgspec.json.encode(part)))
        return measured[-1]

    cutter = _Cutter(measure)
    short = cutter.shorten(value, 100_000)
    assert len(short.text) < 1000
    assert short.cuts[0].shown == 0
    assert sum(measured) < 10 * 8_300_000


def test_a_long_text_is_truncated_with_a_note() -> None:
    result = make_result("x" * 100_001, shape())
    assert result.content[1].text == "Cut: `/` shows 99,000 of 100,001 characters."
    assert result.meta == {"mcpgen/truncated": True}


def test_an_unfinished_stream_is_reported_with_a_note() -> None:
    result = make_result("data: 1\n\n", shape(), is_cut_off=True)
    assert "went on" in result.content[1].text
    assert result.meta == {"mcpgen/truncated": True}


def test_long_json_is_truncated_by_items_and_stays_valid() -> None:
    value = {"items": [{"id": number, "text": "x" * 50} for number in range(5_000)], "next": "abc"}
    result = make_result(value, shape())
    assert result.structured_content is not None
    kept = len(result.structured_content["items"])
    assert 1_000 < kept < 5_000
    assert result.structured_content["next"] == "abc"
    assert json.loads(result.content[0].text) == result.structured_content
    assert len(result.content[0].text) <= 100_000
    assert f"`/items` shows {kept:,} of 5,000 items" in result.content[1].text
    assert result.meta == {"mcpgen/truncated": True}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1, 2, 3], [1, 2, 3]),
        (list(range(100)), list(range(16))),
        ({"a": "x" * 100, "b": 1}, {"a": "x" * 40, "b": 1}),
        ({"short": [1], "long": list(range(100))}, None),
        ([["x" * 200]], None),
    ],
)
def test_shorten_respects_the_bound_if_something_can_be_cut(value: Any, expected: Any) -> None:
    short = shorten(value, 40)
    if expected is not None:
        assert short.value == expected
    assert bool(short.cuts) == (short.value != value)
    assert len(short.text) <= 60


@pytest.mark.parametrize("character", ["x", "é", "語", "𝄞", '"', "\n", "\x01"])
def test_the_bound_is_used_up_and_never_exceeded(character: str) -> None:
    for value in ({"text": character * 900, "a": 1}, [character * 5] * 900, [[character * 900]]):
        most_in_an_item = 5 * 6 + 3
        in_bytes = len(shorten(value, 600).text.encode())
        assert 600 - most_in_an_item < in_bytes <= 600


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=80),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=5), inner, max_size=6)
    ),
)


@given(JSON, st.integers(20, 400))
def test_a_shortened_value_is_part_of_the_original(value: Any, bound: int) -> None:
    short = shorten(value, bound)
    assert msgspec.json.decode(short.text) == short.value
    assert is_part_of(short.value, value)
    assert bool(short.cuts) == (short.value != value)


def is_part_of(part: Any, whole: Any) -> bool:
    if isinstance(whole, list):
        return all(map(is_part_of, part, whole[: len(part)]))
    if isinstance(whole, dict):
        names = list(whole)[: len(part)]
        return list(part) == names and all(is_part_of(part[name], whole[name]) for name in names)
    if isinstance(whole, str):
        return whole.startswith(part)
    return bool(part == whole)
