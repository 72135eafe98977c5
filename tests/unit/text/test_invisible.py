"""Tests that invisible characters are removed, except those that text needs."""

from __future__ import annotations

import unicodedata

import pytest

from mcpgen.text.invisible import escape_markdown_line, visible

VISIBLE_FORMATS = {  # format characters that are drawn: Arabic, Syriac and Kaithi number signs
    *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD,
    *range(0x13430, 0x13440),  # Egyptian hieroglyphs, which they arrange
}  # fmt: skip


def test_every_undocumented_control_or_format_character_is_removed() -> None:
    kept = {
        code
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in {"Cc", "Cf"} and visible(f"x{chr(code)}")[1] == 0
    }
    assert kept <= {ord("\t"), ord("\n"), ord("\r"), *VISIBLE_FORMATS}


@pytest.mark.parametrize(
    "code",
    [
        0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x180E, 0x200B, 0x200E, 0x202E, 0x2066,
        0x2069, 0x3164, 0xFEFF, 0xFFA0, 0xFFF9, 0xE0001, 0xE0041, 0xE007F, 0xE0100, 0xE01EF,
        0x1D173, 0x1BCA0, 0x7F, 0x9F, 0x00,
    ],
)  # fmt: skip
@pytest.mark.parametrize("around", ["x", "\u0645", "\U0001f469"])
def test_a_hidden_character_is_removed_from_any_text(code: int, around: str) -> None:
    assert visible(f"{around}{chr(code)}{around}") == (around * 2, 1)


@pytest.mark.parametrize(
    "text",
    [
        "plain\ttext\r\n",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a non-joiner
        "\u0915\u094d\u200d\u0937",  # Devanagari, with a joiner
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",  # a family
        "\u2764\ufe0f\u200d\U0001f525",  # a heart on fire
        "1\ufe0f\u20e3 #\ufe0f\u20e3",  # keycaps
        "\u1820\u180b",  # Mongolian
        "caf\u00e9 \u6f22\u5b57 \u2028",
    ],
)
def test_characters_needed_by_text_are_kept(text: str) -> None:
    assert visible(text) == (text, 0)


@pytest.mark.parametrize(
    ("text", "shown", "removed"),
    [
        ("a\u200db", "ab", 1),
        ("\u200dx", "x", 1),
        ("\u00e9\u200c\u200d\u200c", "\u00e9\u200c", 2),
        ("\U0001f600\ufe00\ufe01\ufe02", "\U0001f600\ufe00", 2),
        ("a\ufe0f", "a", 1),
        ("a\x1b[31mb\x1b]0;title\x07c", "abc", 2),
    ],
)
def test_joiners_and_selectors_cannot_carry_a_message(text: str, shown: str, removed: int) -> None:
    assert visible(text) == (shown, removed)


@pytest.mark.parametrize(
    ("line", "escaped"),
    [
        ("plain text: a, b.", "plain text: a, b."),
        ("*a* [b] #c & $d ~e | f_g \\ h", r"\*a\* \[b\] \#c \& \$d \~e \| f\_g \\ h"),
        ("<b> to a@b.example", "&lt;b> to a&#64;b.example"),
        ("see HTTPS://a.example", r"see HTTPS\://a.example"),
        ("see WWW.b.example", r"see WWW\.b.example"),
        ("`a*b` and *c", r"`a*b` and \*c"),
    ],
)
def test_markdown_is_escaped_outside_code(line: str, escaped: str) -> None:
    assert escape_markdown_line(line) == escaped
