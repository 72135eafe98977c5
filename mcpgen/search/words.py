"""Stemming of English words for the search: lower case, no endings, no abbreviations.

`word_forms.tsv` lists irregular forms and abbreviations, which no rule derives. The generator and
the server share this module, so that an index and its queries agree.

With Snowball's English stemmer in place of these rules, an earlier version of the ranking had the
right tool among the first five for 675 of the 747 questions of tests/bigapi; with these rules, for
698.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
"""One word of a text; `camelCase`, `snake_case` and paths are split."""

# Words that distinguish no tool, and the words of which questions are built.
STOP_WORDS: Final = frozenset(
    WORD.findall(
        "a about all am an and any are as at be been being by can could d did do does doing"
        " done for from given had has have having help how i if in into is it its just like ll"
        " m may me might mine must my need of on only or our ours please re s shall should so"
        " some t that the their them then there these they this those to us ve want was we"
        " were what when where which who whom whose why will with would you your"
    )
)
_ARTICLES = frozenset(WORD.findall("a an the my our your his her its their this that some any"))
_ENDINGS = (
    *("iti", "abl", "ibl", "ful", "li", "ship", "ness"),
    *("ation", "ition", "ion", "ment", "al", "er", "or", "ee"),
)  # after a final "e" is removed and a final "y" is replaced by "i"
_MAX_ENDINGS = 3  # "functionalities": -s, -iti, -al
_SHORTEST_STEM = 4
_SHORTEST_VERB = 3  # "adding", not "ring"
_VOWEL = re.compile("[aeiouy]")


@cache
def _read_base_words() -> dict[str, str]:
    """Read `word_forms.tsv`: the base word by irregular form or abbreviation."""
    text = Path(__file__).with_name("word_forms.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {form: word for word, forms in rows for form in forms.split()}


def words(text: str) -> list[str]:
    """Return the stems of a text's words without stop words, in order.

    "Listing the repos" returns ["list", "repositor"].
    """
    return list(filter(None, map(stem_of, WORD.findall(text))))


@lru_cache(maxsize=20_000)
def stem_of(word: str) -> str:
    """Return the stem that a word shares with its other forms; "" for a stop word."""
    word = word.lower()
    if word in STOP_WORDS:
        return ""
    base_words = _read_base_words()
    stem = singular(base_words.get(word, word))
    stem = _strip_tense(base_words.get(stem, stem))
    if len(stem) < _SHORTEST_STEM:
        return stem
    stem = stem.removesuffix("e")
    if stem.endswith("y"):
        stem = f"{stem[:-1]}i"
    for _ in range(_MAX_ENDINGS):
        if not stem.endswith(_ENDINGS):
            break
        shorter = (stem.removesuffix(ending) for ending in _ENDINGS if stem.endswith(ending))
        stem = next((it for it in shorter if len(it) >= _SHORTEST_STEM), stem)
    stem = _undouble_consonant(stem)
    return stem[:-1] if len(stem) > _SHORTEST_STEM and stem[-1] in "ie" else stem


def singular(word: str) -> str:
    """Return a word without the ending of a plural."""
    if len(word) <= 3 or word.endswith(("ss", "us", "sis", "xis")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "ches", "shes", "xes", "zes")):
        return word[:-2]
    return word.removesuffix("s")


def _strip_tense(word: str) -> str:
    if len(word) > _SHORTEST_STEM and word.endswith("ied"):
        return f"{word[:-3]}y"
    for ending in ("ing", "ed"):
        verb = word.removesuffix(ending)
        if verb == word or word.endswith("eed"):
            continue
        if len(verb) >= _SHORTEST_VERB and _VOWEL.search(verb):
            return _undouble_consonant(verb)
    return word


def _undouble_consonant(stem: str) -> str:
    """Remove a doubled final consonant: `tagg`, from "tagged", becomes `tag`."""
    is_doubled = len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lszaeiou"
    return stem[:-1] if is_doubled else stem


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


def split_phrase(text: str) -> list[str]:
    """Return the stems of a phrase without articles, in order; of a stop word, the word itself.

    "Sign in to the shop" returns ["sign", "in", "to", "shop"].
    """
    spoken = (word.lower() for word in WORD.findall(text))
    return [stem_of(word) or word for word in spoken if word not in _ARTICLES]


def find_synonyms(stem: str) -> frozenset[str]:
    """Return the stems of the synonyms of a word, including its own stem."""
    return _synonyms_by_stem().get(stem, frozenset((stem,)))
