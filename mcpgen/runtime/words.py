"""Words as a search compares them: lower case, without endings, one spelling for abbreviations.

A leaf that the generator uses too, so that an index and the questions to it agree.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SPELLED_OUT = {
    "app": "application",
    "auth": "authentication",
    "colour": "color",
    "config": "configuration",
    "doc": "document",
    "env": "environment",
    "info": "information",
    "licence": "license",
    "msg": "message",
    "org": "organization",
    "organisation": "organization",
    "param": "parameter",
    "repo": "repository",
}
# Words that tell no tool from another. Question words are not among them: they ask to read.
_SAY_NOTHING = frozenset(
    _WORD.findall(
        "a all an and any are as at be been being by can could did do does for from given had has"
        " have i if in into is it its me my of on only or our s should so some that the their them"
        " then there these they this those to us want was we were will with would you your"
    )
)
_ENDINGS = ("ly", "ful", "able", "ship", "ation", "ion", "ment", "ing", "ee", "ed", "er", "or", "e")
_SHORTEST_STEM = 4


def words(text: str) -> list[str]:
    """Give the telling words of a text as stems, in its order: "Listing the repos" is
    `list`, `repositor`.

    `camelCase`, `snake_case` and paths are taken apart.
    """
    found = (_stem(word.lower()) for word in _WORD.findall(text))
    return [stem for stem in found if stem]


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    """The part of a word that its plural and its forms share; "" for one that tells nothing."""
    if word in _SAY_NOTHING:
        return ""
    stem = _singular(word)
    stem = _singular(_SPELLED_OUT.get(stem, stem))
    for ending in _ENDINGS:
        if stem.endswith(ending) and len(stem) - len(ending) >= _SHORTEST_STEM:
            stem = stem.removesuffix(ending)
    if len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2] and stem[-1] not in "ls":
        stem = stem[:-1]  # tagged, tag
    return stem.removesuffix("y") if len(stem) > _SHORTEST_STEM else stem


def _singular(word: str) -> str:
    if len(word) <= 3 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "ches", "shes", "xes")):
        return word[:-2]
    return word.removesuffix("s")
