"""Prose of API documents, prepared for models and users: markup removed, shortened, by sentence.

A document's descriptions are Markdown and HTML by unknown authors. `plain_text` and `plain_line`
remove markup, `one_line` only whitespace and invisible characters. All functions are pure.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from mcpgen.text.markdown import remove_markup

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SPACES: Final = re.compile("  +")
_MARKED: Final = re.compile(r"`|<|&|>|\]\(|\||#|\*\*|__")
"""The beginnings of all markup within a line; a line without them is plain."""
SENTENCE_END: Final = re.compile(r"[.!?。](?=\s|$)")

_CONTROLS_AS_SPACES: Final = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], " ")
_INVISIBLE: Final = frozenset({"Cf", "Cs", "Co", "Cn"})  # format, surrogate, private, unassigned
_INVISIBLE_OR_CONTROL: Final = _INVISIBLE | {"Cc"}
_PARAGRAPH_END: Final = re.compile(r"\n[ \t]*\n")
# The mark before the look-behind, so that the search skips to it.
_PHRASE_END: Final = re.compile(r"[.!?](?<=[^.\s][.!?])(?=\s+[^a-z\s])")
_CLAUSE_END: Final = re.compile(
    r" (?=\()| [-\u2013\u2014] |; |, (?=(?:but|including|so|such|unless|when|where|which|who)\b)"
)
_PLAIN_SENTENCE: Final = re.compile(r"[A-Za-z0-9]+(?:,? [A-Za-z0-9]+)*+\.?")
_ABBREVIATION: Final = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|Nr|No)\.\Z")


@lru_cache(maxsize=4096)
def plain_text(text: str) -> str:
    """Remove HTML, tables, link targets, control and invisible characters from `text`.

    Paragraphs become lines. A code span keeps its backticks, and code its content. Sentences that
    only refer to the page behind a link are removed.
    """
    if text.isprintable() and "  " not in text and not _MARKED.search(text):  # as most are
        return text.strip()
    text = remove_markup(text, _remove_invisible)
    text = _SPACES.sub(" ", text.replace("\t", " ").replace("\u00a0", " "))
    lines = map(str.strip, text.splitlines())
    return "\n".join(filter(None, lines))


def _remove_invisible(text: str) -> str:
    if text.isprintable():  # as most lines are
        return text
    text = _CONTROL.sub("", text)
    if text.isascii():
        return text
    invisible = [ord(it) for it in set(text) if not (it.isascii() or _is_visible(it))]
    return text.translate(dict.fromkeys(invisible)) if invisible else text


def _is_visible(character: str) -> bool:
    """Return whether a character beyond ASCII is visible, or separates words or lines."""
    if character in "\u2028\u2029\x85":
        return False
    return unicodedata.category(character) not in _INVISIBLE_OR_CONTROL


def plain_line(text: str) -> str:
    """Return `plain_text` on a single line."""
    text = plain_text(text)
    return text if text.isprintable() else " ".join(text.split())


def one_line(text: str) -> str:
    """Collapse whitespace to single spaces and remove invisible characters; keep markup."""
    if text.isprintable():  # as most lines are
        return " ".join(text.split())
    visible = text.translate(_CONTROLS_AS_SPACES)
    if not visible.isascii():
        visible = "".join(ch for ch in visible if unicodedata.category(ch) not in _INVISIBLE)
    return " ".join(visible.split())


def shorten(text: str, width: int) -> str:
    """Cut `text` after a word, to at most `width` characters including "…"."""
    if len(text) <= width:
        return text
    head, space, _ = text[:width].rpartition(" ")
    return (head if space and len(head) > width // 2 else text[: width - 1]).rstrip(" ,;:") + "…"


def shorten_at_sentence(text: str, limit: int) -> str:
    """Cut `text` after a sentence, else after a word, to at most `limit` characters."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    ends = [match.end() for match in SENTENCE_END.finditer(head)]
    if ends and ends[-1] > limit // 3:
        return head[: ends[-1]]
    is_between_words = any(character.isspace() for character in text[limit - 2 : limit])
    whole_words = head if is_between_words else head.rsplit(None, 1)[0]
    return whole_words.rstrip(" ,;:(\n") + "…"


@lru_cache(maxsize=4096)
def first_sentence(text: str, limit: int) -> str:
    """Return the first sentence of `text` as a plain line of at most `limit` characters."""
    line = plain_line(text)
    end = SENTENCE_END.search(line)
    return shorten_at_sentence(line[: end.end()] if end else line, limit)


@lru_cache(maxsize=4096)
def first_phrase(text: str) -> str:
    """Return the first sentence of the first non-empty paragraph, without its full stop.

    The result is one line with its markup, of any length. "e.g." does not end a sentence.
    """
    parts = (one_line(part) for part in _PARAGRAPH_END.split(text, maxsplit=8))
    paragraph = next((part for part in parts if part), "")
    for end in _PHRASE_END.finditer(paragraph):
        if not _ABBREVIATION.search(paragraph[: end.end()]):
            paragraph = paragraph[: end.end()]
            break
    return paragraph.rstrip(" .:")


def cut_at_clause(sentence: str, limit: int) -> str:
    """Cut `sentence` after a clause, to at most `limit` characters; return "" if all are longer.

    A clause does not end inside of parentheses or of code.
    """
    if len(sentence) <= limit:
        return sentence
    heads = [sentence[: end.start()] for end in _CLAUSE_END.finditer(sentence, 0, limit + 2)]
    whole = [head for head in heads if _is_closed(head) and len(head) <= limit]
    return whole[-1] if whole else ""


def _is_closed(text: str) -> bool:
    return text.count("(") == text.count(")") and text.count("`") % 2 == 0


def end_sentence(phrase: str) -> str:
    """Return `phrase` with a full stop, unless it is empty or ends with a mark."""
    return phrase if not phrase or phrase[-1] in ".!?…" else f"{phrase}."


@lru_cache(maxsize=4096)
def whole_sentence(text: str, limit: int) -> str:
    """Return the first sentence of `text` as a plain line, or as many of its clauses as fit.

    The result has at most `limit` characters; it is "" if not even the first clause fits.
    """
    if len(text) < limit and _PLAIN_SENTENCE.fullmatch(text):  # as most descriptions are
        return end_sentence(text)
    paragraphs = map(plain_line, _PARAGRAPH_END.split(text, maxsplit=8))
    phrase = first_phrase(next(filter(None, paragraphs), ""))
    return end_sentence(cut_at_clause(phrase, limit - 1))


def split_sentences(line: str) -> list[str]:
    """Split one line of text into its sentences, each with its full stop."""
    ends = [match.end() for match in SENTENCE_END.finditer(line)]
    starts = [0, *ends]
    found = (line[start:end].strip() for start, end in zip(starts, [*ends, None], strict=True))
    return [sentence for sentence in found if sentence]


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def text_lines(text: str) -> list[str]:
    r"""Split a text after each "\n", "\r\n" and "\r", which stay in the lines.

    `str.splitlines` also splits at "\f" and U+2029, so that it counts more lines than a parser.
    """
    return _LINE.findall(text)
