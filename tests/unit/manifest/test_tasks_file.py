"""Tests of `evals/tasks.yaml`: what is read, and what is rejected with its location."""

from __future__ import annotations

import jsonschema_rs
import pytest

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.eval_references import UnresolvedError, find_references, resolve
from mcpgen.ir.eval_tasks import TASKS_FILE, LocatedTasks, TasksFile
from mcpgen.manifest.tasks_file import read_tasks_file
from mcpgen.manifest.typed_file import json_schema

VALID = """\
version: 1
tasks:
  - id: adopt
    goal: Add Rex, and show him.
    calls:
      - tool: create_pet
        id: create
        arguments: {body: {name: Rex}}
        sends: {body: {species: dog}}
      - tool: get_pet
        arguments: {pet_id: $calls.create#/id}
        schema: {required: [pet_id]}
    forbidden: [{tool: delete_pet}]
    state: [{path: "/pets/{$calls.create#/id}/photos", count: 0}]
"""


def read(text: str) -> tuple[LocatedTasks | None, Problems]:
    problems = Problems()
    try:
        return read_tasks_file(text.encode(), TASKS_FILE, problems), problems
    except RejectedError:
        return None, problems


def test_a_valid_file_is_read() -> None:
    located, problems = read(VALID)
    assert located is not None
    assert not list(problems)
    (task,) = located.tasks
    assert [call.tool for call in task.calls] == ["create_pet", "get_pet"]
    assert (task.order, task.user) == ("given", "accept")
    assert str(located.at(("tasks", "0", "id"))) == "evals/tasks.yaml:3:9"


@pytest.mark.parametrize(
    ("old", "new", "place", "message", "help"),
    [
        ("forbidden:", "forbiden:", "13:5", "unknown key `forbiden`", "mean `forbidden`?"),
        ("version: 1", "version: 2", "1:10", "", ""),
        ("goal: Add Rex, and show him.", "goal: ' '", "4:11", "empty goal", "write what"),
        ("$calls.create#", "$calls.creat#", "11:29", "unknown call `creat`", "did you mean `crea"),
        ("id: create\n", "id: 'no id'\n", "7:13", "", ""),
        ("{required: [pet_id]}", "{type: 7}", "12:9", "invalid schema", "write a JSON Schema"),
        ("count: 0", "count: -1", "14:", "", ""),
        (", count: 0", "", "14:", "the check requires nothing", "write `has`, `lacks` or"),
        ('path: "/pets', 'path: "pets', "14:", "", ""),
        ("/{$calls.create#/id}/", "/{$calls.other#/id}/", "14:", "unknown call `other`", ""),
    ],
)
def test_an_invalid_file_is_rejected_with_the_location(
    old: str, new: str, place: str, message: str, help: str
) -> None:
    assert old in VALID
    located, problems = read(VALID.replace(old, new, 1))
    assert located is None
    first = next(iter(problems))
    assert str(first.at).startswith(f"evals/tasks.yaml:{place}")
    assert message in first.message
    assert help in first.help


def test_ids_are_unique_and_a_task_requires_something() -> None:
    twice = VALID + VALID.partition("tasks:\n")[2]
    assert "duplicate id `adopt`" in [it.message for it in read(twice)[1]]
    empty = "version: 1\ntasks: [{id: a, goal: Do nothing.}]\n"
    assert "task `a` requires nothing" in [it.message for it in read(empty)[1]]
    repeated = VALID.replace(
        "      - tool: get_pet\n", "      - tool: get_pet\n        id: create\n"
    )
    assert "duplicate call `create`" in [it.message for it in read(repeated)[1]]


def test_the_schema_and_its_examples_are_valid() -> None:
    schema = json_schema(TasksFile)
    assert jsonschema_rs.meta.is_valid(schema)
    assert schema["$defs"]["EvalTask"]["required"] == ["id", "goal"]


def test_references_are_resolved_at_any_depth() -> None:
    value = {"a": ["$calls.x#/list/0", {"b": "n {$calls.x#/n} of $calls.x#"}], "c": "$callsx"}
    assert [
        list(find_references(it)) for it in ("$calls.x#", "{$calls.x#/n} {$calls.y#}", "x")
    ] == [
        ["x"],
        ["x", "y"],
        [],
    ]
    assert resolve(value, {"x": {"list": [7], "n": 1}}) == {
        "a": [7, {"b": "n 1 of $calls.x#"}],
        "c": "$callsx",
    }
    for results in ({}, {"x": {"n": 1}}, {"x": {"list": 7, "n": 1}}):
        with pytest.raises(UnresolvedError):
            resolve(value, results)
