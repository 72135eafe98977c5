"""Tests that adding and removing entries in a client's file changes nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.factory.clients.config_text import ConfigText
from mcpgen.factory.clients.json_text import parse_json
from mcpgen.factory.clients.registry import Format
from mcpgen.factory.clients.texts import ConfigSyntaxError, Traces, UneditableError
from tests.unit.factory.clients import client_files as files

ENTRY: dict[str, Any] = {
    "command": "C:\\Program Files\\x",
    "args": ["a b", 'q"', "é", ""],
    "env": {"K": "${K}", "odd key": "1"},
}
KINDS: dict[str, tuple[Format, bool]] = {
    "json": ("json", False),
    "toml": ("toml", False),
    "yaml": ("yaml", False),
    "yaml list": ("yaml", True),
}
BY_HAND = [
    *(("json", text) for text in files.JSON_TEXTS),
    *(("toml", text) for text in files.TOML_TEXTS),
    *(("yaml", text) for text in files.YAML_TEXTS),
    *(("yaml list", text) for text in files.YAML_LISTS),
]
RANDOM = st.one_of(
    st.tuples(st.just("json"), files.json_texts()),
    st.tuples(st.just("toml"), files.toml_texts()),
    st.tuples(st.just("yaml"), files.yaml_texts()),
)


def open_text(kind: str, text: str) -> ConfigText:
    syntax, is_list = KINDS[kind]
    return ConfigText(text.encode(), syntax, ("KEY",), is_list=is_list)


def add_and_remove(kind: str, text: str, order: tuple[str, ...]) -> bytes:
    """Add two entries, remove them in the given order, and return the file."""
    traces = Traces()
    config = open_text(kind, text)
    before = config.read_servers()
    inserted = {name: config.insert(name, ENTRY, traces) for name in ("one", "two")}
    found = open_text(kind, config.content.decode()).read_servers()
    assert {**found, "one": None, "two": None} == {**before, "one": None, "two": None}
    for name in ("one", "two"):
        entry = found[name]
        assert isinstance(entry, dict)
        assert {key: entry[key] for key in ENTRY} == ENTRY
    for number, name in enumerate(order, 1):
        config = open_text(kind, config.content.decode())
        config.remove(name, inserted[name], traces, is_last=number == len(order))
    return config.content


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")], ids="-".join)
@pytest.mark.parametrize(("kind", "text"), BY_HAND)
def test_what_is_added_and_removed_leaves_no_byte(
    kind: str, text: str, order: tuple[str, ...]
) -> None:
    assert add_and_remove(kind, text, order) == text.encode()


@settings(max_examples=400)
@given(RANDOM, st.permutations(("one", "two")))
def test_random_files_are_restored(found: tuple[str, str], order: tuple[str, ...]) -> None:
    kind, text = found
    try:
        open_text(kind, text)
    except ConfigSyntaxError:  # the same table twice, for instance
        return
    assert add_and_remove(kind, text, tuple(order)) == text.encode()


@settings(max_examples=100)
@given(files.json_texts())
def test_everything_outside_of_the_entry_stays(text: str) -> None:
    config = open_text("json", text)
    config.insert("one", ENTRY, Traces())
    after = iter(config.content.decode())
    # What was there is still there in its order; white space of an empty object may be replaced.
    assert all(char in after for char in text if not char.isspace())


@pytest.mark.parametrize("kind", ["json", "yaml", "toml", "yaml list"])
def test_an_entry_that_the_user_changed_is_removed_whole(kind: str) -> None:
    traces = Traces()
    config = open_text(kind, "")
    inserted = config.insert("one", ENTRY, traces)
    changed = config.content.decode().replace("a b", "changed by hand")
    config = open_text(kind, changed)
    config.remove("one", inserted, traces, is_last=True)
    assert config.content == b""


@pytest.mark.parametrize(
    ("kind", "text", "line", "column"),
    [
        ("json", '{"KEY": {}', 1, 11),
        ("json", '{\n  "KEY": oops\n}', 2, 10),
        ("json", "{'KEY': {}}", 1, 2),
        ("json", '{"KEY": {}} {}', 1, 13),
        ("json", '{"a": "\t"}', 1, 7),
        ("toml", "a = \n", 1, 5),
        ("yaml", "a: [1\n", 2, 1),
        ("yaml", "a: !own 1\n", 1, 4),
    ],
)
def test_a_malformed_file_is_rejected_with_its_place(
    kind: str, text: str, line: int, column: int
) -> None:
    with pytest.raises(ConfigSyntaxError) as found:
        open_text(kind, text)
    assert (found.value.line, found.value.column) == (line, column)


def test_a_file_in_another_encoding_is_rejected() -> None:
    with pytest.raises(ConfigSyntaxError, match="UTF-8"):
        ConfigText("{}".encode("utf-16"), "json", ("KEY",))


def test_a_file_that_is_nested_too_deeply_is_rejected() -> None:
    with pytest.raises(ConfigSyntaxError, match="nested"):
        open_text("json", '{"a":' * 5000 + "1" + "}" * 5000)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json", "[]"),
        ("json", '{"KEY": []}'),
        ("json", '{"KEY": null}'),
        ("toml", 'KEY = { a = { command = "x" } }'),
        ("toml", "KEY = 1"),
        ("yaml", "- 1"),
        ("yaml", "KEY: []"),
        ("yaml", "{a: 1}"),
        ("yaml", "a: |\n  a text whose last line has no end"),
        ("yaml list", "KEY: {a: {}}"),
    ],
)
def test_a_file_that_cannot_be_extended_stays(kind: str, text: str) -> None:
    config = open_text(kind, text)
    with pytest.raises(UneditableError):
        config.insert("one", ENTRY, Traces())
    assert config.content == text.encode()


def test_an_entry_that_does_not_exist_cannot_be_removed() -> None:
    for kind in KINDS:
        with pytest.raises(UneditableError):
            open_text(kind, "").remove("one", "", Traces(), is_last=True)


@given(files.json_texts())
def test_texts_without_comments_and_trailing_commas_are_read_like_json(text: str) -> None:
    plain = json.dumps(parse_json(text.removeprefix("\ufeff")).value)
    assert parse_json(plain).value == json.loads(plain)


def test_the_style_of_the_file_is_followed() -> None:
    config = open_text("json", '{\n\t"KEY": {\n\t\t"a": {}\n\t}\n}\n')
    config.insert("one", {"command": "x"}, Traces())
    assert config.content.decode() == (
        '{\n\t"KEY": {\n\t\t"a": {},\n\t\t"one": {\n\t\t\t"command": "x"\n\t\t}\n\t}\n}\n'
    )
