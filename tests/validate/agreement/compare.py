"""Compare the results of the official suite and of the validator on one server and revision.

`checks.tsv` names, for each check of the suite, the requirements that observe the same; a check of
what is particular to the suite's fixture has none. `decisions.toml` says which side is right where
they disagree.
"""

from __future__ import annotations

import csv
import enum
import functools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from mcpgen.factory.validate.run import Result
from mcpgen.factory.validate.verdicts import Verdict
from tests.support.official_suite import SuiteCheck

HERE: Final = Path(__file__).parent
# A scenario reports a missing tool of the fixture as a failure.
_NOT_TESTED: Final = ("Not testable", "Check was not observed")
_FAILED: Final = {"FAILURE", "WARNING"}
_FINDINGS: Final = {Verdict.FAIL, Verdict.ERROR}


class Agreement(enum.StrEnum):
    """The relation of both results; the value is the heading of its column."""

    BOTH_PASS = "both pass"
    BOTH_FAIL = "both fail"
    SUITE_FAILS = "suite only fails"
    VALIDATE_FAILS = "validate only fails"
    UNDECIDED = "decided by one"
    SUITE_ONLY = "in suite only"


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The decision which side is right about a check, with the section of the specification."""

    check: str
    servers: tuple[str, ...]
    revisions: tuple[str, ...]
    right: Literal["suite", "validate"]
    section: str
    reason: str


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finding that was confirmed by hand with the specification."""

    rule: str
    servers: tuple[str, ...]
    section: str
    reason: str


class Decisions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `decisions.toml`."""

    disagreement: tuple[Decision, ...]
    finding: tuple[Finding, ...]


class Compared(NamedTuple):
    """One check of the suite; `requirements` are the applicable ones, with their verdicts."""

    check: str
    passed: bool | None
    requirements: Mapping[str, Verdict]
    messages: Sequence[str]  # of the suite

    @property
    def agreement(self) -> Agreement:
        """The relation of both results."""
        if not self.requirements:
            return Agreement.SUITE_ONLY
        ours = decide(self.requirements.values())
        match self.passed, ours:
            case True, True:
                return Agreement.BOTH_PASS
            case False, False:
                return Agreement.BOTH_FAIL
            case False, _:
                return Agreement.SUITE_FAILS
            case _, False:
                return Agreement.VALIDATE_FAILS
        return Agreement.UNDECIDED


@functools.cache
def read_checks_table() -> dict[str, tuple[str, ...]]:
    """Return the requirements of each check of the suite."""
    with (HERE / "checks.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {row["check"]: tuple(row["requirements"].split()) for row in rows}


@functools.cache
def read_decisions() -> Decisions:
    """Return the decisions made by hand."""
    table = tomllib.loads((HERE / "decisions.toml").read_text("utf-8"))
    return msgspec.convert(table, Decisions)


def find_decision(server: str, revision: str, check: str) -> Decision | None:
    """Return the decision about a check of a server."""
    for it in read_decisions().disagreement:
        if it.check == check and server in it.servers and revision in it.revisions:
            return it
    return None


def is_known_finding(server: str, rule: str) -> bool:
    """Return whether a finding about a server was confirmed."""
    return any(it.rule == rule and server in it.servers for it in read_decisions().finding)


def decide(verdicts: Iterable[Verdict]) -> bool | None:
    """Return whether requirements are met; None if there is no verdict."""
    found = set(verdicts)
    if found & _FINDINGS:
        return False
    return True if Verdict.PASS in found else None


def compare(checks: Sequence[SuiteCheck], results: Sequence[Result]) -> list[Compared]:
    """Compare the checks of one run of the suite with the results of one examination.

    Raises:
        KeyError: the suite has a check that `checks.tsv` does not contain.
    """
    verdicts = {it.requirement.id: it.outcome.verdict for it in results}
    table = read_checks_table()
    compared = []
    for check in sorted({it.id for it in checks if it.status != "INFO"}):
        rows = [it for it in checks if it.id == check]
        named = table[check]
        compared.append(
            Compared(
                check,
                _decide_suite(rows),
                {it: verdicts[it] for it in named if it in verdicts},
                [it.message for it in rows if it.status in _FAILED],
            )
        )
    return compared


def _decide_suite(rows: Sequence[SuiteCheck]) -> bool | None:
    """Return whether a check passed in all scenarios; None if it was not made."""
    made = [it for it in rows if not it.message.startswith(_NOT_TESTED)]
    if any(it.status in _FAILED for it in made):
        return False
    return True if any(it.status == "SUCCESS" for it in made) else None


def find_uncompared(results: Sequence[Result]) -> dict[str, Verdict]:
    """Return the verdicts of requirements that no check of the suite covers."""
    named = {requirement for row in read_checks_table().values() for requirement in row}
    return {
        it.requirement.id: it.outcome.verdict for it in results if it.requirement.id not in named
    }
