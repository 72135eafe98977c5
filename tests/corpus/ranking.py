"""Measure how well search finds the tools of real documents, by question set: `make ranking`.

`python -m tests.corpus.ranking [--questions FOLDER] [--documents FOLDER] [--model FOLDER]
[--missed]` plans a server of each document in `documents.tsv` of the folder of questions, asks its
questions, and prints a table in Markdown for each set, `development` and `heldout`: how often a
right tool is the first, and among the first five, by kind of question; how often a wrong first tool
changes something where the question only reads, or reads where it changes something; the CPU time
of a question; the size of the index. With `--model`, the embedding model of that folder takes part,
as it does with SEARCH_MODEL. `--missed` lists the questions whose tool is not among the first five.
The documents are those of the corpus, or the files of another folder by the last part of their
names.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.pipeline.build import plan_server
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.parse import parse_source
from mcpgen.plan.tools.search_index import make_index
from mcpgen.render import contracts, json_text
from mcpgen.runtime.embeddings.nearness import ToolNearness
from mcpgen.runtime.embeddings.trial import try_model
from mcpgen.search.index import Entry, ToolIndex
from mcpgen.search.query import READ
from tests.support.corpus import CORPUS, corpus_documents, is_present
from tests.support.policies import first_policy
from tests.support.search_questions import FOLDER, SearchQuestion, read_question_sets

FIRST = 5
SMALL_BUDGET = 1  # every server searches, however few tools it has
KINDS = ("everyday", "terms")


@dataclass
class Score:
    """Counts over some questions."""

    asked: int = 0
    first: int = 0  # the first tool is right
    found: int = 0  # one of the first five is right
    confused: int = 0  # the first tool is wrong, and reads instead of changing or the reverse
    missed: list[str] = field(default_factory=list)

    def __add__(self, other: Score) -> Score:
        return Score(
            self.asked + other.asked,
            self.first + other.first,
            self.found + other.found,
            self.confused + other.confused,
            [*self.missed, *other.missed],
        )


@dataclass(frozen=True, slots=True)
class Result:
    """The results of one document."""

    name: str
    scores: dict[str, Score]  # by kind of question
    tools: int
    index_bytes: int
    milliseconds: float  # of CPU for one question, on average


def plan_with_search(path: Path) -> ServerPlan:
    """Plan the server of a document with search enabled."""
    problems = Problems()
    options = BuildOptions(external_validator=False)
    api = parse_source(str(path), options, problems, lambda _: None).api
    policy = first_policy("api", models=False, budget=SMALL_BUDGET)
    return plan_server(api, policy, problems, lambda _: None, strict=False)


def rate(
    name: str, plan: ServerPlan, asked: Sequence[SearchQuestion], *, model: str = ""
) -> Result:
    """Search a server's index for the questions; `model` is the folder of an embedding model."""
    made = make_index(plan)
    assert made is not None
    data = json_text.lines(contracts.search_index(made))
    index = ToolIndex.from_lines(data)
    search = index.search if not model else partial(_search, index, open_nearness(model, index))
    search("warm up")  # the first search prepares the index
    scores: dict[str, Score] = {}
    started = time.process_time()
    answers = [search(each.text)[:FIRST] for each in asked]
    seconds = time.process_time() - started
    for each, answer in zip(asked, answers, strict=True):
        right = [entry.operation in each.operations for entry in answer]
        is_confused = (
            bool(answer) and not right[0] and (answer[0].effect == READ) != (each.effect == READ)
        )
        missed = [] if any(right) else [f"{name}: {each.text} | {' or '.join(each.operations)}"]
        score = Score(1, int(any(right[:1])), int(any(right)), int(is_confused), missed)
        scores[each.kind] = scores.get(each.kind, Score()) + score
    return Result(name, scores, len(plan.tools), len(data), 1000 * seconds / len(asked))


def open_nearness(model: str, index: ToolIndex) -> ToolNearness:
    """Load the embedding model of a folder, which must be valid."""
    try_model(model)
    return ToolNearness(model, lambda: index.texts)


def _search(index: ToolIndex, nearness: ToolNearness, query: str) -> list[Entry]:
    return index.search(query, nearness=asyncio.run(nearness.rate(query)))


def write_table(results: Sequence[Result], kinds: Sequence[str]) -> list[str]:
    """Return the lines of the table."""
    titles = [f"{kind}: first, among five" for kind in kinds]
    lines = [
        f"| API | tools | {' | '.join(titles)} | reading and changing confused | ms | index |",
        "|---" * (len(kinds) + 5) + "|",
    ]
    lines += [
        f"| {each.name} | {each.tools} | {_write_scores(each.scores, kinds)}"
        f" | {each.milliseconds:.2f} | {each.index_bytes / 1000:.0f} kB |"
        for each in results
    ]
    together = {
        kind: sum((each.scores.get(kind, Score()) for each in results), Score()) for kind in kinds
    }
    return [*lines, f"| together | | {_write_scores(together, kinds)} | | |"]


def _write_scores(scores: dict[str, Score], kinds: Iterable[str]) -> str:
    found = [scores.get(kind, Score()) for kind in kinds]
    cells = [
        f"{it.first}, {it.found} of {it.asked} ({it.found / max(it.asked, 1):.0%})" for it in found
    ]
    whole = sum(found, Score())
    confused = f"{whole.confused} of {whole.asked} ({whole.confused / max(whole.asked, 1):.1%})"
    return " | ".join([*cells, confused])


def _list_missed(results: Iterable[Result]) -> list[str]:
    return [
        f"{kind} {line}"
        for each in results
        for kind, score in each.scores.items()
        for line in score.missed
    ]


def _find_documents(folder: Path | None) -> dict[str, Path]:
    """Return the documents of a folder, or of the corpus, by name."""
    if folder is None:
        return {document.name: document.path for document in corpus_documents()}
    return {path.name: path for path in folder.rglob("*") if path.is_file()}


def main() -> int:
    """Print the tables of the sets in a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=Path, default=FOLDER)
    parser.add_argument("--documents", type=Path, help="a folder; the corpus by default")
    parser.add_argument("--model", default="", help="the folder of an embedding model")
    parser.add_argument("--missed", action="store_true")
    options = parser.parse_args()
    if options.documents is None and not is_present():
        print(f"SKIPPED: there is no index.csv in {CORPUS}")
        return 0
    paths = _find_documents(options.documents)
    sets = read_question_sets(options.questions)
    for is_held_out in sorted({each.is_held_out for each in sets}):
        results = [
            rate(
                each.name,
                plan_with_search(paths[each.document]),
                each.questions,
                model=options.model,
            )
            for each in sets
            if each.is_held_out == is_held_out
        ]
        print(f"\n{'heldout' if is_held_out else 'development'}\n")
        print("\n".join(write_table(results, KINDS)))
        if options.missed:
            print("\n".join(_list_missed(results)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
