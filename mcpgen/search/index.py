"""Search over the tools of a server, with an index that the generator prepared.

The score of a tool is the sum over the words that it shares with the query: the rarity of the word
among the tools times its weight for the tool (BM25F, computed by the generator). A synonym, or a
word that the lexicon of the index relates to a word or phrase of the query, counts for a part of
that. The sum is multiplied by how well the tool fits the query otherwise: by the
subject and the scope of its path, its effect, and whether it lists or names what the query does.
The exponents of these factors are the rounded result of a logistic regression over the questions
of tests/bigapi; those of effects, names and the caller were then adjusted to the questions to other
APIs (`make ranking`).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from heapq import nlargest
from itertools import chain

import msgspec

from mcpgen.search.query import CHANGE, READ, Query, reads
from mcpgen.search.words import find_synonyms

_SYNONYM = 0.7  # weight of a synonym; a word of the query itself has weight 1
# Exponents that a tool gains if
_ABOUT = 0.4  # the query contains all words of its subject (in part: a part)
_EFFECT = 0.4  # it has the effect that the query requests
_ONE = 0.1  # its path identifies something and the query contains a name or a number
_NAMES = 0.25  # its path identifies one of the nouns that the query names
_LISTS = 0.2  # it lists a plural noun of the query
_VERB = 0.12  # its title begins with a verb of the query
_OF_CALLER = 0.25  # it is about the caller and the query says "my"; loses if the query does not
# and loses if
_OPPOSED = 0.4  # it only reads and the query says to change something, or the reverse
_ELSEWHERE = 0.25  # it belongs to a scope that the query does not name
_DEPRECATED = 0.2  # it is deprecated
_NEARNESS = 3.0  # times the cosine of the vectors of the query and of `ToolIndex.texts`

_UNSHARED = 0.2  # of the best score: what shared words add to, where there are vectors

_RATED = 150  # tools whose fit is computed: those that share most with the query
_MOST_FIT = 2.0  # an exponent that puts them before the others
_SHORTEST_PART = 3  # letters of a part of a compound
_LEXICON = b'{"related"'  # the beginning of the line
_NEAREST_TAGS = 5
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


class Lexicon(msgspec.Struct, frozen=True):
    """Meaning of users' words and phrases in the index: its first line, since version 0.7."""

    related: dict[str, dict[int, str]]
    """Stems of terms by their weight in tenths, by the stems of a word or a phrase."""


class SearchIndex(msgspec.Struct, frozen=True):
    """The content of `search_index.jsonl`: the lexicon, then the entries by name."""

    lexicon: Lexicon
    entries: tuple[Entry, ...]


class ToolIndex:
    """The searchable tools of a server."""

    def __init__(self, entries: Iterable[Entry], lexicon: Lexicon | None = None) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._related = {} if lexicon is None else lexicon.related

    @classmethod
    def from_lines(cls, data: bytes) -> ToolIndex:
        """Read `search_index.jsonl`, also as versions before 0.7 wrote it: without a lexicon.

        Raises:
            msgspec.DecodeError: the data is damaged.
        """
        lexicon = None
        if data.startswith(_LEXICON):
            line, _, data = data.partition(b"\n")
            lexicon = msgspec.json.decode(line, type=Lexicon)
        return cls(msgspec.json.Decoder(Entry).decode_lines(data), lexicon)

    @property
    def texts(self) -> Mapping[str, str]:
        """Title and path of each tool, by name: what an embedding model compares with queries."""
        return {
            name: f"{entry.summary} {entry.operation.partition(' ')[2]}"
            for name, entry in self._entries.items()
        }

    def search(
        self,
        query: str,
        tag: str = "",
        effect: str = "",
        *,
        nearness: Mapping[str, float] | None = None,
    ) -> list[Entry]:
        """Return the tools that share a word with the query, best first.

        `tag` and `effect` select tools; a workflow that changes something has the effect `change`.
        With `nearness`, the cosine of the query and each tool by an embedding model, all tools are
        returned. A tool whose name is the query comes first. Equal scores are sorted by name.
        """
        parsed = Query.read(query)
        query_words = dict(parsed.words)
        scopes = parsed.singulars & self._scopes
        if parsed.has_slashed_name and self._paired_scope:
            query_words[self._paired_scope] = 1.0
            scopes |= {self._paired_scope}
        query_words |= dict.fromkeys(self._find_phrases(parsed.phrases), 1.0)
        query_words |= self._split_compounds(query_words)
        scores = self._score_words(query_words)
        if nearness:
            scores = _weigh_nearness(scores, nearness)
        if tag or effect:
            scores = {
                name: score
                for name, score in scores.items()
                if self._is_selected(self._entries[name], tag, effect)
            }
        relevance = self._rate_terms(query_words)
        for name in nlargest(_RATED, scores, key=scores.__getitem__):
            scores[name] *= math.exp(
                _MOST_FIT + self._rate_fit(self._entries[name], parsed, relevance, scopes)
            )
        named = self._entries.get(query.strip())
        if named is not None and self._is_selected(named, tag, effect):
            scores[named.name] = math.inf
        best = sorted((-score, name) for name, score in scores.items())
        return [self._entries[name] for _, name in best]

    @staticmethod
    def _is_selected(entry: Entry, tag: str, effect: str) -> bool:
        return tag in ("", entry.tag) and effect in ("", entry.effect or CHANGE)

    def rate_coverage(self, query: str, entry: Entry) -> float:
        """Return how much of a query a tool has, from 0 to 1, by the rarity of the words.

        A word that no tool has counts as much as one that a single tool has.
        """
        if query.strip() == entry.name:
            return 1.0
        whole = found = 0.0
        for word, share in Query.read(query).words.items():
            terms = [term for term, _ in self._find_terms(word)]
            rarity = max((self._rarity[term] for term in terms), default=self._rate_rarity(1))
            weight = share * rarity
            whole += weight
            if any(
                entry.name in names for term in terms for names in self._tools_with[term].values()
            ):
                found += weight
        return found / whole if whole else 0.0

    def find_nearest_tags(
        self, query: str, *, nearness: Mapping[str, float] | None = None
    ) -> list[str]:
        """Return up to five tags: those of the best tools for a query, then the largest ones."""
        sizes = Counter(entry.tag for entry in self._entries.values())
        tags = chain(
            (entry.tag for entry in self.search(query, nearness=nearness)),
            (it for it, _ in sizes.most_common()),
        )
        return [tag for tag in dict.fromkeys(tags) if tag][:_NEAREST_TAGS]

    def _score_words(self, query_words: Mapping[str, float]) -> dict[str, float]:
        """Return the score of the shared words, by tool."""
        scores: defaultdict[str, float] = defaultdict(float)
        for word, share in query_words.items():
            best: dict[str, float] = {}
            for term, counts in self._find_terms(word):
                for weight, names in self._tools_with[term].items():
                    score = counts * weight
                    for name in names:
                        if best.get(name, 0.0) < score:
                            best[name] = score
            for name, score in best.items():
                scores[name] += share * score
        return scores

    def _find_phrases(self, phrases: Iterable[str]) -> Iterator[str]:
        """Yield the known phrases, and what two words make when they are joined: `sub contract`."""
        for phrase in phrases:
            if phrase in self._related:
                yield phrase
            first, _, second = phrase.partition(" ")
            if f"{first}{second}" in self._rarity and " " not in second:
                yield f"{first}{second}"

    def _split_compounds(self, query_words: Iterable[str]) -> dict[str, float]:
        """Return the two parts of each unknown word that are known words."""
        found: dict[str, float] = {}
        for word in query_words:
            if word in self._rarity or word in self._related:
                continue
            for cut in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
                parts = (word[:cut], word[cut:])
                if all(part in self._rarity for part in parts):
                    found |= dict.fromkeys(parts, 1.0)
        return found

    def _find_terms(self, word: str) -> list[tuple[str, float]]:
        """Return the terms of the index that match a word, with their weights.

        A synonym is never weighted as rarer than the word itself.
        """
        rarity = self._rarity
        most = rarity.get(word, math.inf)
        others = sorted(find_synonyms(word) & rarity.keys() - {word})
        found = [(term, _SYNONYM * min(most, rarity[term])) for term in others]
        found += [
            (term, weight * min(most, rarity[term]))
            for term, weight in self._list_related_terms(word)
        ]
        return [(word, most), *found] if word in rarity else found

    def _list_related_terms(self, word: str) -> Iterator[tuple[str, float]]:
        """Yield the terms that the lexicon relates to a word or a phrase, with their weights."""
        for tenths, terms in self._related.get(word, {}).items():
            for term in terms.split():
                if term in self._rarity:
                    yield term, tenths / 10

    def _rate_terms(self, query_words: Iterable[str]) -> Mapping[str, float]:
        """Return the relevance of each term: 1 for a word of the query, less for a synonym."""
        relevance: dict[str, float] = {}
        for word in query_words:
            for term, weight in self._list_related_terms(word):
                relevance[term] = max(weight, relevance.get(term, 0.0))
        relevance |= {term: _SYNONYM for word in query_words for term in find_synonyms(word)}
        return relevance | dict.fromkeys(query_words, 1.0)

    def _rate_fit(
        self, entry: Entry, query: Query, relevance: Mapping[str, float], scopes: frozenset[str]
    ) -> float:
        """Return the exponent for how well a tool fits a query, apart from their shared words."""
        fit = _ABOUT * self._rate_subject(entry, relevance) + _VERB * relevance.get(entry.verb, 0.0)
        if entry.effect in query.effects:
            fit += _EFFECT
        elif query.is_command and entry.effect:
            fit -= _OPPOSED * self._has_opposite_effect(entry, query)
        if query.has_name and "{" in entry.operation:
            fit += _ONE
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

    @staticmethod
    def _has_opposite_effect(entry: Entry, query: Query) -> bool:
        """Whether a query reads and a tool changes something, or the reverse.

        A tool called "search" or "list" is not said to change anything, whatever its method.
        """
        if READ in query.effects:
            return entry.effect != READ and not reads(entry.verb)
        return entry.effect == READ

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
    def _tools_with(self) -> Mapping[str, Mapping[float, list[str]]]:
        """The names of the tools that contain each term, by its weight for them."""
        found: defaultdict[str, defaultdict[float, list[str]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for name, entry in self._entries.items():
            for tenths, terms in entry.terms.items():
                weight = tenths / 10
                for term in terms.split():
                    found[term][weight].append(name)
        return found

    @cached_property
    def _rarity(self) -> Mapping[str, float]:
        """The square root of BM25's inverse document frequency, by term.

        Without the root, a word of a query that is rare by chance outweighs all others. A tool
        counts less the less the term weighs for it.
        """
        return {
            term: self._rate_rarity(
                math.sqrt(
                    sum(len(names) for names in tools.values())
                    * sum(weight * len(names) for weight, names in tools.items())
                )
            )
            for term, tools in self._tools_with.items()
        }

    def _rate_rarity(self, tools: float) -> float:
        """Return the rarity of a term that a number of tools have, in part or wholly."""
        count = len(self._entries)
        return math.sqrt(math.log(1 + (count - tools + 0.5) / (tools + 0.5)))

    def close_to(self, name: str) -> list[str]:
        """Return up to three similar names, closest first."""
        import difflib  # only on the way to an error

        return difflib.get_close_matches(name, self._entries, n=3, cutoff=0.6)


def _weigh_nearness(scores: Mapping[str, float], nearness: Mapping[str, float]) -> dict[str, float]:
    """Return the scores of all tools by shared words and nearness."""
    least = _UNSHARED * max(scores.values(), default=1.0)
    return {
        name: (least + scores.get(name, 0.0)) * math.exp(_NEARNESS * cosine)
        for name, cosine in nearness.items()
    }
