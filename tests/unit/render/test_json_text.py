"""Tests of JSON files for review: layout, and the bytes that a server extracts from them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mcpgen.render.json_text import block, compact, wrap, wrap_tools
from mcpgen.runtime.protocol.prepared_list import split_tools

TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXTS, inner, max_size=6),
    max_leaves=40,
)


def test_a_short_value_is_on_one_line_and_a_long_one_is_wrapped() -> None:
    value = {"short": [1, 2], "long": {"a": "x" * 50, "b": "y" * 50}}
    assert wrap(value).decode().splitlines() == [
        "{",
        '\t"long":{',
        f'\t\t"a":"{"x" * 50}",',
        f'\t\t"b":"{"y" * 50}"',
        "\t},",
        '\t"short":[1,2]',
        "}",
    ]


def test_items_of_an_entry_are_on_lines_of_their_own() -> None:
    entry = {"b": [{"y": "two\nlines", "x": 1}, {"z": "\ud800"}, "text"], "a": [1, 2]}
    assert block(entry).decode().splitlines() == [
        '{"a": [1,2],',
        ' "b": [',
        '  {"x":1,"y":"two\\nlines"},',
        '  {"z":"?"},',
        '  "text"',
        " ]}",
    ]


@given(VALUES)
def test_only_line_ends_and_tabs_are_added(value: object) -> None:
    assert wrap(value).replace(b"\n", b"").replace(b"\t", b"") == compact(value)


def test_tools_that_share_a_schema_are_each_written_as_alone() -> None:
    long = {"properties": {f"p{number}": {"type": "string"} for number in range(9)}}
    tools = [{"a": long, "name": "one"}, {"b": long, "name": "two"}, {"a": {}, "b": {"c": long}}]
    alone = [wrap_tools([tool]).removeprefix(b"[\n").removesuffix(b"\n]\n") for tool in tools]
    assert wrap_tools(tools) == b"[\n" + b",\n".join(alone) + b"\n]\n"


def test_the_identity_of_a_tool_that_is_gone_is_not_taken_for_another() -> None:
    tools = ({"name": str(number), "schema": {"title": number}} for number in range(99))
    assert json.loads(wrap_tools(tools)) == [
        {"name": str(number), "schema": {"title": number}} for number in range(99)
    ]


def test_text_that_is_no_unicode_is_replaced() -> None:
    tool = {"name": "a", "description": "\ud800" * 90}
    assert json.loads(compact(tool)) == {"name": "a", "description": "?" * 90}
    assert wrap(tool).replace(b"\n", b"").replace(b"\t", b"") == compact(tool)
    assert split_tools(wrap_tools([tool, {"name": "ü"}])) == [
        compact(tool),
        '{"name":"ü"}'.encode(),
    ]


@given(st.lists(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=6), max_size=4))
def test_split_tools_returns_each_tool_as_compact_json(tools: list[dict[str, object]]) -> None:
    text = wrap_tools(tools)
    assert json.loads(text) == tools
    assert split_tools(text) == [compact(tool) for tool in tools]


def test_split_tools_accepts_reformatted_listings() -> None:
    tools = [{"name": "a", "description": "ü\t\n"}, {"name": "b"}]
    for text in (json.dumps(tools), json.dumps(tools, indent=2), json.dumps(tools, indent="\t")):
        assert list(map(json.loads, split_tools(text.encode()))) == tools
        assert not any(b"\n" in line for line in split_tools(text.encode()))
