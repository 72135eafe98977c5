"""Tests that deleting any line of a generated handler makes the generated tests fail."""

from __future__ import annotations

import ast
import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpgen.testing.suite.generated import Suite
from tests.support.paths import EXAMPLES

NAMES = ("bookshop", "petstore")  # between them they have every kind of handler; each line is a run


def handler_lines() -> Iterator[Any]:
    """Yield each line of each handler that is not blank: project, file, handler, line."""
    for name in NAMES:
        project = EXAMPLES / f"{name}-mcp"
        for module in sorted(project.glob("src/*/_generated/tools/[a-z]*.py")):
            text = module.read_text()
            for node in ast.parse(text).body:
                if isinstance(node, ast.AsyncFunctionDef):
                    first = min(decorator.lineno for decorator in node.decorator_list)
                    for number in range(first, (node.end_lineno or first) + 1):
                        path = module.relative_to(project).as_posix()
                        case = f"{name}:{node.name}:{number - first}"
                        yield pytest.param(name, path, node.name, number, id=case)


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Copy each example, so that lines can be deleted."""
    folder = tmp_path_factory.mktemp("examples")
    return {
        name: shutil.copytree(
            EXAMPLES / f"{name}-mcp", folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )
        for name in NAMES
    }


@pytest.fixture(autouse=True)
def _imports_are_forgotten() -> Iterator[None]:
    path, writes_no_bytecode = list(sys.path), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # a file that changes twice a second would meet its old one
    yield
    sys.path[:], sys.dont_write_bytecode = path, writes_no_bytecode
    packages = {f"{name.replace('-', '_')}_mcp" for name in NAMES}
    for module in [module for module in sys.modules if module.partition(".")[0] in packages]:
        del sys.modules[module]


def suite_fails(project: Path, name: str, tool: str) -> bool:
    """Return whether the generated tests fail; the cases of `tool` run first."""
    sys.path.insert(0, str(project / "src"))
    importlib.invalidate_caches()
    suite = Suite(f"{name.replace('-', '_')}_mcp", project / "tests" / "generated")
    cases = sorted(suite.cases, key=lambda case: case.tool != tool)
    tests: list[Callable[[], None]] = [
        suite.check_docstrings,
        *(lambda case=case: suite.run(case) for case in cases),  # type: ignore[misc]
        suite.check_tool_list,
        suite.check_operations,
        suite.check_cases,
    ]
    for test in tests:
        try:
            test()
        except (Exception, SyntaxError):  # noqa: BLE001  (as pytest does)
            return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_an_unchanged_example_passes(projects: dict[str, Path], name: str) -> None:
    assert not suite_fails(projects[name], name, "")


@pytest.mark.parametrize(("name", "path", "handler", "number"), [*handler_lines()])
def test_deleting_a_line_makes_the_suite_fail(
    projects: dict[str, Path], name: str, path: str, handler: str, number: int
) -> None:
    module = projects[name] / path
    sound = module.read_text()
    lines = sound.splitlines(keepends=True)
    del lines[number - 1]
    module.write_text("".join(lines))
    try:
        assert suite_fails(projects[name], name, handler)
    finally:
        module.write_text(sound)
