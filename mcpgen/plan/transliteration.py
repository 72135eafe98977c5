"""Text in ASCII: letters as they are read where Unicode's own data or an alphabet tells that."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

_CYRILLIC = """
    а a б b в v г g д d е e ж zh з z и i й y к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts
    ч ch ш sh щ shch ъ - ы y ь - э e ю yu я ya є ye і i ї yi ґ g ў u
"""  # noqa: RUF001  (these letters are the data)
_GREEK = """
    α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch
    ψ ps ω o
"""  # noqa: RUF001  (as above)
_LATIN = "ß ss þ th ð d ı i ə e"  # noqa: RUF001  (as above)


def _pairs(table: str) -> dict[str, str]:
    """Letters by what they are read as, without "-", which says that a letter is silent."""
    words = iter(table.split())
    return {letter: reading.strip("-") for letter, reading in zip(words, words, strict=True)}


_LOOK_ALIKES = {**_pairs(_CYRILLIC), **_pairs(_GREEK)}  # some of them, of Latin letters
_LETTERS = {**_LOOK_ALIKES, **_pairs(_LATIN)}
_NAMED = re.compile(
    r"LATIN (?:SMALL|CAPITAL) (?:LETTER|LIGATURE) ([A-Z]{1,2})(?: WITH .*)?\Z"
    r"|HANGUL SYLLABLE ([A-Z]+)\Z"
    r"|(?:HIRAGANA|KATAKANA) LETTER (?:SMALL )?([A-Z]+)\Z"
)
_WORD = re.compile(r"[^\W\d_]+|.", re.DOTALL)


def plain_ascii(text: str) -> str:
    """`text` in ASCII: accents dropped, letters of other alphabets as they are read.

    A letter whose reading is not known, as that of a Chinese character is not, becomes its code
    point between "_"; so does one that could pass for a Latin letter in a word with such.
    """
    if text.isascii():
        return text
    return "".join(
        f"_u{ord(character):x}_" if reading is None else reading
        for character, reading in _readings(text)
    )


def is_readable(text: str) -> bool:
    """Whether every letter of `text` has a reading, so that `plain_ascii` still says it."""
    return text.isascii() or all(reading is not None for _, reading in _readings(text))


def _readings(text: str) -> Iterator[tuple[str, str | None]]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        is_latin = any(character.isascii() for character in word)
        for character in word:
            is_disguised = is_latin and character.lower() in _LOOK_ALIKES
            yield character, None if is_disguised else _reading(character)


@cache
def _reading(character: str) -> str | None:
    """A character in ASCII; "_" for what is no letter, None for a letter that cannot be read."""
    if character.isascii():
        return character
    letter = _LETTERS.get(character.lower())
    named = _NAMED.match(unicodedata.name(character, ""))
    if letter is None and named is not None:
        letter = next(filter(None, named.groups())).lower()
    if letter is not None:
        return letter.capitalize() if character.isupper() else letter
    parts = unicodedata.normalize("NFKD", character)
    if parts != character:
        readings = list(map(_reading, parts))
        return None if None in readings else "".join(filter(None, readings))
    category = unicodedata.category(character)
    if unicodedata.combining(character) or category == "Lm":
        return ""  # belongs to the letter before it
    return None if category[0] in "LN" else "_"
