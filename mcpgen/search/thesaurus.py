"""Synonyms of the search: words that users substitute for each other when they ask an API.

`synonyms.tsv` lists groups of general English words and of software vocabulary. A word may be in
several groups; its synonyms are the other words of these groups.

The generator and the server share this module, so that an index and its queries agree.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mcpgen.search.words import words


def stems(text: str) -> frozenset[str]:
    """Return the stems of all words of a text."""
    return frozenset(words(text))


@cache
def _read_groups() -> tuple[tuple[str, frozenset[str]], ...]:
    """Read the groups of synonyms as stems, each with its kind: "verbs" or "nouns"."""
    text = Path(__file__).with_name("synonyms.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return tuple((kind, stems(group)) for kind, group in rows)


@cache
def verbs() -> frozenset[str]:
    """Return the stems of all verbs that have synonyms."""
    return frozenset().union(*(group for kind, group in _read_groups() if kind == "verbs"))


@cache
def _synonyms_by_stem() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for _, group in _read_groups():
        for stem in group:
            found[stem] = found.get(stem, frozenset()) | group
    return found


def find_synonyms(stem: str) -> frozenset[str]:
    """Return the stems of the synonyms of a word, including its own stem."""
    return _synonyms_by_stem().get(stem, frozenset((stem,)))
