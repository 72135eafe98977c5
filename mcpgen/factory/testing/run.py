"""A server's own tests, run as its owner would: by pytest, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree

MOST_SECONDS = 600
_CALLS = "tests.generated.test_tools"
_WHOLE = "the server"
_NOTHING_SELECTED = 5  # pytest's exit code


@dataclass(slots=True)
class Group:
    """The tests of one tool, of the server as a whole, or of one file of the user's."""

    name: str
    passed: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)  # the test, and why
    untested: list[tuple[str, str]] = field(default_factory=list)  # what was skipped, and why


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """How a run of a server's tests ended."""

    passed: bool
    summary: str  # "124 passed, 2 failed, 3 untested"
    output: str  # all that pytest said
    groups: tuple[Group, ...] = ()

    @classmethod
    def of(cls, groups: tuple[Group, ...], output: str = "") -> SuiteResult:
        """Sum groups up."""
        counts = _counts(groups)
        said = [f"{count:,} {what}" for what, count in counts.items() if count or what == "passed"]
        return cls(not counts["failed"], ", ".join(said), output, groups)

    @property
    def counts(self) -> dict[str, int]:
        """Count the tests by what came of them."""
        return _counts(self.groups)

    def joined(self, group: Group) -> SuiteResult:
        """Give the result with one more group; what did not pass without it does not with it."""
        whole = SuiteResult.of((*self.groups, group), self.output)
        return whole if self.passed else replace(whole, passed=False)


def _counts(groups: Sequence[Group]) -> dict[str, int]:
    return {
        "passed": sum(group.passed for group in groups),
        "failed": sum(len(group.failed) for group in groups),
        "untested": sum(len(group.untested) for group in groups),
    }


def run_suite(target: Path, *, select: str = "", junit: Path | None = None) -> SuiteResult:
    """Run the tests of the server at `target`, in its own environment if it has one.

    `select` is an expression of pytest's `-k`; `junit` gets a report in JUnit's XML.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = junit.resolve() if junit else Path(folder, "junit.xml")
        chosen = ["-k", select] if select else []
        try:
            done = subprocess.run(  # noqa: S603  (the interpreter, and words of our own)
                [
                    *(_interpreter(target), "-m", "pytest", "-q", "--no-header"),
                    *("-p", "no:cacheprovider", f"--junitxml={report}", *chosen),
                ],
                cwd=target,
                env=_environment(target),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=MOST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode("utf-8", "replace")
            return SuiteResult(False, f"not done after {MOST_SECONDS} s", said)
        output = done.stdout.decode("utf-8", "replace")
        if not report.is_file():
            lines = output.strip().splitlines()
            return SuiteResult(False, lines[-1].strip("= ") if lines else "no tests", output)
        groups = _groups(report)
    if done.returncode == _NOTHING_SELECTED:
        return SuiteResult(False, "no test was selected", output)
    return replace(SuiteResult.of(groups, output), passed=done.returncode == 0)


def _environment(target: Path) -> dict[str, str]:
    source, path = str(target.resolve() / "src"), os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([source, path]) if path else source}


def _interpreter(target: Path) -> str:
    folder, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    own = target.resolve() / ".venv" / folder / name
    return str(own) if own.is_file() else sys.executable


def _groups(report: Path) -> tuple[Group, ...]:
    """Read a report of pytest's: the groups in the order of their first tests."""
    groups: dict[str, Group] = {}
    root = ElementTree.parse(report).getroot()  # noqa: S314  (the pytest that we started wrote it)
    for case in root.iter("testcase"):
        module, test = case.get("classname", ""), case.get("name", "")
        name, test = _named(module, test)
        group = groups.setdefault(name, Group(name))
        failure = case.find("failure")
        failure = case.find("error") if failure is None else failure
        skipped = case.find("skipped")
        if failure is not None:
            group.failed.append((test, _reason(failure)))
        elif skipped is not None:
            group.untested.append((test, skipped.get("message", "")))
        else:
            group.passed += 1
    return tuple(groups.values())


def _named(module: str, test: str) -> tuple[str, str]:
    """Give a test's group, and what it is called there."""
    if module == _CALLS and test.startswith("test_call["):
        tool, _, what = test.removeprefix("test_call[").removesuffix("]").partition(": ")
        return tool, what
    if module.startswith("tests.generated"):
        return _WHOLE, test
    return f"{module.replace('.', '/')}.py" if module else "tests", test


def _reason(failure: ElementTree.Element) -> str:
    """Say why a test failed, without what only a debugger of the test wants to see."""
    message = failure.get("message", "").removeprefix("AssertionError: ")
    lines = [line for line in message.splitlines() if not line.startswith("assert ")]
    return "\n".join(lines or [message]).strip()
