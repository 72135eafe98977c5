"""Measure the cost of stored results: tokens of the tool and notes, CPU time of calls and reads.

`make bench-results` prints the tables of docs/how-to/large-results.md. Everything runs in this
process; calls with and without handles take turns.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from mcpgen.contract.limits import BYTES_PER_TOKEN
from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.testing.client.client import Client
from tests.support.stored_results import PREFIX, Shop, find_handle, serve_shop

DEFAULTS: Final = {f"{PREFIX}MAX_RESULT_TOKENS": "25000"}
SIZES: Final = {"0.2 MB": 2_000, "1 MB": 10_000, "8 MB": 80_000}  # orders of about 100 bytes
ROUNDS: Final = 7
SMALL_CALLS: Final = 2_000
_ORDER_TEXT: Final = "an order of " + "x" * 70


def make_orders(count: int) -> dict[str, Any]:
    items = [{"id": number, "text": f"{_ORDER_TEXT} {number}"} for number in range(count)]
    return {"items": items, "total": count}


async def measure(call: Callable[[], Awaitable[Any]]) -> tuple[Any, float]:
    """Return the last result, and the median CPU time in milliseconds."""
    times, result = [], None
    for _ in range(ROUNDS):
        begun = time.process_time()
        result = await call()
        times.append((time.process_time() - begun) * 1000)
    return result, statistics.median(times)


def count_tokens(result: Any) -> int:
    return len(json.dumps(result, ensure_ascii=False).encode()) // BYTES_PER_TOKEN


def open_pair(**answers: Any) -> tuple[Shop, Shop]:
    """Start a server with handles and one without."""
    stored, plain = Shop.open(DEFAULTS, **answers), Shop.open(DEFAULTS, **answers)
    registry: Any = plain.dispatcher.tools
    registry.results = None
    return stored, plain


async def print_large_results() -> None:
    print("| result | without a handle | with | tokens more | by pointer | by query | by offset |")
    print("|---|---|---|---|---|---|---|")
    for label, count in SIZES.items():
        stored, plain = open_pair(orders=make_orders(count))
        async with stored.client() as client, plain.client() as other:
            before, cut = await measure(lambda: other.call_tool("create_report"))
            after, kept = await measure(lambda: client.call_tool("create_report"))
            handle = find_handle(after)
            ways = [
                {"pointer": f"/items/{count // 2}"},
                {"query": f"items[?id > `{count - 4}`].text"},
                {"offset": 50_000},
            ]
            read = [await measure_reading(client, handle, way) for way in ways]
        more = count_tokens(after) - count_tokens(before)
        cells = [f"{cut:.0f} ms", f"{kept:.0f} ms", f"{more}", *(f"{it:.0f} ms" for it in read)]
        print(f"| {label} | {' | '.join(cells)} |")


async def measure_reading(client: Client, handle: str, way: dict[str, Any]) -> float:
    arguments = {"handle": handle, **way}
    result, milliseconds = await measure(lambda: client.call_tool("read_result", arguments))
    assert not result.get("isError"), result
    return milliseconds


async def print_small_results() -> None:
    """Print the CPU time of calls whose results fit the limit, with handles and without."""
    stored, plain = open_pair(orders=make_orders(5))
    times: dict[str, list[float]] = {"with": [], "without": []}
    async with stored.client() as client, plain.client() as other:
        for _ in range(ROUNDS):
            for label, each in (("with", client), ("without", other)):
                begun = time.process_time()
                for _ in range(SMALL_CALLS):
                    await each.call_tool("create_report")
                times[label].append((time.process_time() - begun) * 1e6 / SMALL_CALLS)
    with_handles, without = (statistics.median(times[label]) for label in ("with", "without"))
    ratios = [a / b for a, b in zip(times["with"], times["without"], strict=True)]
    print(f"A call with a small result: {without:.1f} µs without handles, {with_handles:.1f} with;")
    print(f"the median of the rounds' ratios is {statistics.median(ratios):.3f}.")


def print_definition() -> None:
    tools = serve_shop().package.definition.tools
    assert tools is not None
    print(f"The definition of `read_result`: {estimate_tokens(tools.items['read_result'])} tokens.")


async def main() -> None:
    print_definition()
    print()
    await print_large_results()
    print()
    await print_small_results()


if __name__ == "__main__":
    asyncio.run(main())
