"""Measure commands on single servers, and on workspaces of 50 and 200 servers.

`make bench` runs it. The two times of each ratio are taken in turns, so that what else the machine
does falls on both.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from generation import Cost, cost, synthetic

ROUNDS = 5
WORKSPACES = (50, 200)  # servers
WORKSPACE_ROUNDS = 3
SETTINGS = 'version: 1\nmcpgen: ">=0.5"\nservers: ["servers/*"]\ninventory: {file: README.md}\n'
MARKERS = "<!-- mcpgen:servers -->\n<!-- /mcpgen:servers -->\n"


class Bench:
    """Servers in a temporary folder, with their own cache."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cache = folder / "cache"

    def run(self, *words: str, here: Path | None = None, cores: int | None = None) -> Cost:
        """Run a command, which must succeed."""
        return cost(words, self._cache, here=here, cores=cores)

    def server(self, operations: int) -> Path:
        """Generate a server with a number of operations."""
        document = self._folder / f"{operations}.json"
        document.write_text(json.dumps(synthetic(operations), indent=1))
        target = self._folder / f"server-{operations}"
        self.run("new", str(document), str(target), "--defaults")
        return target

    def workspace(self, server: Path, count: int) -> Path:
        """Make a workspace of copies of a server."""
        root = self._folder / f"workspace-{count}"
        for number in range(count):
            shutil.copytree(server, root / "servers" / f"server-{number:03}")
        (root / "mcpgen-workspace.yaml").write_text(SETTINGS)
        (root / "README.md").write_text(MARKERS)
        return root


def change(server: Path, text: str) -> None:
    """Change the summary of the server's first operation."""
    path = server / "openapi.json"
    document = json.loads(path.read_bytes())
    first = next(iter(document["paths"].values()))
    first["put"]["summary"] = text
    path.write_text(json.dumps(document, indent=1))


def one_server(bench: Bench) -> Iterator[dict[str, object]]:
    """Measure a check without changes, and a run after one operation changed."""
    small = bench.server(20)
    checks = [bench.run("check", str(small)) for _ in range(ROUNDS)]
    yield row("check of a fresh server", "CPU s", [each.cpu_seconds for each in checks], 0.3)
    large = bench.server(500)
    runs = []
    for number in range(ROUNDS):
        change(large, f"Replace it, round {number}")
        runs.append(bench.run("generate", str(large)))
    label = "generate, one of 500 operations changed"
    yield row(label, "CPU s", [each.cpu_seconds for each in runs])
    yield row(label, "s", [each.seconds for each in runs], 1.0)


def affected(bench: Bench) -> Iterator[dict[str, object]]:
    """Measure 200 servers, first without stamps, then with stamps of all."""
    root = bench.workspace(bench.server(20), 200)
    bench.run("ws", "generate", "--affected", here=root)
    words = ("ws", "check", "--affected")
    yield row(
        "ws check --affected, 200 servers, no stamps", "s", [bench.run(*words, here=root).seconds]
    )
    again = [bench.run(*words, here=root) for _ in range(ROUNDS)]
    label = "ws check --affected, 200 servers, nothing changed"
    yield row(label, "CPU s", [each.cpu_seconds for each in again])
    yield row(label, "s", [each.seconds for each in again], 1.0)


def side_by_side(bench: Bench) -> Iterator[dict[str, object]]:
    """Measure changed servers on one core and on two; all of their documents differ."""
    server = bench.server(20)
    taken: dict[tuple[int, int], list[Cost]] = {}
    roots = {count: bench.workspace(server, count) for count in WORKSPACES}
    for number in range(WORKSPACE_ROUNDS):
        for count, root in roots.items():
            for cores in (1, 2):
                for each in (root / "servers").iterdir():
                    change(each, f"Replace it, {each.name}, round {number} of {cores}")
                found = bench.run("ws", "generate", here=root, cores=cores)
                taken.setdefault((count, cores), []).append(found)
    few, many = WORKSPACES
    for cores in (1, 2):
        seconds = [each.seconds for each in taken[many, cores]]
        yield row(f"ws generate, {many} servers, {cores} cores", "s", seconds)
    pairs = zip(taken[many, 1], taken[many, 2], strict=True)
    ratios = [two.seconds / one.seconds for one, two in pairs]
    yield row("two cores against one", "ratio", ratios, 0.55)
    pairs = zip(taken[few, 1], taken[many, 1], strict=True)
    growth = [(large.cpu_seconds / many) / (small.cpu_seconds / few) for small, large in pairs]
    yield row(f"CPU of one of {many} servers against one of {few}", "ratio", growth, 1.1)


def row(label: str, unit: str, found: list[float], goal: float | None = None) -> dict[str, object]:
    """Return a line of the table: the median, and the goal if there is one."""
    median = statistics.median(found)
    reached = "" if goal is None else "reached" if median <= goal else "missed"
    return {"measure": label, "unit": unit, "median": median, "goal": goal, "reached": reached}


def main() -> None:
    """Print the table, or JSON with `--json`; exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parts = {"one": one_server, "affected": affected, "cores": side_by_side}
    parser.add_argument("--only", choices=parts, default="")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name, measure in parts.items():
        if options.only in ("", name):
            print(f"measuring {name} ...", file=sys.stderr)
            with tempfile.TemporaryDirectory() as folder:
                rows += measure(Bench(Path(folder)))
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print("| measure | median | goal | |\n|---|---|---|---|")
        for each in rows:
            goal = "" if each["goal"] is None else f"{each['goal']:g} {each['unit']}"
            print(
                f"| {each['measure']} | {each['median']:.2f} {each['unit']} | {goal}"
                f" | {each['reached']} |"
            )
    sys.exit(1 if any(each["reached"] == "missed" for each in rows) else 0)


if __name__ == "__main__":
    main()
