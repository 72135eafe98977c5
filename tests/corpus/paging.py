"""Measure how many lists of the corpus mcpgen pages, by style: `make corpus-paging BASE=FOLDER`.

`python -m tests.corpus.paging --base FOLDER [PART_OF_A_NAME ...] [--sample FILE]` runs
`paged_lists.py` with the mcpgen of another source tree and of this one. `--sample` writes lists
drawn at random for reading by hand, of the documents that the rules were not made for; it quotes
the documents and is not to be committed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.corpus.paged_lists import STYLES
from tests.support.corpus import CORPUS, CorpusDocument, is_present, select_documents
from tests.support.paths import REPOSITORY

_SCRIPT = Path(__file__).with_name("paged_lists.py")
_ORDER = (*STYLES, "`Link` header", "URL of the next page", "only a limit")
_DETECTED, _UNDETECTED = 60, 40

List = dict[str, Any]


def is_held_out(name: str) -> bool:
    """Return whether the rules were written without this document: half of all, by hash."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def read_lists(tree: Path, documents: Sequence[CorpusDocument]) -> list[List]:
    """Return the lists that show paging, as paged by the mcpgen of a source tree."""
    paths = "".join(f"{document.path}\n" for document in documents)
    done = subprocess.run(
        [sys.executable, str(_SCRIPT)],
        input=paths,
        capture_output=True,
        text=True,
        check=True,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
    )
    lines = done.stdout.splitlines()
    return [
        {"document": document.name, **found}
        for document, line in zip(documents, lines, strict=True)
        for found in json.loads(line)
    ]


def tabulate(before: Sequence[List], after: Sequence[List], title: str) -> str:
    """Return a table with a row for each style."""
    lines = [
        f"| {title} | lists | detected before | declared | assumed | detected |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    keys = {(it["document"], it["operation"]) for it in before if it["kind"]}
    for style in (*_ORDER, "all that can be paged"):
        is_all = style not in _ORDER
        rows = [
            it for it in after if it["style"] == style or (is_all and it["style"] != _ORDER[-1])
        ]
        if not rows:
            continue
        old = sum((it["document"], it["operation"]) in keys for it in rows)
        assumed = sum(it["assumed"] for it in rows)
        found = sum(bool(it["kind"]) for it in rows)
        lines.append(
            f"| {style} | {len(rows):,} | {old:,} ({old / len(rows):.0%}) | {found - assumed:,} "
            f"| {assumed:,} | {found / len(rows):.1%} |"
        )
    return "\n".join(lines)


def write_sample(lists: Sequence[List], file: Path) -> None:
    """Write lists drawn at random: detected ones, and others that show some paging."""
    chance = random.Random(21)
    held = [it for it in lists if is_held_out(it["document"])]
    found = [it for it in held if it["kind"]]
    others = [it for it in held if not it["kind"]]
    drawn = chance.sample(found, min(_DETECTED, len(found)))
    drawn += chance.sample(others, min(_UNDETECTED, len(others)))
    with file.open("w", encoding="utf-8") as out:
        for it in drawn:
            out.write(json.dumps(it, ensure_ascii=False, indent=1) + "\n")


def main() -> int:
    """Print the tables for the selected documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART_OF_A_NAME")
    parser.add_argument("--base", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--sample", type=Path, metavar="FILE")
    options = parser.parse_args()
    if not is_present():
        print(f"SKIPPED: there is no index.csv in {CORPUS}")
        return 0
    documents = select_documents(options.parts)
    with ThreadPoolExecutor(2) as pool:
        before, after = pool.map(
            lambda tree: read_lists(tree, documents), (options.base.resolve(), REPOSITORY)
        )
    listed = [it for it in after if it["method"] == "GET"]
    print(tabulate(before, listed, "all documents"))
    for is_held, title in ((False, "documents read for the rules"), (True, "other documents")):
        kept = [it for it in listed if is_held_out(it["document"]) is is_held]
        print(f"\n{tabulate(before, kept, title)}")
    for reads, title in ((True, "POST that reads"), (False, "other POST")):
        posts = [it for it in after if it["method"] == "POST" and it["reads"] is reads]
        print(f"\n{tabulate(before, posts, title)}")
    if options.sample:
        write_sample(after, options.sample)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
