"""Search of cues in one text, by sentence."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

from mcpgen.text.signals.cues import CUE_WORDS, Cue
from mcpgen.text.signals.folding import FoldedText

Span = tuple[int, int]

_WORD: Final = re.compile(r"[a-z_0-9']+")
_LETTERS: Final = re.compile(r"[a-z]+")
_SIGNS: Final = ("@", "~")  # count as words
_SENTENCE_END: Final = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)[.!?]['\")]?(?= |$)|\u3002")


class CueMatcher:
    """A folded text, in which each cue is searched when it is first needed."""

    def __init__(self, folded: FoldedText) -> None:
        self._text = folded.text
        self.is_ascii = folded.text.isascii()
        self.words = _find_cue_words(folded)
        self._found: dict[Cue, Mapping[int, Span]] = {}
        self._ends: list[int] | None = None

    def may_contain(self, cue: Cue) -> bool:
        """Check for the words without which the cue has no match."""
        if not cue.words:
            return not self.is_ascii
        return not (
            cue.words.isdisjoint(self.words)
            or (cue.other_words and cue.other_words.isdisjoint(self.words))
        )

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
        by_cue: list[Mapping[int, Span]] = []
        for cue in cues:
            if not (found := self.find(cue)):
                return None
            by_cue.append(found)
        first, *others = by_cue
        for sentence, span in first.items():
            near = range(sentence - reach, sentence + reach + 1)
            if all(any(number in found for number in near) for found in others):
                return span
        return None

    def _sentence_at(self, position: int) -> int:
        if self._ends is None:
            self._ends = [end.start() for end in _SENTENCE_END.finditer(self._text)]
        return bisect_right(self._ends, position)


def _find_cue_words(folded: FoldedText) -> frozenset[str]:
    """Return the words of cues in a text, whole or between digits, `_` and `'`."""
    words = folded.text.split()
    if marked := folded.marked_words:
        words += _WORD.findall(marked)
        words += _LETTERS.findall(marked)
        words += [sign for sign in _SIGNS if sign in marked]
    return CUE_WORDS.intersection(words)
