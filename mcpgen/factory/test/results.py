"""Results of a server's tests."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

_NO_TEST = "no test was selected"


class Group(Struct):
    """The tests of one tool, of the whole server, or of one file of the user."""

    name: str
    passed: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)  # test and reason
    untested: list[tuple[str, str]] = field(default_factory=list)  # test and reason
    is_tool: bool = False

    @property
    def ran(self) -> int:
        """The number of tests that were run."""
        return len(self.passed) + len(self.failed)


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
        # If no test could be run, the summary says so.
        words = [] if self.groups else [self.summary]
        summary = "; ".join([*words, *([whole.summary] if whole.groups else [])])
        return replace(whole, passed=False, summary=summary)


def _counts(groups: Sequence[Group]) -> dict[str, int]:
    return {
        "passed": sum(len(group.passed) for group in groups),
        "failed": sum(len(group.failed) for group in groups),
        "untested": sum(len(group.untested) for group in groups),
    }
