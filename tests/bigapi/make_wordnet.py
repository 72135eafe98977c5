"""Write `wordnet.tsv`, the words related to those of APIs: `make lexicon`.

The source is WordNet 3.0 as Debian's package `wordnet-base` installs it (`/usr/share/wordnet`); its
licence is in `mcpgen/search/wordnet-license.txt`. Only words and relations are used, no glosses.

A row has a word, then per weight (in tenths) the related words of APIs: those of
`vocabulary.tsv` and `synonyms.tsv`. The weight of a pair is the sum over the senses that connect
them, directly or by one relation: how frequent the sense is for the one word, times the square root
of how frequent it is for the other, times the closeness of the relation. The same source gives the
same bytes.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mcpgen.search import words as search_words

SOURCE = Path("/usr/share/wordnet")
TARGET = Path(__file__).with_name("wordnet.tsv")
FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
NUMBERED = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # in sense keys
CLOSENESS = {
    "": 1.0,  # the same sense
    "+": 0.8,  # derived: payment, pay
    "\\": 0.6,  # pertains to
    "<": 0.6,  # participle of
    "@": 0.5,  # is a kind of
    "~": 0.5,  # has as a kind
    "&": 0.5,  # similar
    "$": 0.5,  # verbs with one meaning
    "*": 0.4,  # entails
    ">": 0.4,  # causes
    "^": 0.3,  # see also
    "=": 0.3,  # attribute
    "%p": 0.25,  # has as a part
    "#p": 0.25,  # is a part of
}
LEAST = 0.2  # weight of a pair
MOST = 0.5  # weight of a pair in the search, where a word of the query itself has 1
MOST_RELATED = 12  # of a word

Sense = tuple[str, str]  # part of speech and offset: ("n", "02958343")


@dataclass(frozen=True, slots=True)
class Synset:
    """The words of one sense, and its relations."""

    words: tuple[str, ...]
    pointers: tuple[tuple[str, Sense, int, int], ...]
    """Symbol, target, and the word numbers on both sides, 0 for all words."""


def read_synsets(source: Path) -> dict[Sense, Synset]:
    """Read the files `data.*` (wndb(5WN))."""
    found = {}
    for part, name in FILES.items():
        for fields in _read_rows(source / f"data.{name}"):
            count = int(fields[3], 16)
            words = tuple(fields[4 + 2 * n].partition("(")[0].lower() for n in range(count))
            rest = fields[5 + 2 * count :]
            pointers = tuple(
                (
                    rest[4 * n],
                    (rest[4 * n + 2].replace("s", "a"), rest[4 * n + 1]),
                    *bytes.fromhex(rest[4 * n + 3]),
                )
                for n in range(int(fields[4 + 2 * count]))
            )
            found[part, fields[0]] = Synset(words, pointers)
    return found


def read_shares(source: Path) -> dict[str, dict[Sense, float]]:
    """Read how the uses of each single word are distributed over its senses.

    `cntlist.rev` counts the uses in texts; each sense gets 1, 1/2, 1/3, ... use more, by its rank.
    """
    counts = {}
    for line in (source / "cntlist.rev").read_text(encoding="ascii").splitlines():
        key, number, count = line.split()
        word, _, rest = key.partition("%")
        counts[word, NUMBERED[rest[0]], int(number)] = int(count)
    uses: dict[str, dict[Sense, float]] = defaultdict(dict)
    for part, name in FILES.items():
        for fields in _read_rows(source / f"index.{name}"):
            word = fields[0]
            if re.fullmatch("[a-z]{3,}", word):
                for number, offset in enumerate(fields[-int(fields[2]) :], 1):
                    uses[word][part, offset] = counts.get((word, part, number), 0) + 1 / number
    return {
        word: {sense: use / sum(senses.values()) for sense, use in senses.items()}
        for word, senses in uses.items()
    }


def iterate_rows(
    synsets: Mapping[Sense, Synset],
    shares: Mapping[str, Mapping[Sense, float]],
    targets: frozenset[str],
    used: frozenset[str],
) -> Iterator[str]:
    """Yield the rows of the file, by word."""
    for word in sorted(shares.keys() & (targets | used)):
        found = _rate_related(word, synsets, shares, targets)
        best = sorted((-rating, other) for other, rating in found.items() if rating >= LEAST)
        grouped: dict[int, list[str]] = defaultdict(list)
        for rating, other in best[:MOST_RELATED]:
            grouped[max(1, round(10 * MOST * min(1.0, -rating)))].append(other)
        if grouped:
            cells = (f"{weight} {' '.join(sorted(grouped[weight]))}" for weight in grouped)
            yield "\t".join((word, *cells))


def _rate_related(
    word: str,
    synsets: Mapping[Sense, Synset],
    shares: Mapping[str, Mapping[Sense, float]],
    targets: frozenset[str],
) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for sense, share in shares[word].items():
        for symbol, target, others in _iterate_related(word, sense, synsets):
            for other in others:
                if other in targets and other != word:
                    common = shares.get(other, {}).get(target, 0.0)
                    found[other] += CLOSENESS[symbol] * share * common**0.5
    return found


def _iterate_related(
    word: str, sense: Sense, synsets: Mapping[Sense, Synset]
) -> Iterator[tuple[str, Sense, Iterable[str]]]:
    """Yield the words of a sense and of directly related senses, each with the relation."""
    synset = synsets[sense]
    yield "", sense, synset.words
    for symbol, target, source_word, target_word in synset.pointers:
        if symbol not in CLOSENESS or (source_word and synset.words[source_word - 1] != word):
            continue
        others = synsets[target].words
        yield symbol, target, others[target_word - 1 : target_word] if target_word else others


def _read_rows(path: Path) -> Iterator[list[str]]:
    for line in path.read_text(encoding="ascii").splitlines():
        if not line.startswith(" "):  # the licence
            yield line.partition("|")[0].split()


def read_used_words(source: Path) -> frozenset[str]:
    """Read the words that occur in the texts counted by WordNet."""
    text = (source / "cntlist.rev").read_text(encoding="ascii")
    return frozenset(re.findall("^([a-z]{3,})%", text, re.MULTILINE))


def read_api_words() -> frozenset[str]:
    """Read the words in `vocabulary.tsv` and `synonyms.tsv`."""
    found: set[str] = set()
    synonyms = Path(search_words.__file__).with_name("synonyms.tsv")
    for path in (TARGET.with_name("vocabulary.tsv"), synonyms):
        text = path.read_text(encoding="utf-8")
        found.update(re.findall("[a-z]{3,}", text.lower()))
    return frozenset(found)


def main() -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=SOURCE)
    options = parser.parse_args()
    if not options.source.is_dir():
        print(f"SKIPPED: there is no WordNet in {options.source}: apt-get install wordnet-base")
        return 1
    source = options.source
    rows = list(
        iterate_rows(
            read_synsets(source), read_shares(source), read_api_words(), read_used_words(source)
        )
    )
    TARGET.write_text("\n".join(("word\trelated", *rows, "")), encoding="utf-8")
    print(f"{len(rows)} words, {TARGET.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
