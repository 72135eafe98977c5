"""Search of cues in one text, by sentence."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

from mcpgen.text.signals.cues import Cue

Span = tuple[int, int]

_WORD: Final = re.compile(r"[a-z_0-9']+")
_LETTERS: Final = re.compile(r"[a-z]+")
_SENTENCE_END: Final = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)[.!?]['\")]?(?= |$)|\u3002")


class CueMatcher:
    """A folded text, in which each cue is searched when it is first needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.is_ascii = text.isascii()
        words = frozenset(_WORD.findall(text))
        mixed = " ".join(word for word in words if not word.isalpha())
        self.words = words.union(_LETTERS.findall(mixed))
        if "@" in text:
            self.words |= {"@"}
        self._found: dict[Cue, Mapping[int, Span]] = {}
        self._ends: list[int] | None = None

    def may_contain(self, cue: Cue) -> bool:
        """Check for one of the words of which every match of the cue contains one."""
        return not cue.words.isdisjoint(self.words) if cue.words else not self.is_ascii

    def find(self, cue: Cue) -> Mapping[int, Span]:
        """Return the first span of a cue in each sentence, by the number of the sentence."""
        if not self.may_contain(cue):
            return {}
        if cue not in self._found:
            found: dict[int, Span] = {}
            for match in cue.pattern.finditer(self._text):
                found.setdefault(self._sentence_at(match.start()), match.span())
            self._found[cue] = found
        return self._found[cue]

    def match(self, cues: Sequence[Cue], reach: int) -> Span | None:
        """Return the span of the first cue where the others are at most `reach` sentences away."""
        # All words first: this rejects nearly every rule without a search.
        if not all(map(self.may_contain, cues)):
            return None
        founds: list[Mapping[int, Span]] = []
        for cue in cues:
            if not (found := self.find(cue)):
                return None
            founds.append(found)
        first, *others = founds
        for sentence, span in first.items():
            near = range(sentence - reach, sentence + reach + 1)
            if all(any(number in found for number in near) for found in others):
                return span
        return None

    def _sentence_at(self, position: int) -> int:
        if self._ends is None:
            self._ends = [end.start() for end in _SENTENCE_END.finditer(self._text)]
        return bisect_right(self._ends, position)
