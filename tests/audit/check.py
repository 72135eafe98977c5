"""Audit runs of the test servers, compared with the tables of expected findings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from msgspec.structs import replace

from mcpgen.factory.robustness.intensity import INTENSITIES
from mcpgen.factory.robustness.run import Robustness, run_experiments
from mcpgen.factory.validate.probe import ProbeOptions
from mcpgen.factory.wire.targets import Target
from tests.audit.table import Faulty
from tests.validate.examine import serve

_MAX_SECONDS = 300.0
CONCURRENT = 16  # most of a run is waiting


async def run(
    target: Target, transport: str, *, intensity: str = "normal", allow_writes: bool = False
) -> Robustness:
    """Run all experiments, with longer timeouts than a user on an idle machine needs."""
    return await run_experiments(
        {transport: target},
        intensity=replace(INTENSITIES[intensity], max_seconds=_MAX_SECONDS),
        options=ProbeOptions(allow_writes=allow_writes),
    )


def list_shown(result: Robustness) -> list[str]:
    """Return the findings as lines of text."""
    return [f"{it.fault.id} in {it.experiment}: {it.message}" for it in result.findings]


def find_problems(row: Faulty, result: Robustness) -> list[str]:
    """Return the differences between the findings and the expected ones."""
    found = {(it.fault.id, it.experiment) for it in result.findings}
    problems = []
    if not {(row.rule, experiment) for experiment in row.experiments} & found:
        problems.append(f"missed: {row.rule}")
    allowed = {*row.experiments, *row.also}
    for rule, experiment in sorted(found):
        if rule != row.rule or not ("*" in row.also or experiment in allowed):
            problems.append(f"false: {rule} in {experiment}")
    if problems:
        problems += [*list_shown(result), result.trouble]
    return problems


async def check_broken(rows: Iterable[Faulty]) -> dict[str, list[str]]:
    """Run the experiments against several servers at a time; return the problems of each."""
    slots = asyncio.Semaphore(CONCURRENT)
    found: dict[str, list[str]] = {}

    async def check(row: Faulty) -> None:
        async with slots, serve(row.load().__module__, row.load(), row.transport) as target:
            problems = find_problems(row, await run(target, row.transport))
        if problems:
            found[row.server] = problems

    await asyncio.gather(*map(check, rows))
    return found
