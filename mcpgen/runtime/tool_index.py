"""Finding tools by what is asked for, over an index that was prepared at generation.

A tool scores by the words that it shares with a question: each by how rare it is among the tools
and by how much it tells of this one (BM25F, prepared in the index), a word that is alike by a part
of that. The sum is multiplied by how well the tool fits the question otherwise: what its path is
about, what it does, what it lists, names one of, and belongs to. These count as exponents that
a logistic regression over the questions of tests/bigapi gave, rounded.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain

import msgspec

from mcpgen.runtime.question import Question
from mcpgen.runtime.thesaurus import alike

_ALIKE = 0.7  # what a word counts that is alike to one that was asked
# How much a tool gains, as exponents, that
_ABOUT = 0.45  # is about nothing else than what was asked
_EFFECT = 0.4  # does what the question asks for
_NAMES = 0.25  # is about one of what the question has a name or a number for
_LISTS = 0.2  # lists what is asked for in the plural
_VERB = 0.12  # says so in the question's words
_OF_CALLER = 0.15  # is about who calls, and the question says "my"; or loses, where it does not
# and loses that
_ELSEWHERE = 0.25  # belongs to something else than the question names
_DEPRECATED = 0.2  # is deprecated

_TWO_NAMES = re.compile(r" /[^/{]+/\{[^}]*\}/\{")  # "GET /repos/{owner}/{repo}/tags"


class Entry(msgspec.Struct, frozen=True):
    """What the index knows of one tool: a line of `search_index.jsonl`."""

    name: str
    summary: str
    operation: str
    tag: str
    verb: str  # stem of what its title says that it does
    subject: tuple[str, ...]  # stems of what it is about, what it belongs to first
    names: tuple[str, ...]  # stems of what its path names one of
    lists: tuple[str, ...]  # stems of what its answer is a list of
    effect: str  # as `Question.effects`
    is_own: bool  # it is about who calls
    is_deprecated: bool
    terms: dict[int, str]  # stems of all that is said of it, by how much they tell, in tenths


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
        question = Question.read(query)
        asked = dict.fromkeys(question.words)
        scopes = question.singulars & self._scopes
        if question.has_slashed_name and self._paired_scope:
            asked[self._paired_scope] = None
            scopes |= {self._paired_scope}
        scores = self._scores(asked)
        told = self._told(asked)
        for name in scores:
            scores[name] *= math.exp(self._fit(self._entries[name], question, told, scopes))
        if query.strip() in self._entries:
            scores[query.strip()] = math.inf
        found = (self._entries[name] for name in sorted(scores, key=lambda n: (-scores[n], n)))
        return [entry for entry in found if tag in ("", entry.tag)]

    def _scores(self, asked: Iterable[str]) -> dict[str, float]:
        """By tool, what the words count that it shares with a question."""
        scores: defaultdict[str, float] = defaultdict(float)
        for word in asked:
            best: dict[str, float] = {}
            for term, counts in self._terms_for(word):
                for name, weight in self._tools_with[term]:
                    if counts * weight > best.get(name, 0.0):
                        best[name] = counts * weight
            for name, score in best.items():
                scores[name] += score
        return scores

    def _terms_for(self, word: str) -> list[tuple[str, float]]:
        """The terms of the index that mean a word, by what each one counts.

        One that is alike counts for no rarer than the word itself.
        """
        rarity = self._rarity
        most = rarity.get(word, math.inf)
        others = sorted(alike(word) & rarity.keys() - {word})
        found = [(term, _ALIKE * min(most, rarity[term])) for term in others]
        return [(word, most), *found] if word in rarity else found

    def _told(self, asked: Iterable[str]) -> Mapping[str, float]:
        """How far each term was asked for: 1 if it was said, less if only what is alike was."""
        told = {term: _ALIKE for word in asked for term in alike(word)}
        return told | dict.fromkeys(asked, 1.0)

    def _fit(
        self, entry: Entry, question: Question, told: Mapping[str, float], scopes: frozenset[str]
    ) -> float:
        """How well a tool fits a question, apart from the words that they share."""
        fit = _ABOUT * self._asked_part(entry, told) + _VERB * told.get(entry.verb, 0.0)
        if entry.effect in question.effects:
            fit += _EFFECT
        if not question.named.isdisjoint(entry.names):
            fit += _NAMES
        if not question.plurals.isdisjoint(entry.lists):
            fit += _LISTS
        if entry.is_own:
            fit += _OF_CALLER if question.is_own else -_OF_CALLER
        if entry.is_deprecated:
            fit -= _DEPRECATED
        is_elsewhere = bool(scopes) and scopes.isdisjoint(entry.subject)
        if is_elsewhere and not (entry.is_own and question.is_own):
            fit -= _ELSEWHERE
        return fit

    def _asked_part(self, entry: Entry, told: Mapping[str, float]) -> float:
        """How much of what the tool is about was asked for, from 0 to 1."""
        whole = found = 0.0
        for word in entry.subject:
            whole += self._rarity[word]
            found += self._rarity[word] * told.get(word, 0.0)
        return found / whole if whole else 0.0

    @cached_property
    def _scopes(self) -> frozenset[str]:
        """What tools belong to, by the first words of their paths."""
        return frozenset(chain.from_iterable(it.subject[:1] for it in self._entries.values()))

    @cached_property
    def _paired_scope(self) -> str:
        """What most tools belong to of that which has two names, "acme/web"; "" for nothing."""
        paired = Counter(
            entry.subject[0]
            for entry in self._entries.values()
            if entry.subject and _TWO_NAMES.search(entry.operation)
        )
        return max(sorted(paired), key=paired.__getitem__, default="")

    @cached_property
    def _tools_with(self) -> Mapping[str, list[tuple[str, float]]]:
        """By term: the tools that have it, and how much it tells of each."""
        found: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
        for name, entry in self._entries.items():
            for tenths, terms in entry.terms.items():
                tool = (name, tenths / 10)
                for term in terms.split():
                    found[term].append(tool)
        return found

    @cached_property
    def _rarity(self) -> Mapping[str, float]:
        """By term: the square root of BM25's inverse document frequency.

        Without the root, a word of a question that is rare by chance outweighs all others.
        """
        count = len(self._entries)
        return {
            term: math.sqrt(math.log(1 + (count - len(tools) + 0.5) / (len(tools) + 0.5)))
            for term, tools in self._tools_with.items()
        }

    def close_to(self, name: str) -> list[str]:
        """Give up to three names that this one may be a slip of, closest first."""
        import difflib  # only on the way to an error

        return difflib.get_close_matches(name, self._entries, n=3, cutoff=0.6)
