"""Generates a server from every real document there is, and holds the outcome to what is expected.

`make corpus` runs it, with the folder of documents in CORPUS or, by default, `../shared/corpus`.
Each document gets its own process with a time limit, so that one cannot spoil the others.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 120
ALLOWED = {  # what the index expects -> the outcomes that fulfil it
    "generate": {"done"},
    "generate-or-clear-error": {"done", "rejected"},
    "clear-error": {"rejected"},
}


def generate(document: Path) -> tuple[str, int, int]:
    """Give the outcome for one document, and how many tools it got of how many operations."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mcpgen", "new", str(document), f"{folder}/server"]
        try:
            done = subprocess.run(
                [*command, "--json", "--name", "corpus", "--no-models"],
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
                cwd=REPOSITORY,
            )
            report = json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            return "timeout", 0, 0
        except ValueError:
            return "crashed", 0, 0
    return report["outcome"], report.get("tools", 0), report.get("operations", 0)


def unpack(corpus: Path, archives: set[str], folder: Path) -> None:
    for archive in archives:
        with tarfile.open(corpus / archive) as packed:
            packed.extractall(folder / archive, filter="data")


def main() -> int:
    """Print a line a document and the sums; 1 where an expectation was missed."""
    corpus = Path(os.environ.get("CORPUS", REPOSITORY.parent / "shared" / "corpus"))
    if not (corpus / "index.csv").is_file():
        print(f"SKIPPED: there is no index.csv in {corpus}")
        return 0
    with (corpus / "index.csv").open(encoding="utf-8", newline="") as index:
        rows = list(csv.DictReader(index))
    outcomes: Counter[str] = Counter()
    missed = served = declared = 0
    with tempfile.TemporaryDirectory() as folder:
        packed = {row["file"].partition(":")[0] for row in rows if ":" in row["file"]}
        unpack(corpus, packed, Path(folder))
        for row in rows:
            archive, colon, member = row["file"].partition(":")
            document = Path(folder) / archive / member if colon else corpus / row["file"]
            outcome, tools, operations = generate(document)
            is_met = outcome in ALLOWED[row["expect"]]
            missed += not is_met
            outcomes[outcome] += 1
            served += tools
            declared += operations
            mark = " " if is_met else "!"
            print(f"{mark} {outcome:<9} {tools:>5} of {operations:>5}  {row['name']}", flush=True)
    print(f"{len(rows)} documents: {dict(outcomes)}; {served:,} of {declared:,} operations served")
    print(f"{missed} not as expected (marked !)")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
