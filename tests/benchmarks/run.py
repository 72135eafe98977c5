"""Compare the CPU time of a generated server with its peers, as ratios of one run.

`make bench` runs it. Candidates take turns (A, B, A, B, ...) for several rounds, and the median
of the rounds' ratios is printed with their spread; a ratio whose rounds differ by more than a
fifth is marked. Times of one machine mean little; ratios of one run travel. Over HTTP every
candidate gets the same POST from the same driver (`http_load.py`), uvicorn's hello-world too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import endurance
import measures
from own_package import write_package
from processes import Candidate, pin
from proxy import proxied_calls, proxied_first_call, write_proxy

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PEERS = ROOT / ".cache" / "peers"
NODE_MODULES = ROOT / ".cache" / "node" / "node_modules"
TOLERATED_SPREAD = 0.2


@dataclass(frozen=True)
class Goal:
    """One line of the table: a measure, the candidate to compare with, and the target ratio."""

    label: str
    measure: Callable[[Candidate], dict[str, float]]
    unit: str
    peer: str
    at_most: float
    is_proxy: bool = False  # whether the server of an API is measured


def goals() -> list[Goal]:
    """Return the goals for all figures that the README states."""
    thousand = "1,000 tools"
    in_flight = "tools/call, 64 in flight"
    numbered = "HTTP tools/call, 16 connections, no head repeats"
    return [
        Goal("cold start to tools/list", measures.cold_start, "cpu_ms", "floor", 2.0),
        Goal("cold start to tools/list", measures.cold_start, "cpu_ms", "mcp 2.3.0", 1 / 20),
        Goal("cold start to tools/list", measures.cold_start, "cpu_ms", "fastmcp 4.1.6", 1 / 40),
        Goal(f"cold start with {thousand}", start_with_a_thousand, "cpu_ms", "1 tool", 1.1),
        Goal("first call, with a REST request", proxied_first_call, "cpu_ms", "bound", 1.0, True),
        Goal("memory at start", measures.cold_start, "rss_mb", "mcp 2.3.0", 1 / 3),
        Goal("tools/call, one at a time", measures.sequential, "cpu_us", "mcp 2.3.0", 1 / 12),
        Goal("tools/call, one at a time", measures.sequential, "cpu_us", "fastmcp 4.1.6", 1 / 20),
        Goal("tools/call, one at a time", measures.sequential, "cpu_us", "asyncio echo", 6.0),
        Goal(in_flight, measures.pipelined, "cpu_us", "mcp 2.3.0", 1 / 40),
        Goal(in_flight, measures.pipelined, "cpu_us", "TypeScript 2.3.1", 1 / 10),
        Goal(in_flight, measures.pipelined, "cpu_us", "fastmcp 4.1.6", 1 / 60),
        Goal(f"tools/list, {thousand}", measures.list_pages, "cpu_ms", "mcp 2.3.0", 1 / 100),
        Goal(f"tools/list, {thousand}", measures.list_pages, "cpu_ms", "fastmcp 4.1.6", 1 / 400),
        Goal("HTTP tools/call, 16 connections", measures.http_calls, "cpu_us", "uvicorn", 1.4),
        Goal(numbered, measures.http_calls_with_new_heads, "cpu_us", "uvicorn", 1.4),
        Goal("HTTP tools/call, 16 connections", measures.http_calls, "cpu_us", "mcp 2.3.0", 1 / 4),
        Goal(
            "HTTP tools/call, 16 connections",
            measures.http_calls,
            "cpu_us",
            "fastmcp 4.1.6",
            1 / 12,
        ),
        Goal(
            "HTTP in, REST out, 16 connections",
            proxied_calls,
            "cpu_us",
            "fastmcp proxy",
            1 / 12,
            True,
        ),
        Goal(f"tools/call with {thousand}", with_a_thousand, "cpu_us", "1 tool", 1.1),
        Goal(f"HTTP tools/call with {thousand}", http_with_a_thousand, "cpu_us", "1 tool", 1.1),
        Goal("growth over 100,000 calls", endurance.growth, "mb", "bound", 1.0),
        Goal("one of 10,000 legacy sessions", endurance.session_size, "kb", "bound", 1.0),
    ]


def start_with_a_thousand(candidate: Candidate) -> dict[str, float]:
    """Measure a cold start with 1,000 tools; the candidate "1 tool" starts with a single one."""
    return measures.cold_start(candidate, 1 if candidate.name == "1 tool" else 1000)


def with_a_thousand(candidate: Candidate) -> dict[str, float]:
    """Measure a call with 1,000 tools; the candidate "1 tool" has a single one."""
    return measures.sequential(candidate, 1 if candidate.name == "1 tool" else 1000)


def http_with_a_thousand(candidate: Candidate) -> dict[str, float]:
    """Measure like `with_a_thousand`, over HTTP."""
    return measures.http_calls(candidate, 1 if candidate.name == "1 tool" else 1000)


def candidates(folder: Path) -> dict[str, Candidate]:
    """Return the installed servers by name; peers that are missing are reported as such."""
    python = sys.executable
    for count in (1, 1000):
        write_package(folder, count)
    own = [python, str(HERE / "servers" / "own.py"), str(folder)]
    write_proxy(folder)
    own_proxy = [python, str(HERE / "servers" / "own_proxy.py"), str(folder)]
    found = {
        "own proxy": Candidate("own proxy", own_proxy, own_proxy),
        "own": Candidate("own", own, own),
        "1 tool": Candidate("1 tool", own, own),
        "bound": Candidate("bound", ()),
        "uvicorn": Candidate("uvicorn", (), [python, str(HERE / "servers" / "floor_uvicorn.py")]),
        "asyncio echo": Candidate(
            "asyncio echo", [python, str(HERE / "servers" / "floor_asyncio.py")]
        ),
        "floor": Candidate("floor", [python, str(HERE / "servers" / "floor_blocking.py")]),
    }
    if NODE_MODULES.exists():
        script = str(HERE / "servers" / "typescript.mjs")
        found["TypeScript 2.3.1"] = Candidate("TypeScript", ["node", script, str(NODE_MODULES)])
    else:
        print("left out: the TypeScript SDK is not installed (make peers)", file=sys.stderr)
    for name, script in (("mcp-2.3.0", "mcp_lowlevel.py"), ("fastmcp-4.1.6", "fastmcp_server.py")):
        interpreter = PEERS / name / "bin" / "python"
        command = [str(interpreter), str(HERE / "servers" / script)]
        if interpreter.exists():
            found[name.replace("-", " ", 1)] = Candidate(name, command, command)
            if name.startswith("fastmcp"):
                proxy = [str(interpreter), str(HERE / "servers" / "fastmcp_proxy.py")]
                found["fastmcp proxy"] = Candidate("fastmcp proxy", proxy, proxy)
        else:
            print(f"left out: {name} is not installed (make peers)", file=sys.stderr)
    return found


def compare(goal: Goal, own: Candidate, peer: Candidate, rounds: int) -> dict[str, object]:
    """Measure both in turns; return the ratio of each round, their median and spread."""
    pairs = []
    for candidate in (own, peer):
        goal.measure(candidate)  # not counted: it fills the caches of bytecode and files
    for number in range(rounds):
        order = (own, peer) if number % 2 == 0 else (peer, own)
        values = {candidate.name: goal.measure(candidate)[goal.unit] for candidate in order}
        pairs.append((values[own.name], values[peer.name]))
    ratios = [mine / theirs for mine, theirs in pairs]
    ratio = statistics.median(ratios)
    return {
        "measure": goal.label,
        "peer": goal.peer,
        "unit": goal.unit,
        "own": statistics.median(mine for mine, _ in pairs),
        "theirs": statistics.median(theirs for _, theirs in pairs),
        "ratio": ratio,
        "spread": (max(ratios) - min(ratios)) / ratio,
        "at_most": goal.at_most,
        "reached": ratio <= goal.at_most,
    }


def as_fraction(ratio: float) -> str:
    """Format a ratio for readers: 1/27 or 1.3x."""
    return f"1/{1 / ratio:.0f}" if ratio < 0.75 else f"{ratio:.2f}x"


def main() -> None:
    """Print the table, or JSON with `--json`; exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="measure only lines that contain this text")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    pin(0, 1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        found = candidates(Path(folder))
        for goal in goals():
            if goal.peer in found and options.only in f"{goal.label} {goal.peer}":
                print(f"measuring {goal.label} against {goal.peer} ...", file=sys.stderr)
                own = found["own proxy" if goal.is_proxy else "own"]
                row = compare(goal, own, found[goal.peer], options.rounds)
                rows.append(row)
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print("| measure | against | own | theirs | ratio | goal | |")
        print("|---|---|---|---|---|---|---|")
        for row in rows:
            verdict = "reached" if row["reached"] else "missed"
            if row["spread"] > TOLERATED_SPREAD:  # type: ignore[operator]
                verdict += f", rounds differ by {row['spread']:.0%}"
            print(
                f"| {row['measure']} | {row['peer']} | {row['own']:.1f} {row['unit']} "
                f"| {row['theirs']:.1f} | {as_fraction(row['ratio'])} "  # type: ignore[arg-type]
                f"| {as_fraction(row['at_most'])} | {verdict} |"  # type: ignore[arg-type]
            )
    sys.exit(0 if all(row["reached"] for row in rows) else 1)


if __name__ == "__main__":
    main()
