from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from mcpgen.factory.test import parts
from mcpgen.factory.test.parts import divide_tests
from mcpgen.factory.test.run import run_suite

PYPROJECT = """\
[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = ["-ra", "--import-mode=importlib"]
"""
MODULE = "tests/generated/test_tools.py"


def write_project(folder: Path, calls: dict[str, int]) -> Path:
    (folder / "pyproject.toml").write_text(PYPROJECT)
    cases = folder / "tests/generated/cases.json"
    cases.parent.mkdir(parents=True)
    entries = [{"tool": tool, "calls": [{}] * number} for tool, number in calls.items()]
    cases.write_bytes(msgspec.json.encode(entries))
    return folder


def left_out(options: tuple[str, ...]) -> set[str]:
    prefix = f"--deselect={MODULE}::test_call["
    return {word.removeprefix(prefix)[:-1] for word in options if word.startswith(prefix)}


def test_each_tool_is_in_one_part_and_all_else_in_the_last(tmp_path: Path) -> None:
    calls = {f"tool_{number}": 100 + number for number in range(60)}
    divided = divide_tests(write_project(tmp_path, calls), 3)

    assert len(divided) == 3
    assert [options[:3] == (MODULE, "-k", "test_call") for options in divided] == [
        True,
        True,
        False,
    ]
    run = [calls.keys() - left_out(options) for options in divided]
    assert sorted(tool for tools in run for tool in tools) == sorted(calls)
    first, second, last = [sum(calls[tool] for tool in tools) for tools in run]
    assert abs(first - second) < 0.1 * first
    assert 0.6 * first < last < first


def test_few_tests_are_one_part(tmp_path: Path) -> None:
    project = write_project(tmp_path, {"one": 600, "two": 600})
    assert divide_tests(project, 8) == [()]


def add_addopts(project: Path) -> None:
    (project / "pyproject.toml").write_text(PYPROJECT.replace('"-ra"', '"-ra", "--cov"'))


@pytest.mark.parametrize(
    "configure",
    [
        lambda project: (project / "conftest.py").touch(),
        lambda project: (project / "tests/conftest.py").touch(),
        lambda project: (project / "pytest.ini").touch(),
        lambda project: (project / "pyproject.toml").write_text("[tool.pytest]\n"),
        lambda project: (project / "pyproject.toml").write_text("["),
        add_addopts,
    ],
)
def test_tests_that_the_user_configures_are_one_part(
    tmp_path: Path, configure: Callable[[Path], object]
) -> None:
    project = write_project(tmp_path, {"one": 5000, "two": 5000})
    assert len(divide_tests(project, 2)) == 2
    configure(project)
    assert len(divide_tests(project, 2)) == 1


def test_options_of_the_environment_are_for_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path, {"one": 5000, "two": 5000})
    monkeypatch.setenv("PYTEST_ADDOPTS", "--cov")
    assert len(divide_tests(project, 2)) == 1


@pytest.mark.slow
def test_parts_run_every_test_once(petstore_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_suite(petstore_copy)
    monkeypatch.setattr(parts, "_LEAST_TESTS", 20)
    assert len(divide_tests(petstore_copy, 3)) == 3
    report = petstore_copy / "reports" / "junit.xml"

    divided = run_suite(petstore_copy, processes=3, junit=report)

    assert whole.passed
    assert divided.passed
    assert [
        (group.name, group.passed, group.untested, group.is_tool) for group in divided.groups
    ] == [(group.name, group.passed, group.untested, group.is_tool) for group in whole.groups]
    cases = list(ElementTree.parse(report).iter("testcase"))
    assert len(cases) == sum(whole.counts.values())


@pytest.mark.slow
def test_a_failure_in_one_part_fails_the_suite(
    petstore_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers = petstore_copy / "src/petstore_mcp/_generated/tools/pets.py"
    handlers.write_text(handlers.read_text().replace('"limit": limit', '"limit": after'))
    monkeypatch.setattr(parts, "_LEAST_TESTS", 20)

    suite = run_suite(petstore_copy, processes=2)

    assert not suite.passed
    assert [group.name for group in suite.groups if group.failed] == ["list_pets"]


@pytest.mark.slow
def test_no_part_outlives_the_time(petstore_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_LEAST_TESTS", 20)
    suite = run_suite(petstore_copy, processes=2, seconds=0.01)
    assert (suite.passed, suite.summary) == (False, "stopped after 0.01 s")
