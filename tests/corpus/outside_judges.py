"""Compare our requests with those of Schemathesis and swagger-client: `make judges`.

`python -m tests.corpus.outside_judges [PART_OF_A_NAME ...] [--show KIND]` judges a part.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from tests.corpus.calls import Call, JudgedDocument, calls_of
from tests.corpus.comparing import Difference, Request, differences
from tests.corpus.in_children import Failure, in_children
from tests.support.corpus import CORPUS, corpus_documents, is_present
from tests.support.paths import CACHE, REPOSITORY

PEERS = REPOSITORY / "tests" / "peers"
NODE = CACHE / "node"
SCHEMATHESIS = CACHE / "peers" / "schemathesis-4.32.5" / "bin" / "python"
COMMANDS = {
    "schemathesis": (str(SCHEMATHESIS), str(PEERS / "schemathesis_requests.py")),
    "swagger-client": (
        str(NODE / "node_modules" / ".bin" / "node"),
        str(PEERS / "swagger_client_requests.mjs"),
        str(NODE),
    ),
}
DECISIONS = Path(__file__).with_name("disagreements.md")
LEAST_OPERATIONS, LEAST_AGREEMENT = 5000, 0.99
EXAMPLES = 8
GENERATING_SECONDS, JUDGING_SECONDS = 900, 3600  # for hangs only: a machine can be loaded


@dataclass(slots=True)
class Tally:
    """The results of comparing the requests of one judge with ours, over all operations."""

    judge: str
    judged: set[tuple[str, str]] = field(default_factory=set)  # document and operation
    disputed: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # and the kinds
    failed: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[str, str, Difference]]] = field(default_factory=dict)

    def take(self, document: str, call: Call, theirs: Request) -> None:
        """Compare one call."""
        if "failed" in theirs:
            self.failed[theirs["failed"][:90]] += 1
            return
        at = (document, call["operation"])
        self.judged.add(at)
        for found in differences(call, theirs):
            self.disputed.setdefault(at, set()).add(found.kind)
            self.examples.setdefault(found.kind, []).append((document, call["case"], found))

    def agreement(self, open_kinds: Sequence[str] = ()) -> float:
        """Return the share of judged operations without a difference, ignoring `open_kinds`."""
        disputed = sum(bool(kinds - set(open_kinds)) for kinds in self.disputed.values())
        return 1 - disputed / len(self.judged) if self.judged else 0.0


def tally(
    documents: Sequence[JudgedDocument],
    folder: Path,
    *,
    at_once: int = 2,
    before: Sequence[Tally] | None = None,
) -> list[Tally]:
    """Let both judges build the requests of every call of these documents, and compare them.

    The results are added to those from `before`, if there are any.
    """
    folder.mkdir(parents=True, exist_ok=True)
    work = folder / "work.jsonl"
    calls: list[tuple[str, list[Call]]] = []
    with work.open("w") as lines:
        for document, result in in_children(
            calls_of, documents, at_once=at_once, seconds=GENERATING_SECONDS
        ):
            if isinstance(result, Failure):
                print(f"! {document.name}: {result.kind}: {result.text[-300:]}", flush=True)
                continue
            root, made = result
            if made:
                calls.append((document.name, made))
                print(json.dumps({"document": root, "calls": made}, default=str), file=lines)
    tallies = list(before or map(Tally, COMMANDS))
    for counted, answers in zip(tallies, _answers(work, folder), strict=True):
        for (name, made), line in zip(calls, answers, strict=False):
            for call, theirs in zip(made, json.loads(line), strict=True):
                counted.take(name, call, theirs)
    return tallies


def _answers(work: Path, folder: Path) -> list[list[str]]:
    """Run the judges in parallel; return the output lines of each, one line per document."""
    running = []
    for judge, command in COMMANDS.items():
        with work.open() as lines, (folder / f"{judge}.jsonl").open("w") as answers:
            running.append(subprocess.Popen(command, stdin=lines, stdout=answers))
    for process in running:
        try:
            process.wait(JUDGING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return [(folder / f"{judge}.jsonl").read_text().splitlines() for judge in COMMANDS]


@dataclass(frozen=True, slots=True)
class Decision:
    """A row of `disagreements.md`: the verdict on kinds of one judge, where `*` is a wildcard."""

    judge: str
    kinds: str
    verdict: str  # "ours", "open" or "theirs"


def decisions() -> list[Decision]:
    """Return all rows that contain a verdict."""
    rows = []
    for line in DECISIONS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if len(cells) >= 3 and cells[0] in COMMANDS:
            rows.append(Decision(*cells[:3]))
    return rows


def decision_on(judge: str, kind: str, rows: Sequence[Decision]) -> Decision | None:
    """Return the first row that matches a kind of disagreement."""
    fitting = (row for row in rows if row.judge == judge and fnmatchcase(kind, row.kinds))
    return next(fitting, None)


def print_tallies(tallies: Sequence[Tally], shown: str) -> bool:
    """Print the agreement and every kind of disagreement; return whether the goals are reached."""
    rows = decisions()
    unused = set(rows)
    is_reached = True
    for each in tallies:
        counts = Counter(kind for kinds in each.disputed.values() for kind in kinds)
        decided = {kind: decision_on(each.judge, kind, rows) for kind in counts}
        unused -= set(decided.values())
        verdicts = {kind: row.verdict if row else "" for kind, row in decided.items()}
        settled = [kind for kind, verdict in verdicts.items() if verdict in {"ours", "open"}]
        print(f"\n== {each.judge}: {len(each.judged):,} operations judged")
        print(f"the very same requests: {each.agreement():.2%}")
        print(
            f"the same, or as the specification says or leaves open: {each.agreement(settled):.2%}"
        )
        for kind, count in counts.most_common():
            print(f"{count:>6}  {kind}: {verdicts[kind] or 'NOT DECIDED'}")
            if verdicts[kind] and not (shown and shown in kind):
                continue
            for document, case, found in each.examples[kind][:EXAMPLES]:
                print(f"          {document}: {case}")
                print(f"          ours   {found.ours[:300]}\n          theirs {found.theirs[:300]}")
        for reason, count in each.failed.most_common(EXAMPLES):
            print(f"{count:>6}  not judged: {reason}")
        is_reached &= len(each.judged) >= LEAST_OPERATIONS
        is_reached &= each.agreement(settled) >= LEAST_AGREEMENT
    for row in rows:
        if row in unused:
            print(f"decides nothing here: {row.judge}: {row.kinds}")
    return is_reached


def judged_documents() -> list[JudgedDocument]:
    """Return the documents whose requests are unambiguous: valid ones with operations."""
    return [
        JudgedDocument(each.name, each.path)
        for each in corpus_documents()
        if each.is_valid and each.operations
    ]


def main() -> int:
    """Judge the selected documents; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART_OF_A_NAME")
    parser.add_argument("--show", default="", metavar="KIND", help="more examples of such kinds")
    options = parser.parse_args()
    if not is_present():
        print(f"SKIPPED: there is no index.csv in {CORPUS}")
        return 0
    documents = [
        each
        for each in judged_documents()
        if not options.parts or any(part in each.name for part in options.parts)
    ]
    tallies = tally(documents, CACHE / "judges")
    return 0 if print_tallies(tallies, options.show) or options.parts else 1


if __name__ == "__main__":
    raise SystemExit(main())
