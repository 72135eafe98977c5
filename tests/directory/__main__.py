"""Generate, install, list and test a server of each API of a public directory: `make directory`.

`python -m tests.directory --repository FOLDER [--commit REVISION] [--results FILE]` appends a line
of JSON for each document to the results, and goes on after those that are there. The order is
random but the same each time, so that what is done is a random sample at any time: `--sample N`
ends after the first N. `--shard I/N` does one part of N, `--table` only prints the table.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcpgen.factory.workspace.shards import Shard, split_work
from tests.corpus.in_children import Failure, in_children
from tests.directory.source import DirectoryDocument, choose_newest, list_documents
from tests.directory.table import make_table
from tests.directory.verdict import Directory, Verdict, examine, warm_up
from tests.support.paths import CACHE

TIMEOUT_SECONDS = 3 * 3600
AT_ONCE = 2
BEFORE_THE_HEAD = "HEAD~1"  # the head was converted by machine


def read_results(file: Path, key: str = "path") -> dict[str, Mapping[str, Any]]:
    """Read the last result of each document, identified by its path or by `key`."""
    if not file.exists():
        return {}
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return {line[key]: line for line in lines}


def examine_all(
    directory: Directory, documents: list[DirectoryDocument], at_once: int
) -> Iterator[tuple[DirectoryDocument, Verdict]]:
    """Examine documents in separate processes, in the given order."""
    works = [(directory, each) for each in documents]
    for (_, document), result in in_children(
        examine, works, at_once=at_once, seconds=TIMEOUT_SECONDS
    ):
        if isinstance(result, Failure):
            result = Verdict(result.kind, faults=[result.text])
        yield document, result


def describe_extent(
    in_order: Sequence[str], done: Container[str], things: str = "documents"
) -> str:
    """Describe how many documents have a result, in their random order: all, a sample, or some."""
    count = sum(each in done for each in in_order)
    total = f"{count:,} of {len(in_order):,} {things}"
    if count == len(in_order):
        return total
    is_sample = all(each in done for each in in_order[:count])
    return f"{total}, {'a random sample' if is_sample else 'not a random sample'}"


def main() -> int:
    """Examine documents without a result, and print the table; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--commit", default=BEFORE_THE_HEAD)
    parser.add_argument("--results", type=Path, default=CACHE / "directory" / "results.jsonl")
    parser.add_argument("--shard", type=Shard.parse)
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--again", action="store_true", help="also those that have faults")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    documents = choose_newest(list_documents(options.repository, options.commit))
    random.Random(0).shuffle(documents)
    documents = [each for each in documents if options.only in each.path]
    in_order, documents = [each.path for each in documents], documents[: options.sample]
    if options.shard:
        placed = split_work({each.path: 1 + each.size for each in documents}, options.shard.count)
        documents = [each for each in documents if placed[each.path] == options.shard.index]
    results = read_results(options.results)
    done = {path for path, result in results.items() if not (options.again and result["faults"])}
    if not options.table:
        options.results.parent.mkdir(parents=True, exist_ok=True)
        directory = Directory(options.repository, options.commit, warm_up())
        waiting = [each for each in documents if each.path not in done]
        with options.results.open("a", encoding="utf-8") as file:
            for document, verdict in examine_all(directory, waiting, options.at_once):
                line = {"path": document.path, "size": document.size, **asdict(verdict)}
                results[document.path] = line
                print(json.dumps(line), file=file, flush=True)
                mark = "!" if verdict.faults else " "
                cpu = " ".join(f"{step} {value:.1f} s" for step, value in verdict.cpu.items())
                print(
                    f"{mark} {verdict.outcome:<8} {verdict.served:>5} tools {document.path}: {cpu}",
                    flush=True,
                )
    text, reached = make_table([results[each.path] for each in documents if each.path in results])
    print(f"{describe_extent(in_order, results)}\n\n{text}")
    return 0 if reached else 1


if __name__ == "__main__":
    raise SystemExit(main())
