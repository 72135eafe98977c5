"""Measure a million calls over stdio and HTTP, 64 in flight: memory, CPU and latencies.

`make bench-million` runs it. Memory is read after each tenth of the calls. It must not grow by more
than `GROWTH_MB` from the first tenth, which fills caches, to the last. Over HTTP, the head of no
request repeats. A latency is the time from a request to its answer, with the wait for the calls
before it, and with what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import measures
from http_load import http_load
from own_package import write_package
from processes import (
    Candidate,
    cpu_seconds,
    http_server,
    pin,
    request_line,
    resident_megabytes,
    stdio_server,
)

CALLS = 1_000_000
IN_FLIGHT = 64
PARTS = 10
GROWTH_MB = 1.0
_SERVER = Path(__file__).parent / "servers" / "own.py"


@dataclass(frozen=True)
class Outcome:
    """Result of a run; `megabytes` has one value after each part."""

    transport: str
    calls: int
    cpu_us: float
    megabytes: tuple[float, ...]
    p50_ms: float
    p99_ms: float
    p999_ms: float

    @property
    def growth(self) -> float:
        """Return the growth in megabytes since the first part."""
        return self.megabytes[-1] - self.megabytes[0]


def call_over_stdio(candidate: Candidate, calls: int) -> Outcome:
    """Keep 64 calls in flight over stdio; each response triggers the next call."""
    template = request_line(0, "tools/call", measures.CALL)
    before_id, after_id = template.split(b'"id": 0', 1)
    latencies = array("d")
    with stdio_server(candidate, 1) as server:
        stdin, stdout = server.process.stdin, server.process.stdout
        assert stdin is not None
        assert stdout is not None

        def send(number: int) -> None:
            stdin.write(b'%b"id": %d%b' % (before_id, number, after_id))

        def run(count: int) -> None:
            sent_at = [time.perf_counter()] * count
            for number in range(min(IN_FLIGHT, count)):
                send(number)
            stdin.flush()
            sent = min(IN_FLIGHT, count)
            for _ in range(count):
                answer = json.loads(stdout.readline())
                measures.check(answer)
                latencies.append(time.perf_counter() - sent_at[answer["id"]])
                if sent < count:
                    sent_at[sent] = time.perf_counter()
                    send(sent)
                    stdin.flush()
                    sent += 1

        return _measure("stdio", server.pid, calls, run, latencies)


def call_over_http(candidate: Candidate, calls: int) -> Outcome:
    """Keep one call in flight on each of 64 connections."""
    latencies = array("d")
    with http_server(candidate, 1) as (pid, port):
        request = measures.post_request(port, measures.CALL)
        with http_load(
            port, request, measures.check, connections=IN_FLIGHT, is_numbered=True
        ) as load:
            return _measure("HTTP", pid, calls, lambda it: load.post(it, latencies), latencies)


def _measure(
    transport: str, pid: int, calls: int, run: Callable[[int], None], latencies: array[float]
) -> Outcome:
    megabytes = []
    began = cpu_seconds(pid)
    for part in range(PARTS):
        run(calls // PARTS)
        megabytes.append(resident_megabytes(pid))
        print(f"{transport}: part {part + 1}, {megabytes[-1]:.1f} MB", file=sys.stderr)
    cpu_us = (cpu_seconds(pid) - began) / len(latencies) * 1e6
    cuts = statistics.quantiles(latencies, n=1000)
    p50, p99, p999 = (cuts[place - 1] * 1000 for place in (500, 990, 999))
    return Outcome(transport, len(latencies), cpu_us, tuple(megabytes), p50, p99, p999)


def main() -> None:
    """Print the table; exit with 1 if memory grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=CALLS)
    options = parser.parse_args()
    pin(0, 1)
    with tempfile.TemporaryDirectory() as folder:
        write_package(Path(folder), 1)
        command = [sys.executable, str(_SERVER), folder]
        candidate = Candidate("own", command, command)
        runs = (call_over_stdio, call_over_http)
        outcomes = [run(candidate, options.calls) for run in runs]
    print("| calls | CPU of a call | memory, first tenth to last | p50 | p99 | p99.9 |")
    print("|---|---|---|---|---|---|")
    for it in outcomes:
        print(
            f"| {it.calls:,} over {it.transport} | {it.cpu_us:.1f} µs"
            f" | {it.megabytes[0]:.1f} MB to {it.megabytes[-1]:.1f} MB ({it.growth:+.1f})"
            f" | {it.p50_ms:.1f} ms | {it.p99_ms:.1f} ms | {it.p999_ms:.1f} ms |"
        )
    sys.exit(any(it.growth > GROWTH_MB for it in outcomes))


if __name__ == "__main__":
    main()
