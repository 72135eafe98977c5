"""Tests that the official conformance suite finds no fault in everything-mcp, in any revision.

official_suite.json has the expected outcome of each scenario, so that a scenario that is no longer
run, or makes fewer checks, is noticed like one that fails.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.support.official_suite import read_checks, run_suite
from tests.support.paths import EXAMPLES
from tests.support.running_server import running

EVERYTHING = EXAMPLES / "everything-mcp"
EXPECTED = Path(__file__).with_name("official_suite.json")
RUNS = {
    "requirements 2026-07-28": ["--requirements", "2026-07-28"],
    "requirements 2025-11-25": ["--requirements", "2025-11-25"],
    "all 2026-07-28": ["--suite", "all", "--spec-version", "2026-07-28"],
    "all 2025-11-25": ["--suite", "all", "--spec-version", "2025-11-25"],
    "all 2025-06-18": ["--suite", "all", "--spec-version", "2025-06-18"],
    "all 2025-03-26": ["--suite", "all", "--spec-version", "2025-03-26"],
}
SCORED = {"requirements 2026-07-28": 37, "requirements 2025-11-25": 30}
# The suite runs them and does not score them.
OF_THE_TASKS_EXTENSION = {
    "tasks-capability-negotiation",
    "tasks-dispatch-and-envelope",
    "tasks-lifecycle",
    "tasks-mrtr-composition",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-request-state-removal",
    "tasks-required-task-error",
    "tasks-status-notifications",
    "tasks-wire-fields",
}
# This version of the suite has no check in it yet, and always reports it as skipped.
WITHOUT_CHECKS = {"tasks-status-notifications"}
# It runs these too without scoring them, and they pass.
PASSED_UNSCORED = {
    "http-custom-header-server-validation",
    "http-header-validation",
    "json-schema-2020-12",
    "server-session-lifecycle",
    "server-sse-polling",
}
Outcome = dict[str, dict[str, int]]


@pytest.mark.parametrize("name", RUNS)
def test_the_official_conformance_suite_passes_as_recorded(
    name: str, tmp_path: Path, *, updates: bool
) -> None:
    async def story() -> tuple[int, str]:
        async with running(EVERYTHING) as server:
            return await run_suite(server.url, RUNS[name], tmp_path)

    code, said = asyncio.run(story())
    found = outcome(tmp_path)
    broken = {scenario: counts for scenario, counts in found.items() if not is_passed(counts)}
    assert broken.keys() <= WITHOUT_CHECKS, f"{broken}\n{said[-3000:]}"
    assert code == 0, said[-3000:]
    if name in SCORED:
        unscored = PASSED_UNSCORED | OF_THE_TASKS_EXTENSION
        assert len(found.keys() - unscored) == SCORED[name]
    if name == "requirements 2026-07-28":
        assert found.keys() >= OF_THE_TASKS_EXTENSION
    if updates:
        update(name, found)
    assert found == json.loads(EXPECTED.read_bytes())[name]


def outcome(folder: Path) -> Outcome:
    """Return the number of checks per scenario and status, without informational checks."""
    statuses: dict[str, Counter[str]] = {}
    for check in read_checks(folder):
        statuses.setdefault(check.scenario, Counter())[check.status] += 1
    found: Outcome = {}
    for scenario, counts in statuses.items():
        del counts["INFO"]
        found[scenario] = dict(sorted(counts.items()))
    return found


def is_passed(counts: dict[str, int]) -> bool:
    return counts.get("SUCCESS", 0) > 0 and counts.keys() <= {"SUCCESS", "SKIPPED"}


def update(name: str, passed: Outcome) -> None:
    expected = json.loads(EXPECTED.read_bytes()) if EXPECTED.exists() else {}
    expected[name] = passed
    lines = [
        f"  {json.dumps(run)}: {{\n"
        + ",\n".join(f"    {json.dumps(it)}: {json.dumps(n)}" for it, n in sorted(of.items()))
        + "\n  }"
        for run, of in sorted(expected.items())
    ]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
