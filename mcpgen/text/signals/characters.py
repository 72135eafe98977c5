"""Detection of characters that hide text, or that show another text than a model reads."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from mcpgen.text.signals.kinds import TextSignal

_SUSPECT: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ue000-\uf8ff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\U000f0000-\U0010ffff]+"
)
_ANSI: Final = re.compile(r"(?:\x1b[\[\]PX^_()]|\x9b)[0-?]*[ -/]*[@-~]?|\x1b")
_FLAG: Final = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
_TAGS: Final = re.compile("[\U000e0000-\U000e007f]+")
_DIRECTION: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARKS: Final = frozenset("\u200e\u200f\u061c")
_JOINERS: Final = frozenset("\u200c\u200d")
# Scripts without spaces between words, where a zero-width space separates words.
_UNSPACED: Final = ("THAI", "LAO", "KHMER", "MYANMAR", "CJK", "HIRAGANA", "KATAKANA", "TIBETAN")
_PATTERN_CLASS: Final = re.compile(r"\[(?:\\.|[^\]\\]){1,500}\]")
_SELECTABLE: Final = frozenset({"So", "Sm", "Lo", "Po", "Pd", "Sk", "Mn"})
_IDENTIFIERS: Final = frozenset({"name", "property", "enum"})
# Of each script, the letters that a reader takes for a Latin one.
_LOOKALIKE: Final = frozenset("АВЕЅІЈКМНОРСТУХаеорсухіјѕԁһԛԝӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧονԚԜҮ")
_WORD: Final = re.compile(r"\w+")
_LATIN: Final = re.compile("[A-Za-z]")
_GREEK_OR_CYRILLIC: Final = re.compile("[\u0370-\u052f]")
_WIDE: Final = re.compile("[\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d6a3]+")


def find_hidden_characters(text: str, field: str) -> Iterator[TextSignal]:
    """Find invisible, misleading and control characters.

    Characters that a script or an emoji needs are not reported. In a regular expression, the
    characters of a class are not reported.
    """
    if text.isascii() and text.isprintable():
        return
    skipped = [*_spans(_FLAG, text)]
    if field == "pattern":
        skipped = sorted([*skipped, *_spans(_PATTERN_CLASS, text)])
    suspects = [*_SUSPECT.finditer(text)]
    is_right_to_left = bool(suspects) and _has_right_to_left_letter(text)
    for found in suspects:
        position = bisect_right(skipped, (found.start(), len(text))) - 1
        if position >= 0 and found.start() < skipped[position][1]:
            continue
        if (signal := _judge(text, found, field, is_right_to_left)) is not None:
            yield signal
    if not text.isascii():
        yield from _find_lookalikes(text, field)


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    return (found.span() for found in pattern.finditer(text))


def _judge(
    text: str, found: re.Match[str], field: str, is_right_to_left: bool
) -> TextSignal | None:
    """Judge a run of suspect characters by its most telling character."""
    start, end = found.span()
    run = found[0]
    names = ", ".join(sorted({f"U+{ord(character):04X}" for character in run})[:4])
    if _TAGS.search(run):
        letters = "".join(
            chr(ord(character) & 0x7F) for character in run if character > "\U000e001f"
        )
        readable = "".join(letter for letter in letters if " " <= letter <= "~")[:60]
        detail = f", which spell `{readable}`" if readable.strip() else ""
        return TextSignal("tag-characters", start, end, f"{len(run)} tag characters{detail}")
    if any(character in _DIRECTION for character in run):
        if is_right_to_left and not set(run) & {"\u202d", "\u202e"}:
            return None
        return TextSignal("direction-controls", start, end, f"direction controls: {names}")
    if any(_is_private(character) for character in run):
        return TextSignal("private-use", start, end, f"private-use characters: {names}")
    if (control := _find_control(text, start, end)) is not None:
        return control
    selectors = [character for character in run if _is_selector(character)]
    if selectors:
        if len(selectors) == 1 and _selects(text, start):
            return None
        return TextSignal(
            "variation-selectors", start, end, f"{len(selectors)} variation selectors: {names}"
        )
    if set(run) <= _MARKS and is_right_to_left:
        return None
    if _is_needed(text, start, end, field):
        return None
    return TextSignal("invisible-characters", start, end, f"invisible characters: {names}")


def _find_control(text: str, start: int, end: int) -> TextSignal | None:
    controls = [
        character for character in text[start:end] if unicodedata.category(character) == "Cc"
    ]
    if not controls:
        return None
    sequence = _ANSI.match(text, start)
    what = "a terminal sequence" if sequence else f"the control character U+{ord(controls[0]):04X}"
    return TextSignal("terminal-sequences", start, sequence.end() if sequence else end, what)


def _is_private(character: str) -> bool:
    return unicodedata.category(character) == "Co"


def _is_selector(character: str) -> bool:
    return (
        "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
        or "\u180b" <= character <= "\u180f"
    )


def _selects(text: str, position: int) -> bool:
    """Check that one selector follows a character that has several forms."""
    if position == 0:
        return False
    before = text[position - 1]
    if before in "#*0123456789":
        return True
    return not before.isascii() and (
        before == "\u2139" or unicodedata.category(before) in _SELECTABLE
    )


def _has_right_to_left_letter(text: str) -> bool:
    return any(unicodedata.bidirectional(character) in {"R", "AL"} for character in text)


def _is_needed(text: str, start: int, end: int, field: str) -> bool:
    """Check whether a script, an emoji or the layout of a text needs these characters."""
    run = set(text[start:end])
    before = text[start - 1 : start]
    after = text[end : end + 1]
    if end - start > 2:
        return False
    if run <= _JOINERS:
        return not before.isascii() and ("\u200c" in run or not after.isascii())
    if "\ufe0f" in run or field in _IDENTIFIERS:
        return False
    if run == {"\u2800"}:  # the space of Braille
        return any("\u2801" <= character <= "\u28ff" for character in before + after)
    if run == {"\ufeff"}:
        return start == 0
    if run == {"\u00ad"}:  # possible end of a line
        return before.isalpha() and after.isalpha()
    return run == {"\u200b"} and any(
        unicodedata.name(character, "").startswith(_UNSPACED) for character in before + after
    )


def _find_lookalikes(text: str, field: str) -> Iterator[TextSignal]:
    for word in _WORD.finditer(text) if _GREEK_OR_CYRILLIC.search(text) else ():
        foreign = _GREEK_OR_CYRILLIC.findall(word[0])
        if foreign and _LATIN.search(word[0]) and _LOOKALIKE.issuperset(foreign):
            script = unicodedata.name(foreign[0]).partition(" ")[0].title()
            reason = f"{script} letters in a Latin word: U+{ord(foreign[0]):04X}"
            yield TextSignal("lookalike-letters", *word.span(), reason)
    if field in {"name", "property"}:
        for word in _WIDE.finditer(text):
            reason = f"a compatibility form of Latin letters: U+{ord(word[0][0]):04X}"
            yield TextSignal("lookalike-letters", *word.span(), reason)
