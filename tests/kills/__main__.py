"""Kill replicas under load, and print a table: `python -m tests.kills --kills 50 --seed 1`."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.kills.run import kill_replicas


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(kill_replicas(Path(folder), options.kills, options.seed))
    for line in (*report.to_lines(), *report.faults):
        print(line)
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
