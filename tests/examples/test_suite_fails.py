"""The generated suite of an example is red for each tool that does nothing of what it should."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.testing.suite import Suite
from mcpgen.runtime.upstream.client import ApiClient
from mcpgen.runtime.upstream.http import HttpResponse
from tests.examples.examples import COMMITTED

NAMES = ("bookshop", "petstore")
LEAST_CASES = 5


@pytest.fixture(params=NAMES)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A copy of an example, for faults to be put into; forgotten afterwards."""
    path = list(sys.path)
    yield shutil.copytree(COMMITTED / f"{request.param}-mcp", tmp_path / request.param)
    sys.path[:] = path
    for module in [module for module in sys.modules if module.startswith(f"{request.param}_mcp")]:
        del sys.modules[module]


def suite_of(project: Path) -> Suite:
    sys.path.insert(0, str(project / "src"))
    importlib.invalidate_caches()
    return Suite(f"{project.name}_mcp", project / "tests" / "generated")


def tools_failing(suite: Suite) -> set[str]:
    return {result.case.tool for result in suite.results() if result.differences}


def in_handlers(project: Path, change: Callable[[str], str]) -> None:
    for module in project.glob("src/*/_generated/tools/[a-z]*.py"):
        module.write_text(change(module.read_text()))


def in_contracts(project: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    for path in project.glob("src/*/_generated/tools/*.json"):
        contract = json.loads(path.read_text())
        for tool in contract["tools"].values():
            change(tool)
        path.write_text(json.dumps(contract))


def test_every_tool_of_a_sound_server_passes_at_least_five_cases(project: Path) -> None:
    suite = suite_of(project)
    passed: dict[str, int] = {}
    for result in suite.results():
        assert result.differences == (), result.case.id
        passed[result.case.tool] = passed.get(result.case.tool, 0) + result.has_passed

    assert passed
    assert min(passed.values()) >= LEAST_CASES


def test_stubs_fail_for_every_tool(project: Path) -> None:
    call = re.compile(r"(return )?await ctx\.api\.request\([^@]*?\n    \)\n")
    in_handlers(project, lambda text: call.sub("return {}\n", text))
    suite = suite_of(project)

    assert tools_failing(suite) == {case.tool for case in suite.cases}


def test_client_that_always_answers_200_fails_for_every_tool(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def exchange(*_: Any, **__: Any) -> tuple[HttpResponse, Any]:
        return HttpResponse(200, (("Content-Type", "application/json"),), b"{}"), {}

    monkeypatch.setattr(ApiClient, "exchange", exchange)
    suite = suite_of(project)

    assert tools_failing(suite) == {case.tool for case in suite.cases}


def test_missing_credential_fails_for_every_tool_that_needs_one(project: Path) -> None:
    in_contracts(project, lambda tool: tool["request"].pop("security", None))
    suite = suite_of(project)
    secured = {case.tool for case in suite.cases if case.group == "credentials"}

    assert secured
    assert tools_failing(suite) == secured
