"""The words and phrases of users that point to words of an API, for its search index.

`related.tsv` lists the phrases that point to a word, each with its weight; it is made from a
vocabulary and from WordNet by `tests/bigapi/make_related.py`. An index contains its rows for the
words of the index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from importlib import resources

# The weights of related words, in tenths; a word of the query itself has 10.
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
    for phrase, term, weight in _iterate_phrases(terms):
        best[phrase][term] = int(weight * _OWN_WORD) if phrase in topics else weight
    for phrase, term in _find_compounds(terms):
        best[phrase][term] = max(_COMPOUND, best[phrase].get(term, 0))
    return {phrase: _group(found) for phrase, found in sorted(best.items())}


def _group(found: dict[str, int]) -> dict[int, str]:
    grouped: dict[int, list[str]] = defaultdict(list)
    for term, weight in sorted(found.items()):
        if weight:
            grouped[weight].append(term)
    return {weight: " ".join(grouped[weight]) for weight in sorted(grouped, reverse=True)}


def _iterate_phrases(terms: Collection[str]) -> Iterator[tuple[str, str, int]]:
    """Yield the phrases of `related.tsv` that point to one of these terms, with the weight."""
    text = (resources.files("mcpgen.search") / "related.tsv").read_text(encoding="utf-8")
    for line in text.splitlines()[1:]:
        term, _, cells = line.partition("\t")
        if term in terms:
            for cell in cells.split("\t"):
                weight, _, phrases = cell.partition(" ")
                for phrase in phrases.split(","):
                    yield phrase, term, int(weight)


def _find_compounds(terms: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the second part of each compound of two known words, with the compound."""
    for term in terms:
        for cut in range(_SHORTEST_PART, len(term) - _SHORTEST_PART + 1):
            if term[:cut] in terms and term[cut:] in terms:
                yield term[cut:], term
