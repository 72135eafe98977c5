"""Measure the generated tests: 50 operations, GitHub's 1,223, and 200 mutants of 26.

`make bench` runs it. Each server is made first, which is not counted; then its tests are run as
its owner would run them, by `mcpgen test`, on at most two cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from generation import GITHUB, ROOT, Cost, cost

CORES = 2
SPECS = ROOT / "specs"
FIFTY = ("bots", "contacts", "conversations", "reports", "tags")


@dataclass(frozen=True, slots=True)
class Measure:
    """A server, the command that runs its tests, and the time limit."""

    label: str
    document: Path
    making: tuple[str, ...]
    testing: tuple[str, ...]
    most_seconds: float


MEASURES = (
    Measure(
        "50 operations, the whole suite",
        SPECS / "chatdesk.yaml",
        tuple(word for tag in FIFTY for word in ("--include", tag)),
        (),
        4.0,
    ),
    Measure("GitHub's 1,223 operations, the whole suite", GITHUB, ("--no-models",), (), 60.0),
    Measure(
        "26 operations, 200 faults",
        SPECS / "bookshop.yaml",
        (),
        ("--mutate", "--limit", "200", "--jobs", str(CORES)),
        120.0,
    ),
)


def measured(folder: Path) -> Iterator[tuple[Measure, Cost]]:
    """Yield each measure with its cost."""
    for number, measure in enumerate(MEASURES):
        if not measure.document.exists():
            print(f"left out: {measure.label}; no document (make peers)", file=sys.stderr)
            continue
        print(f"measuring {measure.label} ...", file=sys.stderr)
        server = str(folder / str(number))
        cost(("new", str(measure.document), server, "--defaults", *measure.making), folder)
        yield measure, cost(("test", server, *measure.testing), folder, cores=CORES)


def main() -> None:
    """Print the table, or JSON with `--json`; exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    is_reached = True
    rows = []
    if not options.json:
        print("| measure | s | CPU s | MB | goal | |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for measure, found in measured(Path(folder)):
            reached = found.seconds <= measure.most_seconds
            is_reached &= reached
            rows.append({"measure": measure.label, **asdict(found), "reached": reached})
            if not options.json:
                print(
                    f"| {measure.label} | {found.seconds:.1f} | {found.cpu_seconds:.1f}"
                    f" | {found.megabytes:.0f} | {measure.most_seconds:g} s"
                    f" | {'reached' if reached else 'missed'} |",
                    flush=True,
                )
    if options.json:
        print(json.dumps(rows, indent=2))
    sys.exit(0 if is_reached else 1)


if __name__ == "__main__":
    main()
