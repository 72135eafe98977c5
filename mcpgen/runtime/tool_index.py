"""Finding tools by what is asked for: BM25 over an index that was prepared at generation.

A term of an entry has its weight already: the sum over the fields in which it stands (name, title,
path, tag, arguments, description, and the verbs that are used in place of its own), which takes the
place of BM25's frequency. Beside the words, a tool gains by being about nothing else than what was
asked for, by doing what the question's first word asks for (to read, to change, to remove), by
listing what is asked for in the plural, and by being about who calls where that is asked for; it
loses by being special (a long path) or deprecated.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final

import msgspec

from mcpgen.runtime.verbs import effect_of, with_plain_verbs
from mcpgen.runtime.words import words

_SATURATION = 1.2  # BM25's k1: how soon more weight of a term stops counting
_LENGTH = 0.5  # BM25's b: how much a tool pays for having many terms
# How much better a tool is that
_FOCUS = 0.6  # is about nothing else than what was asked
_EFFECT = 0.5  # does what the question asks for
_PLURAL = 0.35  # lists what is asked for in the plural
_OWN = 0.3  # is about who calls, where the question says "my"
_IMPLIED = 0.5  # what a word counts that a question only implies

_SAYS_MY = re.compile(r"\b(?:my|mine|i|me)\b", re.IGNORECASE)
_PLURALS = re.compile(r"\b[a-z]{3,}s\b", re.IGNORECASE)
_IMPLIES: Final = (  # what a question is about that begins so
    (re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE), tuple(words("user member people"))),
    (re.compile(r"\bwhere\b", re.IGNORECASE), tuple(words("location path"))),
    (re.compile(r"\bwhen\b", re.IGNORECASE), tuple(words("date time"))),
)


class Entry(msgspec.Struct, frozen=True):
    """What the index knows of one tool: a line of `search_index.jsonl`."""

    name: str
    summary: str
    operation: str
    tag: str
    subject: tuple[str, ...]  # stems of what it is about
    terms: dict[str, float]  # stems, by how much each one tells of the tool
    lists: tuple[str, ...]  # stems of what its answer is a list of
    effect: str  # as `effect_of` says what a question asks for
    is_own: bool  # it is about who calls
    prior: float


@dataclass(frozen=True, slots=True)
class _Question:
    """What somebody asks the index."""

    words: Mapping[str, float]  # stems, by how much each counts
    plurals: frozenset[str]  # stems of those that are asked for in the plural
    effect: str
    is_own: bool

    @classmethod
    def read(cls, text: str) -> _Question:
        plain = with_plain_verbs(text)
        asked = dict.fromkeys(words(plain), 1.0)
        for pattern, implied in _IMPLIES:
            if pattern.search(plain):
                asked = dict.fromkeys(implied, _IMPLIED) | asked
        plurals = {
            stem for word in _PLURALS.findall(plain) for stem in words(word) if stem != word.lower()
        }
        is_own = bool(_SAYS_MY.search(plain))
        return cls(asked, frozenset(plurals), effect_of(plain), is_own)


class ToolIndex:
    """The tools of a server, to be searched."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = {entry.name: entry for entry in entries}

    @classmethod
    def from_lines(cls, data: bytes) -> ToolIndex:
        """Read `search_index.jsonl`.

        Raises:
            msgspec.DecodeError: it is damaged.
        """
        return cls(msgspec.json.Decoder(Entry).decode_lines(data))

    def search(self, query: str, tag: str = "") -> list[Entry]:
        """Give the tools that share a word with the query, best first; of one tag if it is given.

        A tool that is asked for by its name comes first. A tie goes by name.
        """
        asked = _Question.read(query)
        scores: dict[str, float] = {}
        for word in sorted(asked.words.keys() & self._rarity.keys()):
            counts = self._rarity[word] * asked.words[word]
            for name, weight in self._said(word):
                scores[name] = scores.get(name, 0.0) + counts * weight
        for name in scores:
            scores[name] *= self._fit(self._entries[name], asked)
        if query.strip() in self._entries:
            scores[query.strip()] = math.inf
        found = (self._entries[name] for name in sorted(scores, key=lambda n: (-scores[n], n)))
        return [entry for entry in found if tag in ("", entry.tag)]

    def _fit(self, entry: Entry, asked: _Question) -> float:
        """How well a tool fits a question, apart from the words that they share."""
        fit = entry.prior * (1 + _FOCUS * self._focus(entry, asked))
        if asked.effect and asked.effect == entry.effect:
            fit *= 1 + _EFFECT
        if not asked.plurals.isdisjoint(entry.lists):
            fit *= 1 + _PLURAL
        if asked.is_own and entry.is_own:
            fit *= 1 + _OWN
        return fit

    def _focus(self, entry: Entry, asked: _Question) -> float:
        """How much of what the tool is about was asked for, from 0 to 1."""
        rarity = self._rarity
        whole = sum(rarity[word] for word in entry.subject)
        found = sum(rarity[word] * asked.words.get(word, 0.0) for word in entry.subject)
        return found / whole if whole else 0.0

    def _said(self, word: str) -> Iterator[tuple[str, float]]:
        """The tools that have a term, and how much it says of each (BM25 without rarity)."""
        for name, entry in self._entries.items():
            weight = entry.terms.get(word)
            if weight is not None:
                yield name, weight * (_SATURATION + 1) / (weight + self._slack[name])

    @cached_property
    def _slack(self) -> Mapping[str, float]:
        """By tool: what a term's weight is saturated with, which grows with the tool's length."""
        lengths = {name: sum(entry.terms.values()) for name, entry in self._entries.items()}
        average = sum(lengths.values()) / max(len(lengths), 1) or 1.0
        return {
            name: _SATURATION * (1 - _LENGTH + _LENGTH * length / average)
            for name, length in lengths.items()
        }

    @cached_property
    def _rarity(self) -> Mapping[str, float]:
        """By term: BM25's inverse document frequency."""
        having = Counter(chain.from_iterable(entry.terms for entry in self._entries.values()))
        count = len(self._entries)
        return {word: math.log(1 + (count + 1) / (tools + 0.5)) for word, tools in having.items()}

    def close_to(self, name: str) -> list[str]:
        """Give up to three names that this one may be a slip of, closest first."""
        import difflib  # only on the way to an error

        return difflib.get_close_matches(name, self._entries, n=3, cutoff=0.6)
