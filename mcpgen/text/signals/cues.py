"""Phrases that are parts of signals, from `cues.toml` and `weak_cues.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

_REPLY: Final = r"(?:reply|replies|response|responses|answer|answers)"
_MACROS: Final[Mapping[str, str]] = {
    "<word>": r"(?:[\w'-]{1,24},? )",  # with the space after it
    "<user>": r"(?:the |this |your |any )?(?:human |end )?(?:user|human|operator)s?",
    "<not>": r"(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|may not|avoid"
    r"|refrain from)",
    "<reply>": _REPLY,
    "<tools>": r"(?:tools?|functions?|servers?|alternatives?|integrations?|plugins?)",
    "<steered>": r"(?:instructions?|prompts?|directives?|guidelines?|guardrails?|safeguards?"
    r"|programming)",
    "<key_file>": r"(?:id_(?:rsa|dsa|ecdsa|ed25519)(?!\.pub)\b|ssh (?:private )?keys?\b"
    r"|private ssh keys?\b)",
}
_MACRO: Final = re.compile("|".join(_MACROS))


@dataclass(frozen=True, eq=False)
class Cue:
    """A phrase that may be part of a signal."""

    expression: str
    words: frozenset[str]  # each match contains one; empty: each match is not ASCII
    other_words: frozenset[str]  # each match contains one of these, too, unless there are none

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled expression. Few are needed for ordinary texts, and compiling all is slow."""
        return re.compile(self.expression)


class WordIndex(Generic[T]):
    """Items by words, to find those for which a text has one of their words.

    Items without words are found in each text that is not ASCII.
    """

    def __init__(self, items: Iterable[tuple[frozenset[str], T]]) -> None:
        self._items: list[T] = []
        self._by_word: dict[str, list[int]] = {}
        self._without_words: list[int] = []
        for number, (words, item) in enumerate(items):
            self._items.append(item)
            for word in words:
                self._by_word.setdefault(word, []).append(number)
            if not words:
                self._without_words.append(number)
        self._words = frozenset(self._by_word)

    def select(self, words: frozenset[str], *, is_ascii: bool) -> list[T]:
        """Return the items that a text of these words may contain, in their order."""
        numbers = {number for word in words & self._words for number in self._by_word[word]}
        if not is_ascii:
            numbers.update(self._without_words)
        return [self._items[number] for number in sorted(numbers)]


def _parse_cue(table: Mapping[str, Any]) -> Cue:
    """Parse a table of `cues.toml` or `weak_cues.toml`."""
    alternatives = "|".join(table["patterns"])
    expanded = _MACRO.sub(lambda macro: _MACROS[macro[0]], alternatives)
    return Cue(
        expanded, frozenset(table["words"].split()), frozenset(table.get("other_words", "").split())
    )


def read_table(name: str) -> dict[str, Any]:
    """Read a TOML file of this package."""
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


def _parse_cues(tables: Mapping[str, Any]) -> Mapping[str, Cue]:
    return {name: _parse_cue(table) for name, table in tables.items()}


CUES: Final = _parse_cues(read_table("cues.toml"))
_WEAK_CUES: Final = read_table("weak_cues.toml")
HEAVY_CUES: Final = _parse_cues(_WEAK_CUES["heavy"])
LIGHT_CUES: Final = _parse_cues(_WEAK_CUES["light"])
CUE_WORDS: Final = frozenset(
    word
    for cues in (CUES, HEAVY_CUES, LIGHT_CUES)
    for cue in cues.values()
    for word in (*cue.words, *cue.other_words)
)
"""The words of all cues; other words of a text decide nothing."""
