"""Run the whole self-test of the validator and print a table: every run of every broken server.

`make validate-selftest`; arguments select servers by a part of their names.
"""

from __future__ import annotations

import asyncio
import sys
import time

from tests.validate.broken.table import BROKEN, Broken
from tests.validate.examine import Examined, examine, requirements_of, serve

CONCURRENT = 12


def find_problems(row: Broken, examined: Examined) -> list[str]:
    """Return what the validator should have reported otherwise about a broken server."""
    expected = set(row.findings) or requirements_of(row.rows, examined.validation)
    problems = []
    if not expected & examined.findings.keys():
        problems.append(f"missed: none of {', '.join(sorted(expected)) or 'the rows'} was found")
    if examined.shown > row.max_score:
        problems.append(f"the score is {examined.shown}, at most {row.max_score} is right")
    others = examined.findings.keys() - expected - set(row.also)
    if "*" not in row.also:
        problems += [f"false: {rule}: {examined.findings[rule]}" for rule in sorted(others)]
    return problems


async def check(row: Broken, transport: str, revision: str) -> tuple[Examined, list[str]]:
    """Examine a broken server and compare the findings with its row."""
    async with serve(row.module, row.load(), transport) as target:
        examined = await examine(target, transport, revision)
    return examined, find_problems(row, examined)


async def main(words: list[str]) -> int:
    """Check the selected servers; return the number of runs with a problem."""
    slots = asyncio.Semaphore(CONCURRENT)

    async def run(row: Broken, transport: str, revision: str) -> bool:
        async with slots:
            began = time.monotonic()
            examined, problems = await check(row, transport, revision)
        seconds = time.monotonic() - began
        verdict = "PROBLEM" if problems else "ok"
        run = f"{row.server:46} {transport:5} {revision}"
        print(f"{verdict:8} {run} {examined.shown:3} {seconds:5.1f} s")
        for problem in problems:
            print(f"         {problem}")
        if problems and examined.score is None:
            print(f"         {examined.describe()}")
        return bool(problems)

    first_only = "--first" in words
    names = [word for word in words if not word.startswith("--")]
    runs = [
        (row, transport, revision)
        for row in BROKEN
        for transport, revision in (row.runs[:1] if first_only else row.runs)
        if not names or any(name in f"{row.server} {transport} {revision}" for name in names)
    ]
    bad = sum(await asyncio.gather(*(run(*each) for each in runs)))
    print(
        f"{len(runs)} runs of {len({row.server for row in BROKEN})} broken servers, {bad} problems"
    )
    return bad


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(main(sys.argv[1:])) else 0)
