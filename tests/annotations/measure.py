"""Precision and recall of the annotation rules, as tables: `make annotations`.

`python -m tests.annotations.measure [--documents FOLDER] [--errors]`. Without `--documents`, the
rules see the rows of `operations.tsv` as they are committed. With it, they see the texts of the
published documents, which are in the corpus or in FOLDER.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcpgen.ir.api import Operation
from mcpgen.plan.tools.annotations import Decision, decide_hints
from tests.annotations.sample import HELD_OUT, TUNING, iterate_operations, read_document
from tests.support.plans import operation

ROWS = Path(__file__).with_name("operations.tsv")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One operation with the effect that a human labeller assigned to it.

    `effect` is "read", "add", "change" or "destroy"; `doubt` is why another label was considered.
    """

    document: str
    stratum: str
    method: str
    path: str
    operation_id: str
    description: str
    effect: str
    doubt: str

    @property
    def is_held_out(self) -> bool:
        """Whether the document was set aside while the rules were written."""
        return self.document in HELD_OUT


def read_rows() -> list[Labelled]:
    """Read the labelled set."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        return [Labelled(**row) for row in csv.DictReader(file, delimiter="\t")]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Share of correct decisions: `right` of `out_of`."""

    right: int
    out_of: int

    @property
    def share(self) -> float:
        """The fraction that is right; 1.0 if `out_of` is 0."""
        return self.right / self.out_of if self.out_of else 1.0

    def __str__(self) -> str:
        return f"{self.share:.1%} ({self.right}/{self.out_of})"


@dataclass(frozen=True, slots=True)
class Figures:
    """Precision and recall for one set of rows in one mode."""

    read_only_precision: Ratio
    read_only_recall: Ratio
    destructive_precision: Ratio
    destructive_recall: Ratio
    removal_recall: Ratio  # of the effect "destructive", for what removes or ends something


Judged = tuple[Labelled, Decision]


def measure(judged: Sequence[Judged]) -> Figures:
    """Compare decisions with labels, and return the precision and recall."""

    def compare(
        is_said: Callable[[Decision], bool], is_so: Callable[[Labelled], bool]
    ) -> tuple[Ratio, Ratio]:
        both = sum(is_said(decision) and is_so(row) for row, decision in judged)
        said = sum(is_said(decision) for _, decision in judged)
        return Ratio(both, said), Ratio(both, sum(is_so(row) for row, _ in judged))

    read_only = compare(lambda it: it.hints["readOnlyHint"], lambda row: row.effect == "read")
    destructive = compare(
        lambda it: it.hints["destructiveHint"], lambda row: row.effect in ("change", "destroy")
    )
    removal = compare(lambda it: it.effect == "destructive", lambda row: row.effect == "destroy")
    return Figures(*read_only, *destructive, removal[1])


def judge(
    rows: Iterable[Labelled], texts: Mapping[tuple[str, str, str], str], *, is_trusted: bool
) -> list[Judged]:
    """Apply the rules to rows; `texts` maps document, method and path to descriptions."""
    return [(row, decide_hints(_make_operation(row, texts), is_trusted=is_trusted)) for row in rows]


def _make_operation(row: Labelled, texts: Mapping[tuple[str, str, str], str]) -> Operation:
    text = texts.get((row.document, row.method, row.path), "") if texts else row.description
    summary, _, description = text.partition(" | ")
    return operation(
        row.method,
        row.path,
        operation_id=row.operation_id,
        summary=summary,
        description=description,
    )


def read_texts(folder: Path) -> dict[tuple[str, str, str], str]:
    """Read the texts of the operations of all documents."""
    return {
        (name, each.method, each.path): each.texts
        for name, file in (TUNING | HELD_OUT).items()
        for each in iterate_operations(name, read_document(file, folder))
    }


def main() -> None:
    """Print a row for each part of the labelled set and each mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=Path)
    parser.add_argument("--errors", action="store_true", help="list those of the tuning documents")
    options = parser.parse_args()
    texts = {} if options.documents is None else read_texts(options.documents)
    rows = read_rows()
    print("| documents | mode | read-only precision | read-only recall | destructive precision "
          "| destructive recall | removals found |")  # fmt: skip
    print(f"|{'---|' * 7}")
    for name, is_held_out in (("tuning", False), ("held out", True)):
        part = [row for row in rows if row.is_held_out is is_held_out]
        for mode in ("untrusted", "own"):
            judged = judge(part, texts, is_trusted=mode == "own")
            it = measure(judged)
            print(f"| {name} | {mode} | {it.read_only_precision} | {it.read_only_recall} | "
                  f"{it.destructive_precision} | {it.destructive_recall} | "
                  f"{it.removal_recall} |")  # fmt: skip
            if options.errors and not is_held_out:
                list_errors(judged)


def list_errors(judged: Iterable[Judged]) -> None:
    """Print operations wrongly hinted as read-only, and changing ones not hinted as destructive."""
    for row, decision in judged:
        for hint, is_wrong in (
            ("readOnlyHint", decision.hints["readOnlyHint"] and row.effect != "read"),
            ("destructiveHint", not decision.hints["destructiveHint"]
             and row.effect in ("change", "destroy")),
        ):  # fmt: skip
            if is_wrong:
                reason = decision.reasons[hint]
                print(f"{row.effect}, {hint} wrong: {row.method} {row.path}: {reason.rule}")


if __name__ == "__main__":
    main()
