"""Measure `mcpgen ws status` in a workspace of 200 real servers, including process start.

`make bench` runs it. The servers are copies of those in generated_examples/, twenty of each, with
evidence of all checks but live runs. The files are in the cache of the system.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from generation import ROOT, Cost, cost

ROUNDS = 9
SERVERS = 200
GOAL_SECONDS = 1.0
SETTINGS = 'version: 1\nmcpgen: ">=0.5"\nservers: ["servers/*"]\n'


def make_workspace(folder: Path) -> Path:
    """Make the workspace; the evidence of bundles is generated once per example."""
    root = folder / "workspace"
    made = sorted((ROOT / "generated_examples").glob("*-mcp"))
    for number in range(SERVERS):
        example = made[number % len(made)]
        target = root / "servers" / f"{example.name}-{number // len(made):02}"
        if number < len(made):
            shutil.copytree(example, target)
            cost(("bundle", str(target), "--out", str(folder / "bundles")), folder / "cache")
        else:
            shutil.copytree(root / "servers" / f"{example.name}-00", target)
    (root / "mcpgen-workspace.yaml").write_text(SETTINGS)
    return root


def measure(root: Path, cache: Path, *words: str) -> list[Cost]:
    """Return the times of several runs of the command, after one run that fills caches."""
    runs = [cost(("ws", "status", *words), cache, here=root) for _ in range(ROUNDS + 1)]
    return runs[1:]


def main() -> None:
    """Print the table, or JSON with `--json`; exit with 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        print("making the workspace ...", file=sys.stderr)
        root = make_workspace(Path(folder))
        for words in ((), ("--json",)):
            runs = measure(root, Path(folder) / "cache", *words)
            rows.append(
                {
                    "command": " ".join(["mcpgen ws status", *words]),
                    "seconds": statistics.median(it.seconds for it in runs),
                    "least_seconds": min(it.seconds for it in runs),
                    "cpu_seconds": statistics.median(it.cpu_seconds for it in runs),
                    "megabytes": max(it.megabytes for it in runs),
                }
            )
    has_missed = any(row["seconds"] > GOAL_SECONDS for row in rows)
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print(
            f"| {SERVERS} servers | median | least | CPU | memory | goal |\n"
            "|---|---|---|---|---|---|"
        )
        for row in rows:
            print(
                f"| `{row['command']}` | {row['seconds']:.2f} s | {row['least_seconds']:.2f} s"
                f" | {row['cpu_seconds']:.2f} s | {row['megabytes']:.0f} MB | {GOAL_SECONDS:g} s |"
            )
    sys.exit(1 if has_missed else 0)


if __name__ == "__main__":
    main()
