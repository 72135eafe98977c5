"""Tests of front matter of skills: the subset of YAML that all parsers read alike."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.contract.frontmatter import check_skill, is_skill_name, read_frontmatter


def read(*lines: str) -> dict[str, Any]:
    return read_frontmatter("\n".join(("---", *lines, "---", "", "# Text", "")))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("key: plain text, with: no colon-space", None),
        ("key: plain text", "plain text"),
        ("key: it's `code` (really)", "it's `code` (really)"),
        ("key: text # a comment", "text"),
        ("key: a#b", "a#b"),
        ('key: "quoted: \\"text\\" \\u00e9"', 'quoted: "text" é'),
        ("key: 'it''s # quoted'", "it's # quoted"),
        ("key: true", True),
        ("key: null", None),
        ("key: 42", 42),
        ("key: -x", "-x"),
        ("key: http://example.com", "http://example.com"),
    ],
)
def test_a_scalar_is_read_as_yaml_reads_it(line: str, value: object) -> None:
    if ": no" in line:
        with pytest.raises(ValueError, match="line 2"):
            read(line)
        return
    assert read(line) == {"key": value} == yaml.safe_load(line)


@pytest.mark.parametrize(
    "value",
    [
        "yes", "No", "on", "1.0", "1.0.0", "0x1f", "010", "1_000", "12:30", "2026-01-02", ".inf",
        "~", "[a, b]", "{a: b}", "&a b", "*a", "!tag x", "@x", "`x`", "%x", "a: b", "a:", "? a",
        "- a", '"unfinished', "'unfinished", '"\\x41"', '"\\/"', '"\\ud83d\\ude00"', "a\tb",
        "\u00a0", "|2", ">+", "True", "NULL",
    ],
)  # fmt: skip
def test_a_scalar_that_parsers_read_differently_is_rejected(value: str) -> None:
    with pytest.raises(ValueError, match="line 2: "):
        read(f"key: {value}")


@pytest.mark.parametrize(
    "lines",
    [
        ("a: >-", "  one", "  two", "", "  three", "b: c"),
        ("a: >", "  one", "  two", "", "b: c"),
        ("a: |", "  one", "    deeper", "", "  two", "b: c"),
        ("a: |-", "  one", "b: c"),
        ("a:", "  x: one", "  y.z/w: 'two'", "b: c"),
        ("a:", "  - one", "  - 'two'", "b: c"),
        ("# a comment", "a: one", "", "b: c"),
    ],
)
def test_blocks_lists_and_mappings_are_read_as_yaml_reads_them(lines: tuple[str, ...]) -> None:
    assert read(*lines) == yaml.safe_load("\n".join(lines))


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        (("a: one", "  two"), 3),
        (("a:",), 2),
        (("a: one", "a: two"), 3),
        (("a: >-", "  one", "    deeper"), 4),
        (("a: >-", "b: c"), 2),
        (("a:", "  x:", "    y: z"), 3),
        (("a:", "  - one", "  two: x"), 4),
        (("just text",), 2),
        ((" a: b",), 2),
    ],
)
def test_another_part_of_yaml_is_rejected_with_its_line(
    lines: tuple[str, ...], number: int
) -> None:
    with pytest.raises(ValueError, match=f"line {number}: "):
        read(*lines)


@pytest.mark.parametrize("text", ["", "# No front matter", "---\na: b\n", "\ufeff---\na: b\n---\n"])
def test_text_without_front_matter_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="must begin with front matter"):
        read_frontmatter(text)


def test_line_ends_of_windows_are_accepted() -> None:
    assert read_frontmatter("---\r\na: b\r\n---\r\ntext") == {"a": "b"}


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), min_size=1, max_size=4))
def test_what_is_accepted_is_what_yaml_reads(values: list[str]) -> None:
    lines = [f"key{number}: {value}" for number, value in enumerate(values)]
    text = "\n".join(("---", *lines, "---", ""))
    try:
        found = read_frontmatter(text)
    except ValueError:
        return
    inner = text.split("\n---\n")[0].removeprefix("---\n")
    assert found == yaml.safe_load(inner)


@pytest.mark.parametrize("name", ["a", "a-b", "a1-2b", "x" * 64])
def test_a_name_of_a_skill_is_words_joined_by_hyphens(name: str) -> None:
    assert is_skill_name(name)


@pytest.mark.parametrize("name", ["", "-a", "a-", "a--b", "A", "a_b", "é", "x" * 65, "a\n"])
def test_another_name_is_invalid(name: str) -> None:
    assert not is_skill_name(name)


@pytest.mark.parametrize(
    ("frontmatter", "message"),
    [
        ({"description": "d"}, "`name`"),
        ({"name": "Pets", "description": "d"}, "`name`"),
        ({"name": "cats", "description": "d"}, "its directory is `pets`"),
        ({"name": "pets"}, "`description`"),
        ({"name": "pets", "description": " "}, "`description`"),
        ({"name": "pets", "description": "d" * 1025}, "`description`"),
        ({"name": "pets", "description": 7}, "`description`"),
    ],
)
def test_a_skill_needs_the_name_of_its_folder_and_a_description(
    frontmatter: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        check_skill(frontmatter, "pets")
