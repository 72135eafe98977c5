"""Compare the findings of the validator about servers with their tables."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from mcpgen.factory.validate.requirements import read_requirements
from mcpgen.factory.wire.targets import Target
from tests.validate.broken.table import Broken
from tests.validate.correct.table import Correct
from tests.validate.examine import Examined, examine, serve

CONCURRENT = 12  # most of an examination is waiting


def find_problems(row: Broken, transport: str, revision: str, examined: Examined) -> list[str]:
    """Return the differences between the findings about a broken server and its table."""
    expected = find_expected(row, transport, revision)
    problems = [f"missed: {rule}" for rule in sorted(expected - examined.findings.keys())]
    if examined.shown > row.max_score:
        problems.append(f"the score is {examined.shown}, at most {row.max_score} is right")
    if "*" not in row.also:
        others = examined.findings.keys() - expected - set(row.also)
        problems += [f"false: {rule}: {examined.findings[rule]}" for rule in sorted(others)]
    if problems and examined.score is None:
        problems.append(examined.describe())
    return problems


def find_expected(row: Broken, transport: str, revision: str) -> set[str]:
    """Return the findings of a row that can occur in a revision and transport."""
    known = read_requirements()
    found = {rule: known.find(rule) for rule in row.findings}
    return {rule for rule, it in found.items() if it is None or it.covers(revision, transport)}


def find_false_findings(row: Correct, examined: Examined) -> list[str]:
    """Return the differences between the findings about a correct server and its table."""
    problems = [
        f"false: {rule}: {message}"
        for rule, message in sorted(examined.findings.items())
        if rule not in row.findings
    ]
    if examined.shown < row.min_score:
        problems.append(f"the score is {examined.shown}, at least {row.min_score} is right")
    if examined.score is None:
        problems.append(examined.describe())
    return problems


async def check_broken(row: Broken, transport: str, revision: str) -> tuple[Examined, list[str]]:
    """Examine a broken server and compare the findings with its row."""
    if not row.class_name:
        examined = await examine(Target(command=row.command), transport, revision)
    else:
        async with serve(row.module, row.load(), transport) as target:
            examined = await examine(target, transport, revision)
    return examined, find_problems(row, transport, revision, examined)


async def check_correct(row: Correct, transport: str, revision: str) -> tuple[Examined, list[str]]:
    """Examine a correct server and compare the findings with its row."""
    examined = await examine(row.make_target(), transport, revision, timeout_seconds=20)
    return examined, find_false_findings(row, examined)


async def check_all(runs: Iterable[tuple[Broken, str, str]]) -> dict[str, list[str]]:
    """Examine broken servers, several at a time; return the problems of each run with any."""
    slots = asyncio.Semaphore(CONCURRENT)
    found: dict[str, list[str]] = {}

    async def run(row: Broken, transport: str, revision: str) -> None:
        async with slots:
            _, problems = await check_broken(row, transport, revision)
        if problems:
            found[f"{row.server} {transport} {revision}"] = problems

    await asyncio.gather(*(run(*each) for each in runs))
    return found
