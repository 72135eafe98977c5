"""Measure the overhead of `run_code` in wall time and CPU time, compared with a direct call.

    .venv/bin/python tests/benchmarks/code_overhead.py --github api.github.com.json

Each round calls a tool directly, and then by `run_code` with code that returns the same result. The
overhead is the difference of the two. Each round takes another tool that reads, as far as the mock
of the API answers it, so that most runs need stubs that no check of types has seen. A third part of
each round is the way of mcpgen 0.6.0: a sandbox that checks the types of the same code by itself,
and stops at the call. Under load, its ratio to the overhead says more than times.

CPU time is that of the server with the mock, and of the processes that check types and run code.
First runs take place in servers of their own: at once, and after `describe_tool`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from code_mode import make_servers, open_agent

from mcpgen.contract.code_mode import name_function, name_parameter
from mcpgen.runtime.code.stubs import StubFile
from mcpgen.testing.client.client import Client

SERVERS = ("github", "n8n")
ROUNDS = 200
STARTS = 10
HIGHEST_MS = 25.0
PREPARING_SECONDS = 0.5  # between `describe_tool` and the run, in which a model would write code
SAMPLES: dict[str, Any] = {"string": "a", "integer": 1, "number": 1, "boolean": True}


class Took(NamedTuple):
    """Milliseconds of one part of a round."""

    wall: float
    cpu: float


class Round(NamedTuple):
    """One round; `alone` is the sandbox that checks types in its own process."""

    direct: Took
    code: Took
    alone: Took


def count_children_ms() -> float:
    """Return the CPU time of the child processes of this process."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = 1000 * (ended.ru_utime + ended.ru_stime)
    for thread in Path("/proc/self/task").iterdir():
        for child in (thread / "children").read_text().split():
            for task in Path(f"/proc/{child}/task").glob("*/schedstat"):
                total += int(task.read_text().split()[0]) / 1e6
    return total


async def take(work: Callable[[], Awaitable[Any]]) -> tuple[Took, Any]:
    """Return the duration of a function call, and its result."""
    of_children = count_children_ms()
    cpu, begun = time.process_time(), time.perf_counter()
    result = await work()
    wall = 1000 * (time.perf_counter() - begun)
    own = 1000 * (time.process_time() - cpu)
    return Took(wall, own + count_children_ms() - of_children), result


def find_calls(server: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the read-only tools, with arguments generated from their schemas."""
    for tool in json.loads(next(server.glob("src/*/_generated/listing.json")).read_text()):
        schema = tool["inputSchema"]
        needed = {name: schema["properties"][name] for name in schema.get("required", [])}
        if tool["annotations"]["readOnlyHint"] and all(
            it.get("type") in SAMPLES for it in needed.values()
        ):
            yield (
                tool["name"],
                {name: it.get("enum", [SAMPLES[it["type"]]])[0] for name, it in needed.items()},
            )


def write_code(name: str, arguments: dict[str, Any]) -> str:
    given = ", ".join(f"{name_parameter(key)}={value!r}" for key, value in arguments.items())
    return f"{name_function(name)}({given})"


async def check_alone(code: str, stubs: str) -> None:
    """Start a sandbox that checks the types of code, and run the code until its first call."""
    import pydantic_monty

    async with (
        pydantic_monty.AsyncMonty(min_processes=0, max_processes=1) as pool,
        pool.checkout(type_check=True, type_check_stubs=stubs) as session,
    ):
        snapshot = await session.feed_start(code)
        assert isinstance(snapshot, pydantic_monty.AsyncFunctionSnapshot)


def read_stubs(server: Path, names: list[str]) -> StubFile:
    text = next(server.glob("src/*/_generated/functions.pyi")).read_text()
    return StubFile(text, {name_function(name): name for name in names})


async def measure_server(server: Path) -> tuple[list[Round], int]:
    """Return the rounds, and the number of different tools in them."""
    client = (await open_agent(server, len))._client
    calls = list(find_calls(server))
    stubs = read_stubs(server, [name for name, _ in calls])
    await client.call_tool("run_code", {"code": "0"})
    rounds: list[Round] = []
    names: set[str] = set()
    for name, arguments in calls * ROUNDS:
        code = write_code(name, arguments)
        if (await client.call_tool(name, arguments)).get("isError"):
            continue  # the mock refuses the sample
        direct, _ = await take(lambda it=(name, arguments): client.call_tool(*it))
        coded, result = await take(lambda it=code: client.call_tool("run_code", {"code": it}))
        if not result.get("isError"):  # no image, which code cannot use
            alone, _ = await take(lambda it=code: check_alone(it, stubs.select(it)))
            rounds.append(Round(direct, coded, alone))
            names.add(name)
        if len(rounds) == ROUNDS:
            break
    await client.__aexit__(None, None, None)
    return rounds, len(names)


async def measure_first(server: Path, *, is_prepared: bool) -> Took:
    """Return the duration of the first run of a server, without the tool call in it."""
    client: Client = (await open_agent(server, len))._client
    name, arguments = next(find_calls(server))
    await client.call_tool(name, arguments)
    direct, _ = await take(lambda: client.call_tool(name, arguments))
    if is_prepared:
        await client.call_tool("describe_tool", {"name": name})
        await asyncio.sleep(PREPARING_SECONDS)
    code = write_code(name, arguments)
    coded, result = await take(lambda: client.call_tool("run_code", {"code": code}))
    assert not result.get("isError"), result
    await client.__aexit__(None, None, None)
    return Took(coded.wall - direct.wall, coded.cpu - direct.cpu)


def measure_starts(server: Path, *, is_prepared: bool) -> list[Took]:
    how = "--first-after-describe" if is_prepared else "--first"
    command = [sys.executable, __file__, how, str(server)]
    return [Took(*json.loads(subprocess.check_output(command))) for _ in range(STARTS)]


def spell(values: list[float]) -> str:
    """Format the median and the 95th percentile."""
    return f"{statistics.median(values):.1f} / {statistics.quantiles(values, n=20)[-1]:.1f}"


def report(server: str, rounds: list[Round], tools: int, first: list[list[Took]]) -> bool:
    """Print the rows of a server; return whether its overhead is below the limit."""
    wall = [it.code.wall - it.direct.wall for it in rounds]
    cpu = [it.code.cpu - it.direct.cpu for it in rounds]
    rows = {
        f"direct call ({len(rounds)} rounds, {tools} tools)": ([it.direct.wall for it in rounds],
                                                               [it.direct.cpu for it in rounds]),
        "`run_code` with this call": ([it.code.wall for it in rounds],
                                      [it.code.cpu for it in rounds]),
        "overhead": (wall, cpu),
        "check and sandbox of 0.6.0": ([it.alone.wall for it in rounds],
                                       [it.alone.cpu for it in rounds]),
        f"overhead of the first run ({STARTS} starts)": ([it.wall for it in first[0]],
                                                         [it.cpu for it in first[0]]),
        "the same, after `describe_tool`": ([it.wall for it in first[1]],
                                            [it.cpu for it in first[1]]),
    }  # fmt: skip
    for name, (walls, cpus) in rows.items():
        print(f"| {server} | {name} | {spell(walls)} | {spell(cpus)} |")
    ratio = statistics.median(cpu) / statistics.median(it.alone.cpu for it in rounds)
    print(f"| {server} | overhead, as a share of 0.6.0's | | {ratio:.0%} |", flush=True)
    return statistics.median(cpu) < HIGHEST_MS and statistics.median(wall) < HIGHEST_MS


def measure(github: Path, folder: Path) -> int:
    print("| server | what | elapsed ms, median / p95 | CPU ms, median / p95 |")
    print("|---|---|---:|---:|")
    is_good = True
    for name in SERVERS:
        server = make_servers(name, folder, github)[1]
        rounds, tools = asyncio.run(measure_server(server))
        first = [measure_starts(server, is_prepared=it) for it in (False, True)]
        is_good &= report(name, rounds, tools, first)
    return 0 if is_good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--github", type=Path, help="GitHub's OpenAPI document")
    parser.add_argument("--folder", type=Path, help="where the servers are kept for another run")
    parser.add_argument("--first", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--first-after-describe", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if server := options.first or options.first_after_describe:
        is_prepared = options.first is None
        print(json.dumps(asyncio.run(measure_first(server, is_prepared=is_prepared))))
        return 0
    if options.github is None:
        parser.error("--github is required")
    with tempfile.TemporaryDirectory() as folder:
        return measure(options.github, options.folder or Path(folder))


if __name__ == "__main__":
    sys.exit(main())
