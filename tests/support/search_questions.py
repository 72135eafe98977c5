"""Tasks for the search of APIs, each with all operations that answer it.

`tests/search_questions/documents.tsv` names the sets: `development` may be read while the ranking
is written, `heldout` was written at the same time and shown to nobody until the ranking was frozen.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import REPOSITORY

FOLDER = REPOSITORY / "tests" / "search_questions"


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """A task as a user or a developer would write it."""

    kind: str  # "everyday": a user's own words; "terms": the words of the API
    text: str
    operations: Sequence[str]  # "GET /path": each of them is a right answer
    effect: str  # of the right operations: "read" or "change"


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions about one document."""

    name: str
    is_held_out: bool
    document: str  # its name in `CorpusDocument.name`
    questions: Sequence[SearchQuestion]


def read_question_sets(folder: Path = FOLDER) -> list[QuestionSet]:
    """Read all question sets of a folder, in the order of its `documents.tsv`."""
    return [
        QuestionSet(
            row["questions"],
            row["set"] == "heldout",
            row["document"].rpartition("/")[2],
            [
                SearchQuestion(
                    each["kind"],
                    each["question"],
                    each["operations"].split(" or "),
                    each["effect"],
                )
                for each in _read_rows(folder / f"{row['questions']}.tsv")
            ],
        )
        for row in _read_rows(folder / "documents.tsv")
    ]


def _read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
