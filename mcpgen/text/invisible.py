"""Text of others, made harmless: invisible characters removed, Markdown escaped."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

# `re` compiles and caches these patterns at their first use: that takes a millisecond, and most
# text is ASCII, which needs none of them.
_ANSI: Final = r"(?s:\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.))"
_ALWAYS: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_JOINER: Final = "\u200c\u200d"
_SELECTOR: Final = "\ufe00-\ufe0f"
_SUSPECT: Final = f"[{_ALWAYS}{_JOINER}{_SELECTOR}]"
_HIDDEN: Final = (
    f"[{_ALWAYS}]"
    f"|(?<![^\x00-\x7f{_JOINER}])[{_JOINER}]"  # after ASCII, after another one, or at the start
    f"|(?<![^\x00-\x22\x24-\x29\x2b-\x2f\x3a-\x7f{_SELECTOR}])[{_SELECTOR}]"  # keycaps: # * 0-9
)


def visible(text: str) -> tuple[str, int]:
    """Remove terminal sequences and invisible characters; return the text and their number."""
    # Most text is ASCII, for which this check is 5 times faster than the pattern.
    if text.isascii() and (text.isprintable() or text.replace("\n", "").isprintable()):
        return text, 0
    if re.search(_SUSPECT, text) is None:
        return text, 0
    text, sequences = re.subn(_ANSI, "", text)
    text, characters = re.subn(_HIDDEN, "", text)
    return text, sequences + characters


_ESCAPED: Final = f"[\x00-\x1f\ud800-\udfff\u2028\u2029{_JOINER}{_ALWAYS}]"


def escape_invisible(text: str) -> str:
    """Return `text` on one line, with control and invisible characters escaped by their numbers.

    A tab becomes a space.
    """
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_ESCAPED, _escape_character, text)


def _escape_character(found: re.Match[str]) -> str:
    number = ord(found[0])
    if found[0] == "\t":
        return " "
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


_CODE = re.compile(r"(?<!`)`([^`|]+)`(?!`)")
_ESCAPES = str.maketrans({**{it: f"\\{it}" for it in "\\`*_[]#|~&$"}, "@": "&#64;", "<": "&lt;"})
_SPECIAL = re.compile(r"[\\`*_\[\]#|~&$@<]")
_LINK = re.compile(r"(?i)\b(https?|ftp)(:)(?=//)|\b(www)(\.)")


@lru_cache(maxsize=10_000)  # a skill measures its lines before it writes them
def escape_markdown_line(line: str) -> str:
    """Escape one line of text for a Markdown table cell or list item.

    Text between single backticks remains code.
    """
    return _escape_outside_code(line, _escape)


def _escape_outside_code(line: str, escape: Callable[[str], str]) -> str:
    parts = enumerate(_CODE.split(line))
    return "".join(f"`{part}`" if number % 2 else escape(part) for number, part in parts)


def _escape(text: str) -> str:
    # Most text has nothing to escape, and these checks are 10 times faster than substitutions.
    if _SPECIAL.search(text) is not None:
        text = text.translate(_ESCAPES)
    if "://" in text or "www." in text.lower():
        text = _LINK.sub(r"\1\3\\\2\4", text)
    return text


_REFERENCE: Final = re.compile(r"(\\#|\bGH-)(?=\d)")


def escape_comment_line(text: str) -> str:
    """Escape text for a line of a pull request: no markup, links, mentions or references to issues.

    A code host finds mentions and references in the rendered text, in which an escaped character is
    the character itself. So a zero-width space follows each "@", and each "#" before a number.
    """
    return _escape_outside_code(escape_invisible(" ".join(text.split())), _escape_references)


def _escape_references(text: str) -> str:
    return _REFERENCE.sub(r"\1&#8203;", _escape(text).replace("&#64;", "@&#8203;"))


class SafeText(str):
    """Text in the language of its target file, with all untrusted parts escaped.

    Only escaping functions of `mcpgen/render/environment.py` create it. Templates reject the rest.
    """

    __slots__ = ()
