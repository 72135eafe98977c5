"""Run the generated tests of a server without pytest, which takes half of their time."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from _pytest.mark.structures import get_unpacked_marks

from mcpgen.factory.packages import find_package
from mcpgen.testing import Suite, WorkflowSuite  # noqa: F401  (imported once for all forks)

Test = Callable[[], None]


def run_generated_tests(project: Path) -> tuple[int, int] | None:
    """Run the generated tests of a project in a fork; return how many passed and were skipped.

    None if one failed.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.write(writing, _run_tests(project).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        counts = answer.read().split()
    _, status = os.waitpid(pid, 0)
    if status:
        return None
    passed, skipped = map(int, counts)
    return passed, skipped


def _run_tests(project: Path) -> str:
    """Run the tests in this process; a failing test raises an exception."""
    os.chdir(project)
    os.environ.update(find_package(project).environment())
    sys.path.insert(0, str(project / "src"))
    passed = skipped = 0
    for module in sorted((project / "tests" / "generated").glob("test_*.py")):
        for test in _list_tests(module):
            try:
                test()
            except pytest.skip.Exception:
                skipped += 1
            else:
                passed += 1
    return f"{passed} {skipped}"


def _list_tests(file: Path) -> Iterator[Test]:
    """Yield the tests of a module, one for each value of `pytest.mark.parametrize`."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, function in vars(module).items():
        if name.startswith("test_"):
            yield from _bind(function)


def _bind(function: Callable[..., None]) -> Iterator[Test]:
    marks = get_unpacked_marks(function)
    if not marks:
        yield function
    for mark in marks:
        name, values = mark.args  # of `parametrize`, the only mark of generated tests
        for value in values:
            yield functools.partial(function, **{name: value})
