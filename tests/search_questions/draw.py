"""Draw operations of a document at random, for the person who writes questions about them.

`python -m tests.search_questions.draw FILE` prints the operations of a document of the corpus as
rows, the drawn ones first, with their texts. The texts are for the writer and are never committed.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from tests.annotations.sample import Sampled, iterate_operations, read_document

SEED = 2111
DRAWN = 44  # more than the 28 questions of a file: some operations no person can tell apart


def draw(file: str, operations: Sequence[Sampled]) -> list[Sampled]:
    """Choose operations of one document; the choice depends only on the document and `SEED`."""
    chance = random.Random(f"{SEED}:{file}")
    return chance.sample(operations, min(DRAWN, len(operations)))


def main() -> None:
    """Print the drawn operations with their texts, then all others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--others", action="store_true", help="print the others too, without texts")
    options = parser.parse_args()
    operations = list(iterate_operations("", read_document(options.file, Path())))
    drawn = draw(options.file, operations)
    for number, each in enumerate(drawn, 1):
        row = [str(number), each.method, each.path, each.operation_id, each.texts[:240]]
        print("\t".join(row))
    if options.others:
        for each in operations:
            if each not in drawn:
                print("\t".join(["-", each.method, each.path, each.operation_id]))


if __name__ == "__main__":
    main()
