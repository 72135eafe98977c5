"""Text in ASCII, for names that every client takes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from anyascii import anyascii

_LOOK_ALIKES = ("ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "GREEK")  # some, of Latin letters
_WORD = re.compile(r"[^\W\d_]+|.", re.DOTALL)
_LETTERS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Co", "Cn"})  # or what may become one
_CHANGES = frozenset({"Lm", "Mn", "Mc", "Me"})
_SIGNS = str.maketrans("", "", "'`")  # of letters that ASCII has not: a soft sign, an ayn


def plain_ascii(text: str) -> str:
    """`text` in ASCII: accents dropped, letters of other scripts as they are read.

    A letter that could pass for a Latin one in a word with such becomes its code point between
    "_", and so does one that nobody told how to read.
    """
    return text if text.isascii() else "".join(_readings(text))


def is_latin(text: str) -> bool:
    """Whether every letter of `text` is Latin, so that `plain_ascii` spells it as its readers do.

    Of other scripts it gives one reading of several: of Chinese characters in Japanese, say.
    """
    return text.isascii() or all(
        unicodedata.name(character, "").startswith("LATIN ")
        for character in unicodedata.normalize("NFKC", text)
        if unicodedata.category(character) in _LETTERS
    )


def _readings(text: str) -> Iterator[str]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        has_ascii = any(character.isascii() for character in word)
        for character in word:
            name = unicodedata.name(character, "")
            is_disguised = has_ascii and name.startswith(_LOOK_ALIKES)
            yield _numbered(character) if is_disguised else _reading(character)


def _numbered(character: str) -> str:
    return f"_u{ord(character):x}_"


@cache
def _reading(character: str) -> str:
    """A character in ASCII: "" for what only changes the letter before it."""
    if character.isascii():
        return character
    read = anyascii(character)
    reading, category = read.translate(_SIGNS), unicodedata.category(character)
    if category[0] == "S":
        return f"_{reading}_"
    if reading or read or category in _CHANGES:
        return reading
    return _numbered(character) if category in _LETTERS or category[0] == "N" else "_"
