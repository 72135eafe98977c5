"""Division of a server's tests into parts that processes can run at the same time."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import msgspec

_LEAST_TESTS = 700  # of a part: the start of a process takes as long as some 400 tests
_MOST_PARTS = 4  # each one collects all tests
_TIME_OF_OTHERS = 0.12  # share of the time of all calls; mostly one call of each tool by the search
_MODULE = "tests/generated/test_tools.py"
_CALLS = "test_call"
_CASES = "tests/generated/cases.json"
_CONFIGURATIONS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "conftest.py")
_HARMLESS_OPTIONS = frozenset({"-ra", "--import-mode=importlib"})


def divide_tests(target: Path, processes: int) -> list[tuple[str, ...]]:
    """Divide the tests of the server at `target` into at most `processes` parts.

    Each part is the options with which pytest runs it; there are none if it has all tests. The
    calls of the generated tests are divided by tools, in their order; the last part has all
    other tests as well. There is one part if the tests are few, or if the user has configured
    pytest, since fixtures and plugins may not bear several processes.
    """
    weights = _weigh_tools(target) if processes > 1 and not _has_configuration(target) else {}
    total = sum(weights.values())
    number = min(processes, _MOST_PARTS, total // _LEAST_TESTS)
    if number < 2:
        return [()]
    share = total * (1 + _TIME_OF_OTHERS) / number
    tools: list[set[str]] = [set() for _ in range(number)]
    seen = 0
    for tool, weight in weights.items():
        tools[min(int(seen / share), number - 1)].add(tool)
        seen += weight
    calls = (_MODULE, "-k", _CALLS)
    return [
        (*(calls if chosen is not tools[-1] else ()), *_leave_out(weights.keys() - chosen))
        for chosen in tools
    ]


def _leave_out(tools: set[str]) -> list[str]:
    """Return the options that leave out the calls of tools."""
    return [f"--deselect={_MODULE}::{_CALLS}[{tool}:" for tool in sorted(tools)]


def _weigh_tools(target: Path) -> dict[str, int]:
    """Return about how many calls the generated tests make of each tool, in their order."""
    try:
        entries = msgspec.json.decode((target / _CASES).read_bytes(), type=list[dict[str, object]])
    except (OSError, msgspec.DecodeError):
        return {}  # its test reports the fault
    weights: dict[str, int] = {}
    for entry in entries:
        tool = str(entry.get("id") or entry.get("tool")).partition(":")[0]
        calls = sum(len(value) for value in entry.values() if isinstance(value, list))
        weights[tool] = weights.get(tool, 0) + max(calls, 1)
    return weights


def _has_configuration(target: Path) -> bool:
    """Whether pytest has a configuration here that the generated project does not have."""
    if "PYTEST_ADDOPTS" in os.environ or any((target / name).exists() for name in _CONFIGURATIONS):
        return True
    if next((target / "tests").rglob("conftest.py"), None) is not None:
        return True
    try:
        project = tomllib.loads((target / "pyproject.toml").read_text("utf-8"))
        options = project["tool"]["pytest"]["ini_options"].get("addopts", [])
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return True
    return not set(options.split() if isinstance(options, str) else options) <= _HARMLESS_OPTIONS
