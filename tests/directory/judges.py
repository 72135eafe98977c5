"""Compare our requests with other tools' over a directory: `make judges REPOSITORY=FOLDER`.

`python -m tests.directory.judges --repository FOLDER [--operations N] [--seed N]` takes documents
in a random order, and of each at most 25 operations, chosen at random, until there are enough.
What is judged so far is printed after every 40 documents.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.corpus.calls import JudgedDocument
from tests.corpus.outside_judges import LEAST_OPERATIONS, Tally, print_tallies, tally
from tests.directory.__main__ import BEFORE_THE_HEAD
from tests.directory.source import (
    DirectoryDocument,
    choose_newest,
    count_operations,
    list_documents,
    read_document,
)
from tests.directory.verdict import Directory
from tests.support.paths import CACHE

MOST_OF_A_DOCUMENT = 25  # so that a few very large documents are not most of the sample
BATCH = 40


def sample_documents(
    directory: Directory, documents: Iterable[DirectoryDocument], operations: int, folder: Path
) -> Iterator[JudgedDocument]:
    """Write documents into separate folders until they have enough operations."""
    found = 0
    for number, document in enumerate(each for each in documents if each.size):
        text = read_document(directory.repository, directory.commit, document)
        path = folder / str(number) / Path(document.path).name
        path.parent.mkdir(parents=True)
        path.write_bytes(text)
        yield JudgedDocument(f"{document.api} {document.version}", path, MOST_OF_A_DOCUMENT)
        found += min(count_operations(text), MOST_OF_A_DOCUMENT)
        if found >= operations:
            return


def main() -> int:
    """Judge a random sample; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--commit", default=BEFORE_THE_HEAD)
    parser.add_argument("--operations", type=int, default=LEAST_OPERATIONS, metavar="N")
    parser.add_argument("--seed", type=int, default=0, help="another one is another sample")
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--show", default="", metavar="KIND", help="more examples of such kinds")
    options = parser.parse_args()
    directory = Directory(options.repository, options.commit)
    documents = choose_newest(list_documents(options.repository, options.commit))
    random.Random(f"judges {options.seed}").shuffle(documents)
    with tempfile.TemporaryDirectory() as own:
        sample = [*sample_documents(directory, documents, options.operations, Path(own))]
        print(f"{len(sample):,} of {len(documents):,} documents, a random sample", flush=True)
        tallies: list[Tally] = []
        is_reached = False
        for start in range(0, len(sample), BATCH):
            batch = sample[start : start + BATCH]
            tallies = tally(batch, CACHE / "judges", at_once=options.at_once, before=tallies)
            is_reached = print_tallies(tallies, options.show)
    return 0 if is_reached else 1


if __name__ == "__main__":
    raise SystemExit(main())
