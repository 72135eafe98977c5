"""Generate and check a server of each real document: `make corpus`. Prints a table and the faults.

`python -m tests.corpus [PART_OF_A_NAME ...] [--json FILE]` checks a part of the corpus.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from tests.corpus.in_children import Failure, in_children
from tests.corpus.table import Judged, goals, is_right, print_faults, print_table
from tests.corpus.verdict import Verdict, judge
from tests.support.corpus import CORPUS, CorpusDocument, corpus_documents, is_present

TIMEOUT_SECONDS = 300
AT_ONCE = 2


def verdicts(documents: list[CorpusDocument]) -> list[Judged]:
    """Judge documents, two at a time, and print how each went."""
    judged: list[Judged] = []
    for document, result in in_children(judge, documents, at_once=AT_ONCE, seconds=TIMEOUT_SECONDS):
        verdict = (
            Verdict(result.kind, faults=(result.text,)) if isinstance(result, Failure) else result
        )
        judged.append(Judged(document, verdict))
        mark = " " if is_right(judged[-1]) else "!"
        print(
            f"{mark} {verdict.outcome:<8} {verdict.tools:>5} tools {verdict.left_out:>3} left out"
            f" {verdict.calls:>5} calls {verdict.seconds:>6.1f} s  {document.name}",
            flush=True,
        )
    return judged


def main() -> int:
    """Judge the selected documents; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART_OF_A_NAME")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if not is_present():
        print(f"SKIPPED: there is no index.csv in {CORPUS}")
        return 0
    wanted = [
        document
        for document in corpus_documents()
        if not options.parts or any(part in document.name for part in options.parts)
    ]
    # The largest first, so that none is begun when all others are done.
    wanted.sort(key=lambda document: -document.path.stat().st_size)
    judged = verdicts(wanted)
    print_faults(judged)
    print_table(judged)
    if options.json:
        found = [{"name": each.document.name, **asdict(each.verdict)} for each in judged]
        options.json.write_text(json.dumps(found, indent=1))
    return 0 if goals(judged) else 1


if __name__ == "__main__":
    raise SystemExit(main())
