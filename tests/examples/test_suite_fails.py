"""Tests that the generated tests of an example fail for each tool that does not do its work."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.upstream.client import ApiClient
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.testing import Suite, WorkflowSuite
from tests.support.paths import EXAMPLES

NAMES = ("bookshop", "petstore", "competitor-research")  # the last one has no document
WITH_WORKFLOWS = ("bookshop", "competitor-research")
LEAST_CASES = 5


@pytest.fixture(params=NAMES)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Copy an example, so that faults can be inserted; remove its modules afterwards."""
    path, name = list(sys.path), request.param.replace("-", "_")
    yield shutil.copytree(EXAMPLES / f"{request.param}-mcp", tmp_path / name)
    sys.path[:] = path
    forget(name)


def forget(project: str) -> None:
    for module in [module for module in sys.modules if module.startswith(f"{project}_mcp")]:
        del sys.modules[module]


def suite_of(project: Path) -> WorkflowSuite:
    sys.path.insert(0, str(project / "src"))
    importlib.invalidate_caches()
    return WorkflowSuite(f"{project.name}_mcp", project / "tests" / "generated")


def workflows_failing(suite: WorkflowSuite) -> list[bool]:
    return [fails(partial(suite.run_through, case)) for case in suite.workflows]


def fails(test: Callable[[], None]) -> bool:
    try:
        test()
    except AssertionError:
        return True
    return False


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


def test_every_tool_of_a_correct_server_passes_at_least_five_cases(project: Path) -> None:
    suite = suite_of(project)
    passed: dict[str, int] = {}
    for result in suite.results():
        assert result.differences == (), result.case.id
        passed[result.case.tool] = passed.get(result.case.tool, 0) + result.has_passed

    assert passed
    assert min(passed.values()) >= LEAST_CASES


def make_stubs(project: Path) -> None:
    call = re.compile(r"(return )?await ctx\.api\.request\((?:\n[^@]*?\n    |[^\n]*)\)\n")
    in_handlers(project, lambda text: call.sub("return {}\n", text))


def test_stubs_fail_for_every_tool(project: Path) -> None:
    make_stubs(project)
    suite = suite_of(project)

    assert tools_failing(suite) == {case.tool for case in suite.cases}


async def answer_200(*_: Any, **__: Any) -> tuple[HttpResponse, Any]:
    """Return an empty 200 response, in place of `ApiClient.exchange`."""
    return HttpResponse(200, (("Content-Type", "application/json"),), b"{}"), {}


def test_client_that_always_answers_200_fails_for_every_tool(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ApiClient, "exchange", answer_200)
    suite = suite_of(project)

    assert tools_failing(suite) == {case.tool for case in suite.cases}


def test_missing_credential_fails_for_every_tool_that_needs_one(project: Path) -> None:
    in_contracts(project, lambda tool: tool["request"].pop("security", None))
    suite = suite_of(project)
    secured = {case.tool for case in suite.cases if case.group == "credentials"}

    assert secured
    assert tools_failing(suite) == secured


@pytest.mark.parametrize("project", WITH_WORKFLOWS, indirect=True)
def test_stubs_and_a_client_that_always_answers_200_fail_for_every_workflow(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = suite_of(project)
    assert suite.workflows
    assert not any(workflows_failing(suite))

    with monkeypatch.context() as patched:
        patched.setattr(ApiClient, "exchange", answer_200)
        assert all(workflows_failing(suite))

    make_stubs(project)
    forget(project.name)
    assert all(workflows_failing(suite_of(project)))
