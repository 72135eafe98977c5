"""Tests of required and forbidden calls among those that an agent made."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.factory.eval.calls import MadeCall, Matching, find_forbidden, match_calls
from mcpgen.ir.eval_tasks import EvalTask, ExpectedCall, ForbiddenCall


def made(tool: str, result: Any = None, error: str = "", **arguments: Any) -> MadeCall:
    return MadeCall(tool, arguments, error, result)


def match(calls: list[MadeCall], *wanted: ExpectedCall, order: Any = "given") -> Matching:
    return match_calls(EvalTask(id="t", goal="g", calls=wanted, order=order), calls)


CREATE = ExpectedCall(tool="create", id="new", arguments={"body": {"name": "Rex"}})
GET = ExpectedCall(tool="get", arguments={"id": "$calls.new#/id"})


def test_other_calls_and_other_members_are_allowed_between() -> None:
    calls = [
        made("list"),
        made("create", {"id": 7}, body={"name": "Rex", "age": 3}),
        made("list"),
        made("get", id=7, fields=["name"]),
    ]
    found = match(calls, CREATE, GET)
    assert (found.missing, found.results) == ("", {"new": {"id": 7}})


def test_a_later_call_may_be_the_one_that_others_refer_to() -> None:
    calls = [
        made("create", {"id": 7}, body={"name": "Rex"}),
        made("create", {"id": 8}, body={"name": "Rex"}),
        made("get", id=8),
    ]
    assert match(calls, CREATE, GET).results == {"new": {"id": 8}}


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ([], "`create` was not called"),
        ([made("list"), made("drop")], "`create` was not called; called instead: drop, list"),
        (
            [made("create", body={"name": "Tom"})],
            '`create` was called with {"body": {"name": "Tom"}}, expected {"body": {"name": "R',
        ),
        ([made("create", None, "409 Conflict", body={"name": "Rex"})], "`create` failed: 409 Conf"),
        (
            [made("get", id=7), made("create", {"id": 7}, body={"name": "Rex"})],
            "`get` was not called after the call before it",
        ),
        (
            [made("create", {"id": 7}, body={"name": "Rex"}), made("get", id=True)],
            '`get` was called after the call before it with {"id": true}, expected {"id": 7}',
        ),
        (
            [made("create", "no object", body={"name": "Rex"}), made("get", id=7)],
            "`get` cannot be compared: the result of `new` has nothing at `/id`",
        ),
    ],
)
def test_the_first_missing_call_is_explained(calls: list[MadeCall], reason: str) -> None:
    assert match(calls, CREATE, GET).missing.startswith(reason)


def test_any_order() -> None:
    calls = [made("b"), made("a")]
    wanted = (ExpectedCall(tool="a"), ExpectedCall(tool="b"))
    assert match(calls, *wanted, order="any").missing == ""
    assert match(calls, *wanted).missing != ""


def test_one_call_does_not_count_twice() -> None:
    wanted = (ExpectedCall(tool="a"), ExpectedCall(tool="a"))
    assert match([made("a")], *wanted, order="any").missing.startswith("`a` was not called")
    assert match([made("a"), made("a")], *wanted, order="any").missing == ""


def test_a_call_that_must_fail() -> None:
    wanted = ExpectedCall(tool="drop", arguments={"id": 1}, fails=True)
    declined = made("drop", None, "the user declined", id=1)
    assert match([declined], wanted).missing == ""
    assert match([made("drop", id=1)], wanted).missing == "`drop` succeeded, but must fail"
    assert match([], wanted).missing == "`drop` was not called"
    assert match([declined], ExpectedCall(tool="drop")).missing.startswith("`drop` failed")


def test_a_schema_constrains_arguments() -> None:
    wanted = ExpectedCall(tool="list", schema={"properties": {"limit": {"maximum": 10}}})
    assert match([made("list", limit=5)], wanted).missing == ""
    assert "violates `schema`" in match([made("list", limit=50)], wanted).missing


def test_the_search_ends_on_many_equal_calls() -> None:
    calls = [made("a", {"id": number}) for number in range(60)]
    wanted = [ExpectedCall(tool="a", id=f"n{number}") for number in range(12)]
    assert match(calls, *wanted, ExpectedCall(tool="never"), order="any").missing


def test_forbidden_calls_count_even_if_they_failed() -> None:
    task = EvalTask(
        id="t",
        goal="g",
        forbidden=(ForbiddenCall(tool="drop", arguments={"id": 1}), ForbiddenCall(tool="purge")),
    )
    assert list(find_forbidden(task, [made("drop", id=2), made("get")])) == []
    calls = [made("drop", id=2), made("drop", None, "404", id=1), made("purge")]
    assert list(find_forbidden(task, calls)) == [
        "`drop` must not be called; call 2 did",
        "`purge` must not be called; call 3 did",
    ]
