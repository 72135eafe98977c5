"""Words as a search compares them: lower case, without endings, one spelling for abbreviations.

A leaf that the generator uses too, so that an index and the questions to it agree.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
"""One word of a text; `camelCase`, `snake_case` and paths are taken apart."""

# By the form that an ending cannot be taken from: the word that it is a form of, or is short for.
_PLAIN: Final = {
    form: word
    for word, *forms in map(
        str.split,
        """
administrator admin
analyze analyse
application app
authentication auth authn
authorization authz
authorize authorise
begin began begun
behavior behaviour
break broke broken
bring brought
build built
buy bought
cancel cancellation
canceled cancelled
canceling cancelling
catalog catalogue
certificate cert
child children
choose chose chosen
color colour
configuration config
criterion criteria
customize customise
database db
dependency dep
description desc
development dev
directory dir
document doc
draw drew drawn
environment env
find found
forbid forbade forbidden
freeze froze frozen
get got gotten
give gave given
go went gone
hide hid hidden
hold held
image img
information info
keep kept
know knew known
language lang
leave left
library lib
license licence
lose lost
make made
maximum max
message msg
minimum min
number num
organization org organisation
parameter param
pay paid
permission perm
person people
picture pic
production prod
reference ref
repository repo
run ran
see saw seen
sell sold
send sent
show shown
specification spec
spend spent
statistic stats
steal stole stolen
synchronize sync synchronise
take took taken
tell told
temporary temp
throw threw thrown
use used using
vulnerability vuln
withdraw withdrew withdrawn
write wrote written
""".strip().splitlines(),
    )
    for form in forms
}
# Words that tell no tool from another, and those that a question is made with.
SAYS_NOTHING: Final = frozenset(
    WORD.findall(
        "a about all am an and any are as at be been being by can could d did do does doing"
        " done for from given had has have having help how i if in into is it its just like ll"
        " m may me might mine must my need of on only or our ours please re s shall should so"
        " some t that the their them then there these they this those to us ve want was we"
        " were what when where which who whom whose why will with would you your"
    )
)
_ENDINGS = (
    *("iti", "abl", "ibl", "ful", "li", "ship", "ness"),
    *("ation", "ition", "ion", "ment", "al", "er", "or", "ee"),
)  # as they stand where a final "e" is gone and a final "y" is "i"
_MOST_ENDINGS = 3  # "functionalities": -s, -iti, -al
_SHORTEST_STEM = 4
_SHORTEST_VERB = 3  # "adding", not "ring"
_VOWEL = re.compile("[aeiouy]")


def words(text: str) -> list[str]:
    """Give the telling words of a text as stems, in its order: "Listing the repos" is
    `list`, `repositor`.
    """
    found = (stem_of(word) for word in WORD.findall(text))
    return [stem for stem in found if stem]


def stem_of(word: str) -> str:
    """The part of a word that its plural and its forms share; "" for one that tells nothing."""
    return _stem(word.lower())


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    if word in SAYS_NOTHING:
        return ""
    stem = singular(_PLAIN.get(word, word))
    stem = _without_tense(_PLAIN.get(stem, stem))
    if len(stem) < _SHORTEST_STEM:
        return stem
    stem = stem.removesuffix("e")
    if stem.endswith("y"):
        stem = f"{stem[:-1]}i"
    for _ in range(_MOST_ENDINGS):
        if not stem.endswith(_ENDINGS):
            break
        shorter = (stem.removesuffix(ending) for ending in _ENDINGS if stem.endswith(ending))
        stem = next((it for it in shorter if len(it) >= _SHORTEST_STEM), stem)
    stem = _with_one_consonant(stem)
    return stem[:-1] if len(stem) > _SHORTEST_STEM and stem[-1] in "ie" else stem


def singular(word: str) -> str:
    """A word without the ending of a plural, or as it is."""
    if len(word) <= 3 or word.endswith(("ss", "us", "sis", "xis")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "ches", "shes", "xes", "zes")):
        return word[:-2]
    return word.removesuffix("s")


def _without_tense(word: str) -> str:
    if len(word) > _SHORTEST_STEM and word.endswith("ied"):
        return f"{word[:-3]}y"
    for ending in ("ing", "ed"):
        verb = word.removesuffix(ending)
        if verb == word or word.endswith("eed"):
            continue
        if len(verb) >= _SHORTEST_VERB and _VOWEL.search(verb):
            return _with_one_consonant(verb)
    return word


def _with_one_consonant(stem: str) -> str:
    """`tagg`, which "tagged" leaves, is `tag`."""
    is_doubled = len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lszaeiou"
    return stem[:-1] if is_doubled else stem
