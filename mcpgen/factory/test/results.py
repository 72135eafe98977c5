"""Results of a server's tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.factory.junit import Group

_NO_TEST = "no test was selected"


class SuiteResult(Struct, frozen=True):
    """The result of a run of a server's tests."""

    passed: bool
    summary: str  # "124 passed, 2 failed, 3 untested"
    output: str  # the output of pytest
    groups: tuple[Group, ...] = ()

    @classmethod
    def of(cls, groups: tuple[Group, ...], output: str = "") -> SuiteResult:
        """Summarize groups."""
        counts = _counts(groups)
        words = [f"{count:,} {what}" for what, count in counts.items() if count or what == "passed"]
        return cls(not counts["failed"], ", ".join(words), output, groups)

    @property
    def counts(self) -> dict[str, int]:
        """The number of tests by result."""
        return _counts(self.groups)

    def join(self, groups: Sequence[Group]) -> SuiteResult:
        """Return the result with more groups; a failed result stays failed."""
        whole = SuiteResult.of((*self.groups, *groups), self.output)
        if self.passed:
            return whole if whole.groups else replace(whole, passed=False, summary=_NO_TEST)
        # If no test could be run, the summary states this.
        words = [] if self.groups else [self.summary]
        summary = "; ".join([*words, *([whole.summary] if whole.groups else [])])
        return replace(whole, passed=False, summary=summary)


def _counts(groups: Sequence[Group]) -> dict[str, int]:
    return {
        "passed": sum(len(group.passed) for group in groups),
        "failed": sum(len(group.failed) for group in groups),
        "untested": sum(len(group.untested) for group in groups),
    }


_CALLS = "tests.generated.test_tools"
_WHOLE = "the server"


def read_report(report: Path) -> tuple[Group, ...]:
    """Read a report of pytest; return its groups in the order of their first tests.

    Raises:
        FileNotFoundError: there is no report.
        ElementTree.ParseError: it is incomplete.
    """
    groups: dict[str, Group] = {}
    root = ElementTree.parse(report).getroot()  # noqa: S314  (the pytest that we started wrote it)
    for case in root.iter("testcase"):
        module, test = case.get("classname", ""), case.get("name", "")
        name, test = _name_test(module, test)
        group = groups.setdefault(name, Group(name, is_tool=module == _CALLS and name != _WHOLE))
        failure = case.find("failure")
        failure = case.find("error") if failure is None else failure
        skipped = case.find("skipped")
        if failure is not None:
            group.failed.append((test, _read_reason(failure)))
        elif skipped is not None:
            group.untested.append((test, skipped.get("message", "")))
        else:
            group.passed.append(test)
    return tuple(groups.values())


def _name_test(module: str, test: str) -> tuple[str, str]:
    """Return the group of a test, and its name there."""
    if module == _CALLS and test.startswith("test_call["):
        tool, _, what = test.removeprefix("test_call[").removesuffix("]").partition(": ")
        return tool, what
    if module.startswith("tests.generated"):
        return _WHOLE, test
    return f"{module.replace('.', '/')}.py" if module else "tests", test


def _read_reason(failure: ElementTree.Element) -> str:
    """Return the reason for a failure, without details of the assertion."""
    message = failure.get("message", "").removeprefix("AssertionError: ")
    lines = [line for line in message.splitlines() if not line.startswith("assert ")]
    return "\n".join(lines or [message]).strip()
