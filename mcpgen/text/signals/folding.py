"""Normalisation of text before phrases are searched, with a map back to the original offsets."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_ENTITY: Final = re.compile(r"&(?:#x?[0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});")
_PUNCTUATION: Final = str.maketrans(
    "\u2018\u2019\u201a\u201c\u201d\u201e\u2032\u2010\u2011\u2012\u2013\u2014\u2015",
    "'" * 7 + "-" * 6,
)
# Letters of Cyrillic and Greek that look like a Latin one; both strings have the same order.
_LOOKALIKES: Final = str.maketrans(
    "аеорсухіјѕԁһԛԝӏьгпктмвнανοερτυικχγ", "aeopcyxijsdhqwlbrnktmbhavoeptuikxy"
)
_LATIN: Final = re.compile("[a-z]")
_GREEK_OR_CYRILLIC: Final = re.compile("[\u0370-\u052f]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_INVISIBLE_CATEGORIES: Final = frozenset({"Cf", "Cc", "Co", "Cn"})
_BLANK_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800")
_LEET: Final = str.maketrans("013457@$!|", "oieastasil")
_LEET_SIGN: Final = re.compile(r"[013457@$!|]")
_LEET_WORD: Final = re.compile(
    r"(?=[^\W013457]{0,30}+[013457@$!|])(?=[\w@$!|]{0,30}[a-z])[\w@$!|]{3,30}"
)
_SPELLED_WORD: Final = re.compile(r"(?<![^\W_])[a-z](?:[ ._*-][a-z](?![^\W_])){3,}")
# In every spelled word. The search for a pattern that begins with a set of characters is faster.
_SPELLED_LETTERS: Final = re.compile(r"[ ._*-][a-z][ ._*-][a-z][ ._*-]")
_JOINED_WORDS: Final = re.compile(r"\b[a-z]{2,20}(?:[._*+~-][a-z]{2,20}){2,20}\b")
_JOINT: Final = re.compile(r"[._*+~-]")
_CASE_CHANGE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-./\[\]:]+")


@dataclass(frozen=True, slots=True)
class FoldedText:
    """Lower-case text without decoration, and where each of its characters comes from."""

    text: str
    offsets: tuple[int, ...] | None  # None: computed on demand from `source`
    source: str
    marked_words: str  # the parts between white space that are not only of ASCII letters

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the source of `text[start:end]`."""
        offsets = self.offsets if self.offsets is not None else _fold_slowly(self.source)[1]
        return offsets[start], offsets[end - 1] + 1


def fold(text: str) -> FoldedText:
    """Fold compatibility forms, accents, case, quotation marks, entities and white space.

    Invisible characters are removed. In words of mixed scripts, lookalikes become Latin letters.
    """
    has_entities = "&" in text and _ENTITY.search(text) is not None
    if text.isascii() and not has_entities and (text.isprintable() or _is_plain(text)):
        # 30 times faster than character by character; the offsets are rarely needed.
        words = text.lower().replace("`", "'").split()
        return FoldedText(" ".join(words), None, text, _join_marked_words(words))
    folded, offsets = _fold_slowly(text)
    return _make_folded_text(folded, offsets, text)


def _make_folded_text(text: str, offsets: tuple[int, ...] | None, source: str) -> FoldedText:
    return FoldedText(
        text, offsets, source, _join_marked_words(text.split()) if text.isascii() else text
    )


def _join_marked_words(words: Iterable[str]) -> str:
    return " ".join([word for word in words if not word.isalpha()])


def _is_plain(text: str) -> bool:
    return text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable()


def _fold_slowly(text: str) -> tuple[str, tuple[int, ...]]:
    characters: list[str] = []
    offsets: list[int] = []
    pending_space = -1
    for offset, part in _decode_entities(text):
        if part.isspace():
            pending_space = offset if pending_space < 0 else pending_space
            continue
        for character in _fold_character(part):
            if character == " ":  # of a compatibility form
                pending_space = offset if pending_space < 0 else pending_space
                continue
            if pending_space >= 0 and characters:
                characters.append(" ")
                offsets.append(pending_space)
            pending_space = -1
            characters.append(character)
            offsets.append(offset)
    folded = "".join(characters)
    if _GREEK_OR_CYRILLIC.search(folded):
        folded = _WORD.sub(_replace_lookalikes, folded)
    return folded, tuple(offsets)


def _decode_entities(text: str) -> Iterator[tuple[int, str]]:
    """Yield characters with their offsets; a character reference yields what it stands for."""
    position = 0
    for entity in _ENTITY.finditer(text) if "&" in text else ():
        yield from enumerate(text[position : entity.start()], position)
        yield from ((entity.start(), character) for character in html.unescape(entity[0]))
        position = entity.end()
    yield from enumerate(text[position:], position)


def _fold_character(character: str) -> str:
    if character.isascii():
        return character.lower().replace("`", "'") if character >= " " else ""
    if is_never_visible(character):
        return ""
    decomposed = unicodedata.normalize("NFKD", character)
    if decomposed[0].isascii() and decomposed[0].isalpha():
        folded = "".join(part for part in decomposed if not unicodedata.combining(part))
    else:
        folded = unicodedata.normalize("NFKC", character)
    # The lower case of some letters has several characters, which is why the caller iterates.
    return folded.lower().translate(_PUNCTUATION)


def is_never_visible(character: str) -> bool:
    """Check for a character that displays nothing of its own."""
    return (
        unicodedata.category(character) in _INVISIBLE_CATEGORIES
        or character in _BLANK_LETTERS
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def _replace_lookalikes(word: re.Match[str]) -> str:
    if _GREEK_OR_CYRILLIC.search(word[0]) and _LATIN.search(word[0]):
        return word[0].translate(_LOOKALIKES)
    return word[0]


def reveal_leetspeak(folded: FoldedText) -> FoldedText | None:
    """Replace digits and signs within words by letters: `1gn0re`. None if there are none."""
    words = folded.marked_words
    if not (_LEET_SIGN.search(words) and _LEET_WORD.search(words)):
        return None
    revealed = _LEET_WORD.sub(lambda word: word[0].translate(_LEET), folded.text)
    return _make_folded_text(revealed, folded.offsets, folded.source)


def join_spelled_words(folded: FoldedText) -> FoldedText | None:
    """Join words that are spelled as single letters: `i g n o r e`. None if there are none.

    Words that are spelled one after the other become one word.
    """
    if not (_SPELLED_LETTERS.search(folded.text) and _SPELLED_WORD.search(folded.text)):
        return None
    offsets = folded.offsets if folded.offsets is not None else _fold_slowly(folded.source)[1]
    removed = {
        position
        for word in _SPELLED_WORD.finditer(folded.text)
        for position in range(word.start() + 1, word.end(), 2)
    }
    kept = [position for position in range(len(folded.text)) if position not in removed]
    return _make_folded_text(
        "".join(folded.text[position] for position in kept),
        tuple(offsets[position] for position in kept),
        folded.source,
    )


def has_joined_words(folded: FoldedText) -> bool:
    """Check for words that signs join: `ignore-all.previous`."""
    return _JOINED_WORDS.search(folded.marked_words) is not None


def split_joined_words(folded: FoldedText) -> FoldedText:
    """Separate words that signs join."""
    split = _JOINED_WORDS.sub(lambda words: _JOINT.sub(" ", words[0]), folded.text)
    return _make_folded_text(split, folded.offsets, folded.source)


def split_identifier(name: str) -> str:
    """Separate the words of an identifier: `readAllFiles` and `read_all_files`."""
    return _CASE_CHANGE.sub(" ", name)
