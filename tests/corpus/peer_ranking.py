"""Measure FastMCP's tool search: `python -m tests.corpus.peer_ranking [--folder FOLDER]`.

FastMCP makes a server of each document with `FastMCP.from_openapi` and `BM25SearchTransform`, and
answers the questions with five tools each. The table has, by kind of question, how often the first
tool is right and how often one of the five is, and how often a wrong first tool reads in place of
changing or the reverse; FastMCP states no effects, so a GET counts as reading.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from tests.corpus.tools_before_after import FASTMCP
from tests.support.corpus import corpus_documents
from tests.support.paths import REPOSITORY
from tests.support.search_questions import FOLDER, QuestionSet, SearchQuestion, read_question_sets

_SCRIPT = REPOSITORY / "tests" / "peers" / "fastmcp_search.py"
_KINDS = ("everyday", "terms")


def ask(document: Path, questions: Sequence[SearchQuestion]) -> list[list[str]] | str:
    """Return the operations that FastMCP finds for each question, or the reason for failing."""
    text = document.read_text(encoding="utf-8")
    root = json.loads(text) if document.suffix == ".json" else yaml.load(text, yaml.CSafeLoader)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "document.json"
        copy.write_text(json.dumps(root, default=str), encoding="utf-8")
        done = subprocess.run(
            [FASTMCP / "bin" / "python", _SCRIPT, copy],
            input="".join(f"{each.text}\n" for each in questions),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        return done.stderr.strip().splitlines()[-1].split("[")[0].strip(" :")
    return [json.loads(line) for line in done.stdout.splitlines()]


def count(questions: Sequence[SearchQuestion], answers: Sequence[Sequence[str]]) -> Counter[str]:
    """Count right and confused answers: "everyday first", "everyday found", ..., "confused"."""
    counts: Counter[str] = Counter()
    for each, answer in zip(questions, answers, strict=True):
        counts[f"{each.kind} asked"] += 1
        counts[f"{each.kind} first"] += bool(set(answer[:1]) & set(each.operations))
        counts[f"{each.kind} found"] += bool(set(answer) & set(each.operations))
        if answer and answer[0] not in each.operations:
            counts["confused"] += answer[0].startswith("GET ") != (each.effect == "read")
    return counts


def write_table(sets: Sequence[QuestionSet]) -> Iterator[str]:
    """Yield the lines of the table; documents that FastMCP rejects are not in the totals."""
    yield f"| API | {' | '.join(f'{kind}: first, among five' for kind in _KINDS)} | confused |"
    yield "|---|---|---|---|"
    paths = {document.name: document.path for document in corpus_documents()}
    total: Counter[str] = Counter()
    for each in sets:
        answers = ask(paths[each.document], each.questions)
        if isinstance(answers, str):
            yield f"| {each.name} | no server: `{answers}` | | |"
            continue
        counts = count(each.questions, answers)
        total += counts
        yield _write_row(each.name, counts)
    yield _write_row("together", total)


def _write_row(name: str, counts: Counter[str]) -> str:
    cells = [
        f"{counts[f'{kind} first']}, {counts[f'{kind} found']} of {counts[f'{kind} asked']}"
        for kind in _KINDS
    ]
    asked = sum(counts[f"{kind} asked"] for kind in _KINDS)
    return f"| {name} | {' | '.join(cells)} | {counts['confused']} of {asked} |"


def main() -> None:
    """Print the table of the sets in a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    print("\n".join(write_table(read_question_sets(parser.parse_args().folder))))


if __name__ == "__main__":
    main()
