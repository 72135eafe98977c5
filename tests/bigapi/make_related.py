"""Write `mcpgen/search/related.tsv`, the words and phrases that point to words of APIs.

`make lexicon` runs it. `vocabulary.tsv` maps phrases of users to words of APIs; `wordnet.tsv`, made
from WordNet by `make_wordnet.py`, lists which words are related in general. A row has the stem of a
word of APIs, then per weight (in tenths, of which a word of the query itself has 10) the phrases
that point to it, as stems: so no run of mcpgen has to stem them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from mcpgen.search import words as search_words
from mcpgen.search.words import split_phrase, stem_of, words

HERE = Path(__file__).parent
TARGET = Path(search_words.__file__).with_name("related.tsv")
IDIOM = 6  # the weight of a phrase of `vocabulary.tsv` for what it means
ALIKE = 2  # that of another word of APIs with this meaning


def make_rows() -> list[str]:
    """Return the rows, without the title."""
    best: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for phrase, term, weight in (*read_vocabulary(), *read_wordnet()):
        if phrase != term:
            best[term][phrase] = max(weight, best[term].get(phrase, 0))
    return ["\t".join((term, *_format_cells(best[term]))) for term in sorted(best)]


def read_vocabulary() -> Iterator[tuple[str, str, int]]:
    """Yield the phrases of `vocabulary.tsv`, each with the stem of a word and its weight."""
    for idioms, meanings in _read_rows("vocabulary.tsv"):
        for weight, phrases in ((IDIOM, idioms), (ALIKE, meanings)):
            for phrase in phrases.split(","):
                key = " ".join(split_phrase(phrase))
                for stem in words(meanings):
                    yield key, stem, weight


def read_wordnet() -> Iterator[tuple[str, str, int]]:
    """Yield the stems of the words of `wordnet.tsv`, each with a related one and its weight."""
    for word, *cells in _read_rows("wordnet.tsv"):
        for weight, *related in (cell.split() for cell in cells):
            for other in related:
                yield stem_of(word), stem_of(other), int(weight)


def _format_cells(weights: dict[str, int]) -> Iterator[str]:
    """Yield a cell for each weight, the highest first: `6 virtu machin,vm`."""
    for weight in sorted(set(weights.values()), reverse=True):
        phrases = sorted(phrase for phrase, found in weights.items() if found == weight)
        yield f"{weight} {','.join(phrases)}"


def _read_rows(name: str) -> list[list[str]]:
    text = (HERE / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()[1:]]


def main() -> None:
    """Write the file."""
    rows = make_rows()
    TARGET.write_text("\n".join(("word\tphrases", *rows, "")), encoding="utf-8")
    print(f"{len(rows)} words, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
