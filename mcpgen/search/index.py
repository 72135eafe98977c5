"""Search over the tools of a server, with an index that the generator prepared.

The score of a tool is the sum over the words that it shares with the query: the rarity of the word
among the tools times its weight for the tool (BM25F, computed by the generator). A synonym counts
for a part of that. The sum is multiplied by how well the tool fits the query otherwise: by the
subject and the scope of its path, its effect, and whether it lists or names what the query does.
The exponents of these factors are the rounded result of a logistic regression over the questions
of tests/bigapi.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain

import msgspec

from mcpgen.search.query import Query
from mcpgen.search.words import find_synonyms

_SYNONYM = 0.7  # weight of a synonym; a word of the query itself has weight 1
# Exponents that a tool gains if
_ABOUT = 0.45  # the query contains all words of its subject (in part: a part)
_EFFECT = 0.4  # it has the effect that the query requests
_NAMES = 0.25  # its path identifies one of the nouns that the query names
_LISTS = 0.2  # it lists a plural noun of the query
_VERB = 0.12  # its title begins with a verb of the query
_OF_CALLER = 0.15  # it is about the caller and the query says "my"; loses if the query does not
# and loses if
_ELSEWHERE = 0.25  # it belongs to a scope that the query does not name
_DEPRECATED = 0.2  # it is deprecated

_TWO_NAMES = re.compile(r" /[^/{]+/\{[^}]*\}/\{")  # "GET /repos/{owner}/{repo}/tags"


class Entry(msgspec.Struct, frozen=True):
    """One tool in the index: a line of `search_index.jsonl`."""

    name: str
    summary: str
    operation: str  # "GET /pets/{petId}"
    tag: str
    verb: str  # stem of the verb of its title
    subject: tuple[str, ...]  # stems of the fixed parts of its path, its scope first
    names: tuple[str, ...]  # stems of what its path identifies: "run" in /runs/{run_id}
    lists: tuple[str, ...]  # stems of the nouns that its result lists
    effect: str  # as in `Query.effects`; "" if a call does several things
    is_own: bool  # it is about the caller
    is_deprecated: bool
    terms: dict[int, str]  # stems of its words, by their weight in tenths


class ToolIndex:
    """The searchable tools of a server."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = {entry.name: entry for entry in entries}

    @classmethod
    def from_lines(cls, data: bytes) -> ToolIndex:
        """Read `search_index.jsonl`.

        Raises:
            msgspec.DecodeError: the data is damaged.
        """
        return cls(msgspec.json.Decoder(Entry).decode_lines(data))

    def search(self, query: str, tag: str = "") -> list[Entry]:
        """Return the tools that share a word with the query, best first, optionally of one tag.

        A tool whose name is the query comes first. Equal scores are sorted by name.
        """
        parsed = Query.read(query)
        query_words = dict.fromkeys(parsed.words)
        scopes = parsed.singulars & self._scopes
        if parsed.has_slashed_name and self._paired_scope:
            query_words[self._paired_scope] = None
            scopes |= {self._paired_scope}
        scores = self._score_words(query_words)
        relevance = self._rate_terms(query_words)
        for name in scores:
            scores[name] *= math.exp(self._rate_fit(self._entries[name], parsed, relevance, scopes))
        if query.strip() in self._entries:
            scores[query.strip()] = math.inf
        found = (self._entries[name] for name in sorted(scores, key=lambda n: (-scores[n], n)))
        return [entry for entry in found if tag in ("", entry.tag)]

    def _score_words(self, query_words: Iterable[str]) -> dict[str, float]:
        """Return the score of the shared words, by tool."""
        scores: defaultdict[str, float] = defaultdict(float)
        for word in query_words:
            best: dict[str, float] = {}
            for term, counts in self._find_terms(word):
                for name, weight in self._tools_with[term]:
                    if counts * weight > best.get(name, 0.0):
                        best[name] = counts * weight
            for name, score in best.items():
                scores[name] += score
        return scores

    def _find_terms(self, word: str) -> list[tuple[str, float]]:
        """Return the terms of the index that match a word, with their weights.

        A synonym is never weighted as rarer than the word itself.
        """
        rarity = self._rarity
        most = rarity.get(word, math.inf)
        others = sorted(find_synonyms(word) & rarity.keys() - {word})
        found = [(term, _SYNONYM * min(most, rarity[term])) for term in others]
        return [(word, most), *found] if word in rarity else found

    def _rate_terms(self, query_words: Iterable[str]) -> Mapping[str, float]:
        """Return the relevance of each term: 1 for a word of the query, less for a synonym."""
        relevance = {term: _SYNONYM for word in query_words for term in find_synonyms(word)}
        return relevance | dict.fromkeys(query_words, 1.0)

    def _rate_fit(
        self, entry: Entry, query: Query, relevance: Mapping[str, float], scopes: frozenset[str]
    ) -> float:
        """Return the exponent for how well a tool fits a query, apart from their shared words."""
        fit = _ABOUT * self._rate_subject(entry, relevance) + _VERB * relevance.get(entry.verb, 0.0)
        if entry.effect in query.effects:
            fit += _EFFECT
        if not query.named.isdisjoint(entry.names):
            fit += _NAMES
        if not query.plurals.isdisjoint(entry.lists):
            fit += _LISTS
        if entry.is_own:
            fit += _OF_CALLER if query.is_own else -_OF_CALLER
        if entry.is_deprecated:
            fit -= _DEPRECATED
        is_elsewhere = bool(scopes) and scopes.isdisjoint(entry.subject)
        if is_elsewhere and not (entry.is_own and query.is_own):
            fit -= _ELSEWHERE
        return fit

    def _rate_subject(self, entry: Entry, relevance: Mapping[str, float]) -> float:
        """Return how much of the tool's subject the query contains, from 0 to 1."""
        whole = found = 0.0
        for word in entry.subject:
            whole += self._rarity[word]
            found += self._rarity[word] * relevance.get(word, 0.0)
        return found / whole if whole else 0.0

    @cached_property
    def _scopes(self) -> frozenset[str]:
        """The scopes of the tools: the first words of their paths."""
        return frozenset(chain.from_iterable(it.subject[:1] for it in self._entries.values()))

    @cached_property
    def _paired_scope(self) -> str:
        """The most frequent scope whose path has two names, as "acme/web"; "" if there is none."""
        paired = Counter(
            entry.subject[0]
            for entry in self._entries.values()
            if entry.subject and _TWO_NAMES.search(entry.operation)
        )
        return max(sorted(paired), key=paired.__getitem__, default="")

    @cached_property
    def _tools_with(self) -> Mapping[str, list[tuple[str, float]]]:
        """The tools that contain each term, with its weight for the tool."""
        found: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
        for name, entry in self._entries.items():
            for tenths, terms in entry.terms.items():
                tool = (name, tenths / 10)
                for term in terms.split():
                    found[term].append(tool)
        return found

    @cached_property
    def _rarity(self) -> Mapping[str, float]:
        """The square root of BM25's inverse document frequency, by term.

        Without the root, a word of a query that is rare by chance outweighs all others.
        """
        count = len(self._entries)
        return {
            term: math.sqrt(math.log(1 + (count - len(tools) + 0.5) / (len(tools) + 0.5)))
            for term, tools in self._tools_with.items()
        }

    def close_to(self, name: str) -> list[str]:
        """Return up to three similar names, closest first."""
        import difflib  # only on the way to an error

        return difflib.get_close_matches(name, self._entries, n=3, cutoff=0.6)
