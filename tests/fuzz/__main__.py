"""Fuzz every target, two at a time: `make fuzz FUZZ_SECONDS=3600 FUZZ_SEED=1`.

The table at the end shows cases, faults, slow cases and growth of memory. Inputs with a new
outcome, a fault or a long run are written to .cache/fuzz/. The exit code is 1 if there was a fault,
a case over the target's time, or growth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.fuzz.targets import NAMES
from tests.support.paths import CACHE, REPOSITORY

MAX_GROWTH_MB = 30.0
"""Growth after the warm-up up to which it counts as noise of the allocator."""
_AT_ONCE = 2
_GRACE_SECONDS = 300.0


def fuzz(name: str, seconds: float, seed: int, folder: Path) -> dict[str, Any]:
    """Fuzz one target in a separate process and return its summary."""
    command = [sys.executable, "-m", "tests.fuzz.worker", name]
    done = subprocess.run(
        [*command, str(seconds), str(seed), str(folder)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=seconds + _GRACE_SECONDS,
    )
    if done.returncode:
        return {"target": name, "faults": {f"the fuzzer ended with {done.returncode}": 1}}
    summary: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return summary


def is_clean(summary: dict[str, Any]) -> bool:
    """Return whether a target had no fault, no slow case and no growth."""
    growth = max(summary.get("growth_mb", {}).values(), default=0.0)
    return not summary["faults"] and not summary["slow"] and growth < MAX_GROWTH_MB


def print_table(summaries: list[dict[str, Any]]) -> None:
    print(
        f"{'target':<10} {'cases':>9} {'outcomes':>8} {'crashes':>7} {'slow':>5} {'slowest':>8}  "
        "growth"
    )
    for summary in summaries:
        growth = ", ".join(
            f"{name} {megabytes:+.1f} MB"
            for name, megabytes in summary.get("growth_mb", {}).items()
        )
        print(
            f"{summary['target']:<10} {summary.get('cases', 0):>9} {summary.get('outcomes', 0):>8} "
            f"{sum(summary['faults'].values()):>7} {summary.get('slow', 0):>5} "
            f"{summary.get('slowest_seconds', 0.0):>6.2f} s  {growth}"
        )
        for fault, count in summary["faults"].items():
            print(f"    {count} x {fault}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=CACHE / "fuzz")
    parser.add_argument("targets", nargs="*", default=NAMES)
    given = parser.parse_args()
    rounds = -(-len(given.targets) // _AT_ONCE)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        running = [
            pool.submit(fuzz, name, given.seconds / rounds, given.seed, given.folder)
            for name in given.targets
        ]
        summaries = [future.result() for future in running]
    print_table(summaries)
    return 0 if all(map(is_clean, summaries)) else 1


if __name__ == "__main__":
    sys.exit(main())
