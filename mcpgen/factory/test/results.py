"""What came of a server's tests."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

_NO_TEST = "no test was selected"


class Group(Struct):
    """The tests of one tool, of the server as a whole, or of one file of the user's."""

    name: str
    passed: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)  # the test, and why
    untested: list[tuple[str, str]] = field(default_factory=list)  # what was skipped, and why
    is_tool: bool = False

    @property
    def ran(self) -> int:
        """How many tests were run, whatever came of them."""
        return len(self.passed) + len(self.failed)


class SuiteResult(Struct, frozen=True):
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

    def join(self, groups: Sequence[Group]) -> SuiteResult:
        """Give the result with more groups; what did not pass without them does not with them."""
        whole = SuiteResult.of((*self.groups, *groups), self.output)
        if self.passed:
            return whole if whole.groups else replace(whole, passed=False, summary=_NO_TEST)
        # Where no test could be run, what says so comes first.
        said = [] if self.groups else [self.summary]
        summary = "; ".join([*said, *([whole.summary] if whole.groups else [])])
        return replace(whole, passed=False, summary=summary)


def _counts(groups: Sequence[Group]) -> dict[str, int]:
    return {
        "passed": sum(len(group.passed) for group in groups),
        "failed": sum(len(group.failed) for group in groups),
        "untested": sum(len(group.untested) for group in groups),
    }
