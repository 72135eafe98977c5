"""Run the self-test of `mcpgen audit` on all broken servers and all SDK servers.

`make audit-selftest`; arguments select servers by a part of their names.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Mapping

from mcpgen.factory.robustness.run import Robustness
from mcpgen.factory.wire.targets import Target
from tests.audit.check import CONCURRENT, find_problems, list_shown, run
from tests.audit.sdks import OVER_HTTP, TRUE_FINDINGS
from tests.audit.table import BROKEN, Faulty
from tests.validate.correct.table import PYTHON_SDKS, TYPESCRIPT_SDKS, Correct
from tests.validate.examine import serve

FIRST_PORT = 18930
START_SECONDS = 60.0


async def check_faulty(row: Faulty) -> list[str]:
    """Run the experiments against a server with a known fault."""
    async with serve(row.load().__module__, row.load(), row.transport) as target:
        return find_problems(row, await run(target, row.transport))


async def check_sdk(row: Correct, port: int) -> list[str]:
    """Run the experiments against an SDK server, over HTTP if a port is given."""
    expected: Mapping[tuple[str, str], str]
    if port:
        expected = OVER_HTTP[row.name]
        async with listen(row, port) as target:
            result = await run(target, "http")
    else:
        expected = TRUE_FINDINGS[row.name]
        result = await run(row.make_target(), "stdio")
    return compare(result, expected)


def compare(result: Robustness, expected: Mapping[tuple[str, str], str]) -> list[str]:
    """Return the differences between the findings and the expected ones."""
    found = {(it.fault.id, it.experiment) for it in result.findings}
    problems = [f"false: {each}" for each in sorted(found - expected.keys())]
    problems += [f"missed: {each}" for each in sorted(expected.keys() - found)]
    return [*problems, *list_shown(result), result.trouble] if problems else []


@contextlib.asynccontextmanager
async def listen(row: Correct, port: int) -> AsyncIterator[Target]:
    """Start a server over HTTP and wait until it accepts connections."""
    nowhere = asyncio.subprocess.DEVNULL
    command = (*row.command, "--port", str(port))
    process = await asyncio.create_subprocess_exec(*command, stdout=nowhere, stderr=nowhere)
    try:
        async with asyncio.timeout(START_SECONDS):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.2)
                    continue
                writer.close()
                break
        yield Target(url=f"http://127.0.0.1:{port}/mcp")
    finally:
        process.kill()
        await process.wait()


async def report(name: str, check: Awaitable[list[str]], slots: asyncio.Semaphore) -> bool:
    """Print the result of one run; return whether it differs from the tables."""
    async with slots:
        began = time.monotonic()
        problems = await check
    verdict = "PROBLEM" if problems else "ok"
    print(f"{verdict:8} {name:50} {time.monotonic() - began:6.1f} s", flush=True)
    for problem in problems:
        print(f"         {problem}")
    return bool(problems)


async def main(words: list[str]) -> int:
    """Run the selected servers; return how many of them differ from the tables."""
    many, few = asyncio.Semaphore(CONCURRENT), asyncio.Semaphore(1)
    runs = [(row.server, check_faulty(row), many) for row in BROKEN]
    sdks = [row for row in (*PYTHON_SDKS, *TYPESCRIPT_SDKS) if row.is_installed]
    runs += [(row.name, check_sdk(row, 0), few) for row in sdks]
    runs += [
        (f"{row.name} http", check_sdk(row, FIRST_PORT + number), few)
        for number, row in enumerate(row for row in sdks if row.name in OVER_HTTP)
    ]
    bad, waiting = 0, []
    for name, check, slots in runs:
        if words and not any(word in name for word in words):
            check.close()
        else:
            waiting.append(report(name, check, slots))
    bad = sum(await asyncio.gather(*waiting))
    print(f"{len(waiting)} runs, {bad} not as the tables say")
    return bad


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(main(sys.argv[1:])) else 0)
