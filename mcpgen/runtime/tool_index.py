"""Finding tools by what is asked for: BM25 over an index that was prepared at generation.

A term of an entry has its weight already: the sum over the fields in which it stands (name, title,
path, tag, arguments, description, and the verbs that are used in place of its own), which takes the
place of BM25's frequency. Beside the words, a tool gains by being about nothing else than what was
asked for, and loses by being special (a long path) or deprecated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from mcpgen.runtime.words import words

_SATURATION = 1.2  # BM25's k1: how soon more weight of a term stops counting
_LENGTH = 0.5  # BM25's b: how much a tool pays for having many terms
_FOCUS = 0.6  # how much better a tool is that is about nothing else than what was asked


class Entry(msgspec.Struct, frozen=True):
    """What the index knows of one tool: a line of `search_index.jsonl`."""

    name: str
    summary: str
    operation: str
    tag: str
    subject: tuple[str, ...]  # stems of what it is about
    terms: dict[str, float]  # stems, by how much each one tells of the tool
    prior: float


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
        asked = set(words(query))
        scores: dict[str, float] = {}
        for word in sorted(asked & self._postings.keys()):
            rarity = self._rarity[word]
            for name, weight in self._postings[word]:
                scores[name] = scores.get(name, 0.0) + rarity * weight
        for name in scores:
            scores[name] *= self._entries[name].prior * (1 + _FOCUS * self._focus(name, asked))
        if query.strip() in self._entries:
            scores[query.strip()] = math.inf
        found = (self._entries[name] for name in sorted(scores, key=lambda n: (-scores[n], n)))
        return [entry for entry in found if tag in ("", entry.tag)]

    def _focus(self, name: str, asked: set[str]) -> float:
        """How much of what the tool is about was asked for, from 0 to 1."""
        subject = self._entries[name].subject
        rarity = self._rarity
        whole = sum(rarity[word] for word in subject)
        return sum(rarity[word] for word in subject if word in asked) / whole if whole else 0.0

    @cached_property
    def _rarity(self) -> Mapping[str, float]:
        """By term: BM25's inverse document frequency."""
        count = len(self._entries)
        return {
            word: math.log(1 + (count + 1) / (len(tools) + 0.5))
            for word, tools in self._postings.items()
        }

    def close_to(self, name: str) -> list[str]:
        """Give up to three names that this one may be a slip of, closest first."""
        import difflib  # only on the way to an error

        return difflib.get_close_matches(name, self._entries, n=3, cutoff=0.6)

    @cached_property
    def _postings(self) -> Mapping[str, list[tuple[str, float]]]:
        """By term: the tools that have it, and how much it says of each (BM25 without rarity)."""
        lengths = {name: sum(entry.terms.values()) for name, entry in self._entries.items()}
        average = sum(lengths.values()) / max(len(lengths), 1) or 1.0
        postings: dict[str, list[tuple[str, float]]] = {}
        for name, entry in self._entries.items():
            slack = _SATURATION * (1 - _LENGTH + _LENGTH * lengths[name] / average)
            for term, weight in entry.terms.items():
                saturated = weight * (_SATURATION + 1) / (weight + slack)
                postings.setdefault(term, []).append((name, saturated))
        return postings
