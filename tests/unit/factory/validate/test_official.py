"""Tests of the requirements of the official suite, and of the scenarios that apply to a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcpgen.factory.validate import official
from mcpgen.factory.validate.official import OfficialSuiteError, ScenarioResult, run_official
from mcpgen.factory.wire.targets import Target

SERVER = Target(url="http://127.0.0.1:1/mcp")


def test_a_command_is_refused() -> None:
    with pytest.raises(OfficialSuiteError, match="needs a URL"):
        asyncio.run(run_official(Target(command=("x",)), {}))


def test_a_missing_node_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OfficialSuiteError, match="Node 22 or newer") as caught:
        asyncio.run(run_official(SERVER, {}))
    assert "npm install" in caught.value.help


def test_a_missing_suite_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\necho v24.1.0\n")
    node.chmod(0o755)
    with pytest.raises(OfficialSuiteError, match="is not installed"):
        asyncio.run(run_official(SERVER, {}))


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return the scenarios that would run, with their revisions."""
    found: list[tuple[str, str]] = []

    async def find_suite() -> list[str]:
        return ["suite"]

    async def run_scenario(_program: Any, _url: str, name: str, revision: str) -> ScenarioResult:
        found.append((name, revision))
        return ScenarioResult(name, revision, {"SUCCESS": 1})

    monkeypatch.setattr(official, "find_suite", find_suite)
    monkeypatch.setattr(official, "_run_scenario", run_scenario)
    return found


def test_only_scenarios_of_declared_capabilities_run(ran: list[tuple[str, str]]) -> None:
    asyncio.run(run_official(SERVER, {"2025-11-25": {"tools": {}}}))
    assert ("tools-list", "2025-11-25") in ran
    assert ("resources-list", "2025-11-25") not in ran
    assert {revision for _, revision in ran} == {"2025-11-25"}


@pytest.mark.parametrize(
    ("counts", "passed"),
    [
        ({"SUCCESS": 2, "SKIPPED": 1, "INFO": 3}, True),
        ({"SUCCESS": 2, "WARNING": 1}, False),
        ({"SKIPPED": 2}, False),
        ({}, False),
    ],
)
def test_skipped_checks_are_not_passed_ones(counts: dict[str, int], passed: bool) -> None:
    assert ScenarioResult("s", "r", counts).passed is passed
