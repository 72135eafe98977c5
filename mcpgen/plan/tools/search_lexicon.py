"""The words and phrases of users that point to words of an API, for its search index.

`vocabulary.tsv` maps phrases of users to words of APIs; `wordnet.tsv`, made from WordNet by
`tests/bigapi/make_wordnet.py`, lists which words are related in general. An index contains the
entries of both that lead to one of its own words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cache
from importlib import resources

from mcpgen.search.words import split_phrase, stem_of, words

# The weights of related words, in tenths; a word of the query itself has 10.
_IDIOM = 6  # what a phrase of `vocabulary.tsv` means
_ALIKE = 2  # another word of APIs with this meaning
_COMPOUND = 6  # a compound that ends with the word
_OWN_WORD = 0.5  # part of the weight if the API itself uses the word in titles, paths or tags
_SHORTEST_PART = 3  # letters of a part of a compound


def find_related(terms: Collection[str], topics: Collection[str]) -> dict[str, dict[int, str]]:
    """Return the terms of an index that words and phrases of users point to, by their weight.

    Args:
        terms: all stems of the index.
        topics: those of titles, paths and tags.
    """
    best: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for phrase, term, weight in (*_read_vocabulary(), *_read_wordnet()):
        if term in terms and phrase != term:
            tenths = int(weight * _OWN_WORD) if phrase in topics else weight
            best[phrase][term] = max(tenths, best[phrase].get(term, 0))
    for phrase, term in _find_compounds(terms):
        best[phrase][term] = max(_COMPOUND, best[phrase].get(term, 0))
    return {phrase: _group(found) for phrase, found in sorted(best.items())}


def _group(found: dict[str, int]) -> dict[int, str]:
    grouped: dict[int, list[str]] = defaultdict(list)
    for term, weight in sorted(found.items()):
        if weight:
            grouped[weight].append(term)
    return {weight: " ".join(grouped[weight]) for weight in sorted(grouped, reverse=True)}


@cache
def _read_vocabulary() -> tuple[tuple[str, str, int], ...]:
    """Return the phrases of `vocabulary.tsv`, each with the stem of a word and its weight."""
    found: list[tuple[str, str, int]] = []
    for idioms, meanings in _read_rows("vocabulary.tsv"):
        for weight, phrases in ((_IDIOM, idioms), (_ALIKE, meanings)):
            keys = (" ".join(split_phrase(phrase)) for phrase in phrases.split(","))
            found += [(key, stem, weight) for key in keys for stem in words(meanings)]
    return tuple(found)


@cache
def _read_wordnet() -> tuple[tuple[str, str, int], ...]:
    """Return the stems of the words of `wordnet.tsv`, each with a related one and its weight."""
    found: list[tuple[str, str, int]] = []
    for word, *cells in _read_rows("wordnet.tsv"):
        for weight, *related in (cell.split() for cell in cells):
            found += [(stem_of(word), stem_of(other), int(weight)) for other in related]
    return tuple(found)


def _find_compounds(terms: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the second part of each compound of two known words, with the compound."""
    for term in terms:
        for cut in range(_SHORTEST_PART, len(term) - _SHORTEST_PART + 1):
            if term[:cut] in terms and term[cut:] in terms:
                yield term[cut:], term


def _read_rows(name: str) -> list[list[str]]:
    text = (resources.files("mcpgen.search") / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()[1:]]
