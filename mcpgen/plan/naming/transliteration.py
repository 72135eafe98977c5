"""Transliteration of text to ASCII, for names that every client accepts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from anyascii import anyascii

# Scripts in which some letters look like Latin ones.
_LOOK_ALIKES = ("ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "GREEK")
_WORD = re.compile(r"[^\W\d_]+|.", re.DOTALL)
# Unassigned code points (Cn) and private ones (Co) may be letters.
_LETTERS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Co", "Cn"})
_MODIFIERS = frozenset({"Lm", "Mn", "Mc", "Me"})
_SIGNS = str.maketrans("", "", "'`")  # anyascii's spelling of a soft sign or an ayn


def transliterate(text: str) -> str:
    """Transliterate `text` to ASCII: drop accents, romanize letters of other scripts.

    A letter that looks like a Latin one inside a word with Latin letters becomes its code point
    between "_" ("_u430_"), and so does a letter without a known romanization.
    """
    return text if text.isascii() else "".join(_transliterate_characters(text))


def is_latin(text: str) -> bool:
    """Check whether every letter of `text` is Latin, so that its transliteration is unambiguous.

    Other scripts have several readings: Chinese characters in Japanese, for example.
    """
    return text.isascii() or all(
        unicodedata.name(character, "").startswith("LATIN ")
        for character in unicodedata.normalize("NFKC", text)
        if unicodedata.category(character) in _LETTERS
    )


def _transliterate_characters(text: str) -> Iterator[str]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        has_ascii = any(character.isascii() for character in word)
        for character in word:
            name = unicodedata.name(character, "")
            is_disguised = has_ascii and name.startswith(_LOOK_ALIKES)
            yield _spell_code_point(character) if is_disguised else _transliterate(character)


def _spell_code_point(character: str) -> str:
    return f"_u{ord(character):x}_"


@cache
def _transliterate(character: str) -> str:
    """Transliterate one character; "" for a mark that only modifies the letter before it."""
    if character.isascii():
        return character
    romanized = anyascii(character)
    plain, category = romanized.translate(_SIGNS), unicodedata.category(character)
    if category[0] == "S":
        return f"_{plain}_"
    if romanized or category in _MODIFIERS:
        return plain
    return _spell_code_point(character) if category in _LETTERS or category[0] == "N" else "_"
