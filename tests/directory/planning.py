"""Count the operations of a directory that get a tool, by planning without generating a server.

`python -m tests.directory.planning --repository FOLDER` plans the tools of each document in random
order, appends a line of JSON for each to the results, and goes on after those that are there. It
prints a table and the rules by which operations were skipped. This takes a twentieth of the time of
`make directory`, which generates, starts and tests a server of each document.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mcpgen.diagnostics import Problems, RejectedError, Severity
from mcpgen.openapi.lower.lower import lower
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.source.load import load
from mcpgen.plan.plan import plan_tools
from tests.corpus.in_children import Failure, in_children
from tests.directory.__main__ import BEFORE_THE_HEAD, describe_extent, read_results
from tests.directory.source import (
    DirectoryDocument,
    choose_newest,
    count_operations,
    list_documents,
    read_document,
)
from tests.directory.verdict import Directory
from tests.support.paths import CACHE
from tests.support.policies import first_policy

TIMEOUT_SECONDS = 900


@dataclass(slots=True)
class Planned:
    """Figures of a document's plan."""

    outcome: str = "planned"  # "planned", "refused", "absent", "timeout", "crashed" or "raised"
    operations: int = 0  # in the document
    served: int = 0
    skipped: dict[str, int] = field(default_factory=dict)  # by the rule that skipped them
    reasons: list[str] = field(default_factory=list)  # of a refusal, or of skipped operations


def plan_document(work: tuple[Directory, DirectoryDocument]) -> Planned:
    """Plan the tools of a document."""
    directory, document = work
    if not document.size:
        return Planned("absent")
    text = read_document(directory.repository, directory.commit, document)
    planned = Planned(operations=count_operations(text))
    problems = Problems()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, Path(document.path).name)
        source.write_bytes(text)
        try:
            api = lower(resolve(load(str(source), problems), problems), problems)
            plan = plan_tools(api, first_policy("planned", models=False), problems)
        except RejectedError:
            planned.outcome = "refused"
            errors = [each for each in problems if each.severity is Severity.ERROR]
            planned.reasons = [f"{each.code}: {each.message}" for each in errors]
            return planned
    planned.served = len({tool.operation.key for tool in plan.tools})
    planned.skipped = dict(Counter(item.code for item in plan.skipped))
    planned.reasons = [
        f"{each.code}: {each.message}" for each in problems if each.code in planned.skipped
    ]
    return planned


def make_table(results: Sequence[Any]) -> str:
    """Return the table in Markdown, and below it each document with skipped operations."""
    present = [each for each in results if each["outcome"] != "absent"]
    outcomes = Counter(each["outcome"] for each in present)
    ended = outcomes["planned"] + outcomes["refused"]
    rules: Counter[str] = Counter()
    for each in present:
        rules.update(each["skipped"])
    operations = sum(each["operations"] for each in present)
    served = sum(each["served"] for each in present)
    rows = [
        ("documents absent in the copy", f"{len(results) - len(present):,}"),
        ("documents", f"{len(present):,}"),
        ("crashes, hangs", f"{len(present) - ended:,}"),
        ("documents refused", f"{outcomes['refused']:,}"),
        ("operations in all documents", f"{operations:,}"),
        ("operations that get a tool", f"{served:,} ({served / max(operations, 1):.2%})"),
        *((f"operations skipped by `{rule}`", f"{count:,}") for rule, count in rules.most_common()),
    ]
    lines = ["| measure | result |", "|---|---:|", *(f"| {a} | {b} |" for a, b in rows), ""]
    for each in present:
        if each["skipped"] or each["outcome"] != "planned":
            lines.append(f"{each['path']}: {each['outcome']}, skipped {each['skipped']}")
            lines += [f"    {text[:300]}" for text in each["reasons"][:3]]
    return "\n".join(lines)


def main() -> int:
    """Plan documents without a result, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--commit", default=BEFORE_THE_HEAD)
    parser.add_argument("--results", type=Path, default=CACHE / "directory" / "planning.jsonl")
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    documents = choose_newest(list_documents(options.repository, options.commit))
    random.Random(0).shuffle(documents)
    results = read_results(options.results)
    directory = Directory(options.repository, options.commit)
    works = [(directory, each) for each in documents if each.path not in results]
    if not options.table:
        options.results.parent.mkdir(parents=True, exist_ok=True)
        with options.results.open("a", encoding="utf-8") as file:
            for (_, document), result in in_children(
                plan_document, works, at_once=options.at_once, seconds=TIMEOUT_SECONDS
            ):
                if isinstance(result, Failure):
                    result = Planned(result.kind, reasons=[result.text])
                results[document.path] = {"path": document.path, **asdict(result)}
                print(json.dumps(results[document.path]), file=file, flush=True)
    done = [results[each.path] for each in documents if each.path in results]
    print(f"{describe_extent(documents, results)}\n\n{make_table(done)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
