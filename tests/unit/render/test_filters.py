"""Tests that filters turn any text into output with exactly one meaning in its place."""

from __future__ import annotations

import ast
import tomllib

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mcpgen.render.environment import (
    doc_text,
    identifier,
    literal,
    markdown_code,
    markdown_paragraph,
    markdown_text,
    quote,
)
from mcpgen.text.prose import first_phrase, one_line, shorten

ANY_TEXT = st.text(st.characters())
SHOWN_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=8,
)


@given(json_values)
def test_literal_evaluates_to_its_value_and_is_printable(value: object) -> None:
    spelled = literal(value)
    assert ast.literal_eval(spelled) == value
    assert spelled.isprintable()


@given(ANY_TEXT)
@example('"')
@example('""" + exec("x") + """')
@example("ends with \\")
@example("\r\u2028\x85\0\u202e")
@example('"quote"')
def test_doc_text_evaluates_to_its_text(text: str) -> None:
    module = ast.parse(f'def f():\n    """{doc_text(text)}"""\n')
    [function] = module.body
    assert isinstance(function, ast.FunctionDef)
    assert ast.get_docstring(function, clean=False) == text
    assert len(function.body) == 1


@given(ANY_TEXT)
def test_doc_text_is_on_one_line(text: str) -> None:
    assert len(doc_text(text).splitlines()) <= 1


@given(SHOWN_TEXT)
@example('"\nname = "other')
@example("\x7f\x00\x85\u2028")
@example("\U00010000")
def test_quote_is_valid_in_toml_and_yaml(text: str) -> None:
    document = quote(text)
    assert tomllib.loads(f"key = {document}") == {"key": text}
    assert yaml.safe_load(f"key: {document}") == {"key": text}


def test_quote_replaces_lone_surrogates() -> None:
    assert quote("a\ud800b") == '"a?b"'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a | b", r"a \| b"),
        ("<script>", "&lt;script>"),
        ("[x](javascript:1)", r"\[x\](javascript:1)"),
        ("line\n\n# no head", r"line \# no head"),
        ("https://x.example", r"https\://x.example"),
        ("<!-- /mcpgen:tools -->", "&lt;!-- /mcpgen:tools -->"),
        ("the header `X-Key` (a key)", "the header `X-Key` (a key)"),
        ("a ` b", r"a \` b"),
        ("@team", "&#64;team"),
        ("www.x.example", r"www\.x.example"),
    ],
)
def test_markdown_text_escapes_markup(text: str, shown: str) -> None:
    assert markdown_text(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# no head", r"\# no head"),
        ("1. no item", r"1\. no item"),
        ("--- no rule", r"\--- no rule"),
        ("A text `like` any", "A text `like` any"),
    ],
)
def test_markdown_paragraph_escapes_block_starts(text: str, shown: str) -> None:
    assert markdown_paragraph(text) == shown


@given(SHOWN_TEXT | st.text("a1 `\\*_[](){}<>!#+-.|~&;@=:/\n"))
@example("\\`a`")
@example("``a`b`")
@example("&amp; &#64;")
@example("[a]: /b")
def test_markdown_paragraph_renders_as_its_text(text: str) -> None:
    reader = MarkdownIt("commonmark").enable(["strikethrough", "table"])
    blocks = [token for token in reader.parse(markdown_paragraph(text)) if token.content]
    line = one_line(text)
    assert [block.type for block in blocks] == ["inline"] * bool(line)
    spans = [span for block in blocks for span in block.children or ()]
    assert {span.type for span in spans} <= {"text", "code_inline"}
    shown = "".join(span.content for span in spans)
    assert shown.replace("`", "").split() == line.replace("`", "").split()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET /pets", "`GET /pets`"),
        ("a`b", "``a`b``"),
        ("`a`", "`` `a` ``"),
        ("a|b", r"`a\|b`"),
        ("a\nb", "`a b`"),
    ],
)
def test_markdown_code_is_fenced_with_enough_backticks(text: str, shown: str) -> None:
    assert markdown_code(text) == shown


@given(SHOWN_TEXT)
def test_one_line_has_no_line_break_and_nothing_invisible(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert "\u202e" not in line
    assert line == one_line(line)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("List pets. Newest first.", "List pets"),
        ("List pets, e.g. cats. More.", "List pets, e.g. cats"),
        ("\n\n  Add a pet\nto the store:\n\nDetails.", "Add a pet to the store"),
        ("Version 1.2 of it", "Version 1.2 of it"),
        ("What? No.", "What?"),
        ("", ""),
    ],
)
def test_first_phrase_returns_the_first_sentence(text: str, sentence: str) -> None:
    assert first_phrase(text) == sentence


def test_shorten_truncates_at_a_word_with_an_ellipsis() -> None:
    assert shorten("one two three", 9) == "one two…"
    assert shorten("unbreakable", 5) == "unbr…"
    assert shorten("short", 5) == "short"


@pytest.mark.parametrize("text", ["", "a b", "class", "__import__", "a;b", "ﬁ", "1a"])
def test_identifier_rejects_invalid_names(text: str) -> None:
    with pytest.raises(ValueError, match="not a Python identifier"):
        identifier(text)
