"""Compare the instruction counts of this tree's server with another tree's (callgrind).

`make bench-instructions BASE=FOLDER` runs it; the other tree has its own `.venv`. Each server runs
with N calls and with 2N calls, and the difference is N calls without the start and the end. Timers
run by the clock, so a call over HTTP varies by 1 % with the load of the machine. The counts leave
out the kernel, and what the caches of the processor save or cost.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import measures
import proxy
from before_after import ROOT, server_of, write_own_package
from http_load import http_load
from processes import Candidate, http_server, request_line, stdio_server

HIGHEST_RATIO = 1.02
CALLS = 640
IN_FLIGHT = 64
# Without the thread that measures pauses, and with the same order of sets in each run.
STABLE = {"MCPGEN_WATCHDOG_MS": "0", "PYTHONHASHSEED": "0"}


def list_tools(candidate: Candidate, count: int) -> None:
    """Start a server over stdio and list its tools `count` times."""
    with stdio_server(candidate, 1) as server:
        for _ in range(count):
            server.ask("tools/list", {})


def call_in_turn(candidate: Candidate, count: int) -> None:
    """Call a tool over stdio, one call at a time."""
    with stdio_server(candidate, 1) as server:
        for identifier in range(count):
            measures.check(server.ask("tools/call", measures.CALL, identifier))


def call_in_flight(candidate: Candidate, count: int) -> None:
    """Call a tool over stdio, with 64 calls in flight."""
    lines = [request_line(number, "tools/call", measures.CALL) for number in range(IN_FLIGHT)]
    with stdio_server(candidate, 1) as server:
        for _ in range(count // IN_FLIGHT):
            for answer in server.exchange(lines):
                measures.check(answer)


def post(candidate: Candidate, count: int, *, is_numbered: bool = False) -> None:
    """Call a tool over HTTP on 16 connections; with `is_numbered`, each request head is unique."""
    request, check = measures.CALL, measures.check
    if candidate.environment.get("THINGS_BASE_URL"):
        request, check = proxy.CALL, proxy.check
    with (
        http_server(candidate, 1) as (_, port),
        http_load(
            port, measures.post_request(port, request), check, is_numbered=is_numbered
        ) as load,
    ):
        load.post(count)


def post_new_heads(candidate: Candidate, count: int) -> None:
    """Call a tool over HTTP like `post`, with a unique head for each request."""
    post(candidate, count, is_numbered=True)


@dataclass(frozen=True)
class Measure:
    """One line of the table; `calls` is 0 for the cost of a process with one request."""

    label: str
    run: Callable[[Candidate, int], None]
    calls: int = CALLS
    is_proxy: bool = False


MEASURES = (
    Measure("start, `tools/list` and exit", list_tools, calls=0),
    Measure("`tools/call` over stdio, one at a time", call_in_turn),
    Measure("`tools/call` over stdio, 64 in flight", call_in_flight),
    Measure("`tools/call` over HTTP", post),
    Measure("`tools/call` over HTTP, no head repeats", post_new_heads),
    Measure("`tools/call` over HTTP with a REST request", post, is_proxy=True),
)


def count_instructions(measure: Measure, candidate: Candidate, folder: Path) -> int:
    """Return the instructions of one call or of one process."""
    if not measure.calls:
        return _count_process(measure, candidate, 1, folder)
    once, twice = (
        _count_process(measure, candidate, times * measure.calls, folder) for times in (1, 2)
    )
    return (twice - once) // measure.calls


def _count_process(measure: Measure, candidate: Candidate, count: int, folder: Path) -> int:
    profile = folder / "callgrind.out"
    profile.unlink(missing_ok=True)
    valgrind = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}")
    counted = replace(
        candidate,
        command=[*valgrind, *candidate.command],
        on_port=[*valgrind, *candidate.on_port],
        environment={**candidate.environment, **STABLE},
    )
    measure.run(candidate, count)  # fills the caches of bytecode and files
    measure.run(counted, count)
    totals = re.search(r"^totals: (\d+)$", profile.read_text(), re.MULTILINE)
    if totals is None:
        raise RuntimeError(f"no totals in {profile}")
    return int(totals[1])


def main() -> None:
    """Print the table; exit with 1 if a ratio exceeds the highest allowed one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="folder of the other tree")
    parser.add_argument("--only", default="", help="measure only lines that contain this text")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("missing valgrind: install it with the package manager of the system")
    is_too_high = False
    print("| measure | base | this tree | ratio |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as temporary:
        trees = {options.base.resolve(): Path(temporary, "base"), ROOT: Path(temporary, "own")}
        for tree, folder in trees.items():
            folder.mkdir()
            write_own_package(tree, folder)
            proxy.write_proxy(folder, str(tree / ".venv" / "bin" / "python"))
        for measure in MEASURES:
            if options.only not in measure.label:
                continue
            counts = []
            for tree, folder in trees.items():
                candidate = server_of(tree, folder, is_proxy=measure.is_proxy)
                with proxy.rest_api() if measure.is_proxy else nullcontext("") as url:
                    served = replace(candidate, environment={"THINGS_BASE_URL": url})
                    counts.append(count_instructions(measure, served, folder))
            base, own = counts
            is_too_high = is_too_high or own > HIGHEST_RATIO * base
            print(f"| {measure.label} | {base:,} | {own:,} | {own / base:.3f} |", flush=True)
    sys.exit(is_too_high)


if __name__ == "__main__":
    main()
