"""Measure the figures of docs/explanation/capacity.md.

`make bench-capacity` runs it: a workspace of 100 and of 1,000 servers, and 1,000 requests a second
over one replica and over two replicas that share Redis. Memory is that of the largest process.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from endurance import INITIALIZE, INITIALIZED, post, read_head
from generation import Cost
from http_load import CONNECTIONS, http_load
from measures import post_request
from processes import Candidate, cpu_seconds, http_server, resident_megabytes
from proxy import CALL, check, rest_api, write_proxy
from workspace import Bench, change

from tests.support.redis_server import RedisServer

HERE = Path(__file__).parent
SERVERS = (100, 1_000)
CHANGED = 50
OPERATIONS = 20
RATE = 1_000
SECONDS = 20
TICK_SECONDS = 0.05


def measure_fleet() -> Iterator[tuple[str, int, Cost]]:
    """Yield the cost of each command for a number of servers with 20 operations each."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        server = bench.server(OPERATIONS)
        shutil.rmtree(server / ".venv", ignore_errors=True)
        for count in SERVERS:
            root = bench.workspace(server, count)
            yield (
                "ws generate --affected, no stamps",
                count,
                bench.run("ws", "generate", "--affected", here=root),
            )
            for command in ("status", "check --affected", "generate --affected"):
                yield (
                    f"ws {command}, nothing changed",
                    count,
                    bench.run("ws", *command.split(), here=root),
                )
            for number, member in enumerate(sorted((root / "servers").iterdir())[:CHANGED]):
                change(member, f"Replace it, {number}")
            yield (
                f"ws generate --affected, {CHANGED} changed",
                count,
                bench.run("ws", "generate", "--affected", here=root),
            )
            yield "bytes on disk", count, Cost(0, 0, _count_megabytes(root))
            shutil.rmtree(root)


def _count_megabytes(root: Path) -> float:
    return sum(it.stat().st_size for it in root.rglob("*") if it.is_file()) / 1e6


@dataclass(frozen=True)
class Point:
    """Cost of replicas for requests at a steady rate."""

    label: str
    requests: int
    rate: float
    cpu_us: float  # of a request, all replicas together
    megabytes: float  # of the largest replica
    p50_ms: float
    p99_ms: float
    store_commands: float  # of a request
    store_bytes: float  # of a request, in and out
    store_cpu_us: float


def measure_requests(folder: Path) -> Iterator[Point]:
    """Yield the points: without a store, with an unused one, and with sessions."""
    write_proxy(folder)
    script = str(HERE / "servers" / "own_proxy.py")
    command = (sys.executable, script, str(folder))
    redis = RedisServer(folder)
    redis.start()
    try:
        with rest_api() as url:
            plain = Candidate("own", (), command, {"THINGS_BASE_URL": url})
            shared = replace(
                plain,
                environment={
                    **plain.environment,
                    "THINGS_STATE_URL": redis.url,
                    "THINGS_STATE_KEYS": "a key of more than thirty-two characters",
                },
            )
            yield _run("one replica, no store", [plain], redis, has_sessions=False)
            yield _run("two replicas and Redis", [shared] * 2, redis, has_sessions=False)
            yield _run(
                "two replicas and Redis, sessions of 2025-11-25",
                [shared] * 2,
                redis,
                has_sessions=True,
            )
    finally:
        redis.stop()


def _run(
    label: str, candidates: list[Candidate], redis: RedisServer, *, has_sessions: bool
) -> Point:
    rate = RATE / len(candidates)
    with ExitStack() as stack:
        replicas = [stack.enter_context(http_server(it, 1)) for it in candidates]
        loads = []
        for _, port in replicas:
            request = _make_session_request(port) if has_sessions else post_request(port, CALL)
            # Calls of one session have one id here, so that they may not overlap.
            connections = 1 if has_sessions else CONNECTIONS
            load = http_load(port, request, check, connections=connections)
            loads.append(stack.enter_context(load))
            loads[-1].post(500)
        latencies: list[list[float]] = [[] for _ in loads]
        before = [cpu_seconds(pid) for pid, _ in replicas]
        store_before, began = _read_store(redis), time.monotonic()
        drivers = [
            threading.Thread(target=_post_steadily, args=(load.post, rate, found))
            for load, found in zip(loads, latencies, strict=True)
        ]
        for driver in drivers:
            driver.start()
        for driver in drivers:
            driver.join()
        seconds = time.monotonic() - began
        store = [now - then for now, then in zip(_read_store(redis), store_before, strict=True)]
        used = sum(cpu_seconds(pid) for pid, _ in replicas) - sum(before)
        memory = max(resident_megabytes(pid) for pid, _ in replicas)
    taken = [value for found in latencies for value in found]
    cuts = statistics.quantiles(taken, n=100)
    count = len(taken)
    return Point(
        label,
        count,
        count / seconds,
        used / count * 1e6,
        memory,
        cuts[49] * 1000,
        cuts[98] * 1000,
        store[0] / count,
        store[1] / count,
        store[2] / count * 1e6,
    )


def _post_steadily(
    post_many: Callable[[int, list[float]], None], rate: float, found: list[float]
) -> None:
    """Post a number of requests per second in bursts; after a late burst, send the next at once."""
    began = time.monotonic()
    for tick in range(int(SECONDS / TICK_SECONDS)):
        time.sleep(max(0.0, began + tick * TICK_SECONDS - time.monotonic()))
        post_many(int(rate * TICK_SECONDS), found)


def _make_session_request(port: int) -> bytes:
    """Open a session of 2025-11-25, and return a call in it."""
    session_id = asyncio.run(_open_session(port))
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}
    return post(port, message, f"Mcp-Session-Id: {session_id}\r\n")


async def _open_session(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(post(port, INITIALIZE))
    _, session_id = await read_head(reader)
    writer.write(post(port, INITIALIZED, f"Mcp-Session-Id: {session_id}\r\n"))
    await read_head(reader)
    writer.close()
    await writer.wait_closed()
    return session_id


def _read_store(redis: RedisServer) -> tuple[float, float, float]:
    """Return the commands, the bytes in and out, and the CPU seconds of the store so far."""
    assert redis.process is not None
    words = dict(
        line.split(":", 1)
        for line in redis.run("INFO", "stats").decode().splitlines()
        if ":" in line
    )
    size = int(words["total_net_input_bytes"]) + int(words["total_net_output_bytes"])
    return int(words["total_commands_processed"]), size, cpu_seconds(redis.process.pid)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("fleet", "requests"), default="")
    options = parser.parse_args()
    if options.only in ("", "requests"):
        print("| requests | rate | CPU of a request | memory | p50 | p99 | store, each request |")
        print("|---|---|---|---|---|---|---|", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            for it in measure_requests(Path(folder)):
                print(
                    f"| {it.requests:,}, {it.label} | {it.rate:,.0f} a second | {it.cpu_us:.0f} µs"
                    f" | {it.megabytes:.0f} MB | {it.p50_ms:.1f} ms | {it.p99_ms:.1f} ms"
                    f" | {it.store_commands:.2f} commands, {it.store_bytes:.0f} bytes,"
                    f" {it.store_cpu_us:.0f} µs |",
                    flush=True,
                )
    if options.only in ("", "fleet"):
        print("| command | servers | CPU | CPU of a server | time | memory |")
        print("|---|---|---|---|---|---|", flush=True)
        for label, count, used in measure_fleet():
            print(
                f"| {label} | {count:,} | {used.cpu_seconds:.2f} s"
                f" | {used.cpu_seconds / count * 1000:.2f} ms | {used.seconds:.2f} s"
                f" | {used.megabytes:.0f} MB |",
                flush=True,
            )


if __name__ == "__main__":
    main()
