"""Run the self-test of `mcpgen validate` on all servers, and print a table.

`make validate-selftest`; arguments select runs by a part of their names.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable

from tests.validate.broken.table import BROKEN, MISSED
from tests.validate.check import CONCURRENT, check_broken, check_correct
from tests.validate.correct.table import EXAMPLE, MINIMAL, PYTHON_SDKS, TYPESCRIPT_SDKS
from tests.validate.examine import Examined

Check = Awaitable[tuple[Examined, list[str]]]


async def report(name: str, check: Check, slots: asyncio.Semaphore, *, is_missed: bool) -> bool:
    """Print the result of one run; return whether it differs from the table."""
    async with slots:
        began = time.monotonic()
        examined, problems = await check
    seconds = time.monotonic() - began
    verdict = "ok" if not problems else "missed" if is_missed else "PROBLEM"
    print(f"{verdict:8} {name:68} {examined.shown:3} {seconds:6.1f} s", flush=True)
    for problem in problems:
        print(f"         {problem}")
    return bool(problems) != is_missed


async def main(words: list[str]) -> int:
    """Check the selected servers; return the number of runs that differ from the table."""
    slots = asyncio.Semaphore(CONCURRENT)
    few = asyncio.Semaphore(2)  # an SDK takes a second to start
    runs = []
    for row in BROKEN:
        for transport, revision in row.runs:
            name = f"{row.server} {transport} {revision}"
            if not words or any(word in name for word in words):
                check = check_broken(row, transport, revision)
                is_missed = (row.server, revision) in MISSED
                runs.append(report(name, check, slots, is_missed=is_missed))
    for server in (MINIMAL, EXAMPLE, *PYTHON_SDKS, *TYPESCRIPT_SDKS):
        for revision in server.revisions:
            name = f"correct {server.name} {revision}"
            if server.is_installed and (not words or any(word in name for word in words)):
                check = check_correct(server, "stdio", revision)
                runs.append(report(name, check, few, is_missed=False))
    bad = sum(await asyncio.gather(*runs))
    print(f"{len(runs)} runs, {bad} not as the tables say")
    return bad


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(main(sys.argv[1:])) else 0)
