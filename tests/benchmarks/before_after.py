"""Compare the CPU cost of this tree with that of another one, such as an older commit.

`make bench-compare BASE=FOLDER` runs it; the other tree has its own `.venv`. Both take turns in
many rounds. The median of the rounds' ratios is printed with its quartiles, since one round alone
varies by more than a change should cost.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import measures
from processes import Candidate, pin
from proxy import proxied_calls, write_proxy

ROOT = Path(__file__).parents[2]
HIGHEST_RATIO = 1.05


@dataclass(frozen=True)
class Measure:
    """One line of the table. `is_proxy` selects the server that calls an API."""

    label: str
    run: Callable[[Candidate], dict[str, float]]
    unit: str
    is_proxy: bool = False


MEASURES = (
    Measure("cold start to tools/list", measures.cold_start, "cpu_ms"),
    Measure("tools/call over stdio, one at a time", measures.sequential, "cpu_us"),
    Measure("tools/call over stdio, 64 in flight", measures.pipelined, "cpu_us"),
    Measure("tools/call over HTTP", measures.http_calls, "cpu_us"),
    Measure("tools/call over HTTP with a REST request", proxied_calls, "cpu_us", is_proxy=True),
)


def server_of(tree: Path, folder: Path, *, is_proxy: bool) -> Candidate:
    """The benchmark server of a tree, which generated it itself where it is the proxy."""
    python = str(tree / ".venv" / "bin" / "python")
    script = "own_proxy.py" if is_proxy else "own.py"
    command = [python, str(tree / "tests" / "benchmarks" / "servers" / script), str(folder)]
    return Candidate(str(tree), command, command)


_WRITE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from own_package import write_package
write_package(Path(sys.argv[2]), 1)
"""


def write_own_package(tree: Path, folder: Path) -> None:
    """Write the package without an API in the layout that the tree's own mcpgen reads."""
    python = str(tree / ".venv" / "bin" / "python")
    benchmarks = str(tree / "tests" / "benchmarks")
    subprocess.run([python, "-c", _WRITE, benchmarks, str(folder)], check=True)


def ratios_of(measure: Measure, own: Candidate, base: Candidate, rounds: int) -> list[float]:
    """The ratio of each round."""
    for candidate in (own, base):
        measure.run(candidate)  # fills the caches of bytecode and files
    ratios = []
    for number in range(rounds):
        order = (own, base) if number % 2 == 0 else (base, own)
        values = {candidate.name: measure.run(candidate)[measure.unit] for candidate in order}
        ratios.append(values[own.name] / values[base.name])
    return ratios


def main() -> None:
    """Print the table; exit 1 when a median is above the highest ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="folder of the other tree")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="measure only lines that contain this text")
    options = parser.parse_args()
    pin(0, 1)
    is_too_high = False
    print("| measure | ratio | quartiles |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        trees = {ROOT: Path(temporary, "own"), options.base.resolve(): Path(temporary, "base")}
        for tree, folder in trees.items():
            folder.mkdir()
            write_own_package(tree, folder)
            write_proxy(folder, str(tree / ".venv" / "bin" / "python"))
        for measure in MEASURES:
            if options.only not in measure.label:
                continue
            own, base = (
                server_of(tree, folder, is_proxy=measure.is_proxy) for tree, folder in trees.items()
            )
            ratios = ratios_of(measure, own, base, options.rounds)
            low, median, high = statistics.quantiles(ratios, n=4)
            is_too_high = is_too_high or median > HIGHEST_RATIO
            print(f"| {measure.label} | {median:.3f} | {low:.3f} to {high:.3f} |", flush=True)
    sys.exit(is_too_high)


if __name__ == "__main__":
    main()
