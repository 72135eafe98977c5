"""Tests of waivers: the file, the findings they cover, and reports about them."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from mcpgen.changelog import RULES as CHANGES
from mcpgen.diagnostics import Problems, RejectedError, Severity
from mcpgen.factory.lint.findings import RULES as LINT
from mcpgen.factory.robustness.faults import FAULTS
from mcpgen.factory.status.model import WaiverState
from mcpgen.factory.validate.requirements import read_requirements
from mcpgen.factory.waivers import check_waivers, find_waiver, list_states, read_waivers
from mcpgen.ir.waivers import Waiver

TODAY = date(2026, 11, 24)
VALID = """\
version: 1
waivers:
  - rule: description-length
    tool: admin_*
    reason: The vendor shortens it.
    owner: "@org/platform"
    expires: 2026-12-31
"""


def write(folder: Path, text: str) -> Path:
    (folder / "waivers.yaml").write_text(text)
    return folder


def make(rule: str = "annotations", tool: str = "", expires: date = TODAY) -> Waiver:
    return Waiver("a reason", "@me", expires, rule=rule, tool=tool)


def test_a_server_without_the_file_has_no_waivers(tmp_path: Path) -> None:
    assert read_waivers(tmp_path, Problems()) == ()


def test_a_waiver_is_read_with_its_location(tmp_path: Path) -> None:
    (waiver,) = read_waivers(write(tmp_path, VALID), Problems())
    assert (waiver.rule, waiver.tool, waiver.reason, waiver.owner, waiver.expires) == (
        "description-length",
        "admin_*",
        "The vendor shortens it.",
        "@org/platform",
        date(2026, 12, 31),
    )
    assert str(waiver.at) == "waivers.yaml:3:11"


@pytest.mark.parametrize(
    ("old", "new", "place", "message", "help"),
    [
        ("tool:", "tol:", "4:10", "unknown key `tol`", "did you mean `tool`?"),
        ("-length", "-lenght", "3:11", "unknown rule", "did you mean `description-length`?"),
        ('"@org/platform"', "platform", "6:12", "invalid owner", "write @user"),
        ("2026-12-31", "2026-13-31", "7:14", "invalid date `2026-13-31`", "such as 2026-12-31"),
        ("2026-12-31", "20261231", "7:14", "", ""),
        ("2026-12-31", '"20261231"', "7:14", "invalid date `20261231`", "such as 2026-12-31"),
        ("    expires: 2026-12-31\n", "", "3:5", "missing key `expires`", "add `expires`"),
        ("The vendor shortens it.", '""', "5:13", "empty reason", "say why"),
        ("description-length", "id-echo", "4:11", "`id-echo` concerns the server", "remove `tool`"),
    ],
)
def test_an_invalid_file_is_rejected_with_a_location(
    tmp_path: Path, old: str, new: str, place: str, message: str, help: str
) -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        read_waivers(write(tmp_path, VALID.replace(old, new)), problems)
    (problem,) = problems
    assert (problem.code, str(problem.at)) == ("waivers", f"waivers.yaml:{place}")
    assert message in problem.message
    assert help in problem.help


def test_earlier_problems_do_not_reject_the_file(tmp_path: Path) -> None:
    problems = Problems()
    problems.error("stale", "another problem")
    assert len(read_waivers(write(tmp_path, VALID), problems)) == 1


def test_no_two_commands_have_a_rule_of_the_same_name() -> None:
    requirements = [each.id for each in read_requirements().requirement]
    known = Counter([*LINT, *CHANGES, *FAULTS, *requirements])
    assert [rule for rule, times in known.items() if times > 1] == []


@pytest.mark.parametrize(
    ("waiver", "rule", "tool", "covers"),
    [
        (make(), "annotations", "get_pet", True),
        (make(), "annotations", "", True),
        (make(), "array-items", "get_pet", False),
        (make(tool="get_pet"), "annotations", "get_pet", True),
        (make(tool="get_pet"), "annotations", "get_pets", False),
        (make(tool="get_*"), "annotations", "get_pets", True),
        (make(tool="get_*"), "annotations", "Get_pets", False),
        (make(tool="get_pet"), "annotations", "", False),
    ],
)
def test_a_waiver_covers_findings_of_its_rule_and_tools(
    waiver: Waiver, rule: str, tool: str, covers: bool
) -> None:
    assert waiver.covers(rule, tool) is covers


def test_a_waiver_holds_on_its_last_day_and_not_on_the_next() -> None:
    subject = ("annotations", "get_pet")
    assert find_waiver([make()], subject, TODAY) is not None
    assert find_waiver([make()], subject, date(2026, 11, 25)) is None


def test_a_waiver_that_holds_is_found_behind_an_expired_one() -> None:
    waivers = [make(expires=date(2026, 1, 1)), make(expires=date(2027, 1, 1))]
    assert find_waiver(waivers, ("annotations", ""), TODAY) is waivers[1]


def test_expired_and_unused_waivers_are_reported() -> None:
    waivers = [
        make(expires=date(2026, 11, 23)),
        make("array-items", expires=date(2026, 11, 23)),
        make("type-union"),
        make("annotations"),
        make("id-echo"),  # of a rule that was not checked
    ]
    found = list(check_waivers(waivers, {("annotations", "get_pet")}, LINT, TODAY))
    assert [(it.code, it.severity) for it in found] == [
        ("waiver-expired", Severity.ERROR),
        ("waiver-expired", Severity.ERROR),
        ("waiver-unused", Severity.NOTE),
    ]
    assert found[0].message == "the waiver of `annotations` expired on 2026-11-23"
    assert found[0].why == "its findings count again; @me accepted them: a reason"
    assert found[1].help == "remove it"


def test_states_count_the_findings_of_each_waiver() -> None:
    waivers = [make(), make(tool="get_*", expires=date(2026, 11, 23)), make("array-items")]
    subjects = [("annotations", "get_pet"), ("annotations", "add_pet")]
    assert list_states(waivers, subjects, TODAY) == (
        WaiverState("annotations", "a reason", "@me", "2026-11-24", False, 2),
        WaiverState("annotations", "a reason", "@me", "2026-11-23", True, 1, "get_*"),
        WaiverState("array-items", "a reason", "@me", "2026-11-24", False, 0),
    )
