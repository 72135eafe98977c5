"""Reading and validation of `evals/tasks.yaml`, by its JSON Schema and by further checks."""

from __future__ import annotations

from collections.abc import Sequence

from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.ir.eval_references import find_references
from mcpgen.ir.eval_tasks import TASKS_FILE, EvalTask, LocatedTasks, TasksFile
from mcpgen.jsonschema.schemas import Schemas, UnusableSchemaError
from mcpgen.jsonschema.types import JsonValue
from mcpgen.manifest.typed_file import TypedFile, read_typed


def read_tasks_file(content: bytes, shown_as: str, problems: Problems) -> LocatedTasks:
    """Read the tasks.

    Raises:
        RejectedError: the file is invalid.
    """
    read = read_typed(content, shown_as or TASKS_FILE, TasksFile, "tasks", problems)
    seen: set[str] = set()
    for number, task in enumerate(read.value.tasks):
        at = ("tasks", str(number))
        if task.id in seen:
            read.refuse((*at, "id"), f"duplicate id `{task.id}`", "write a unique id")
        seen.add(task.id)
        if not task.goal.strip():
            read.refuse((*at, "goal"), "empty goal", "write what a user wants")
        if not task.calls and not task.state:
            read.refuse(
                (*at, "id"),
                f"task `{task.id}` requires nothing",
                "write `calls` that must happen, or the `state` afterwards",
            )
        _check_references(read, at, task)
    if problems.has_errors:
        raise RejectedError
    return LocatedTasks(read.value.tasks, read.at, read.refuse)


def _check_references(read: TypedFile[TasksFile], at: tuple[str, ...], task: EvalTask) -> None:
    """Check that each reference names an earlier call, and that schemas and checks are usable."""
    known: list[str] = []
    for number, call in enumerate(task.calls):
        place = (*at, "calls", str(number))
        for name in ("arguments", "sends"):
            _check_known(read, (*place, name), getattr(call, name), known)
        try:
            Schemas({}).checker(call.schema)
        except (UnusableSchemaError, KeyError) as error:
            read.refuse((*place, "schema"), f"invalid schema: {error}", "write a JSON Schema")
        if call.id in known:
            read.refuse((*place, "id"), f"duplicate call `{call.id}`", "write a unique id")
        known += [call.id] if call.id else []
    for number, check in enumerate(task.state):
        place = (*at, "state", str(number))
        if check.has is None and check.lacks is None and check.count is None:
            read.refuse(place, "the check requires nothing", "write `has`, `lacks` or `count`")
        for name in ("path", "has", "lacks"):
            _check_known(read, (*place, name), getattr(check, name), known)


def _check_known(
    read: TypedFile[TasksFile], at: tuple[str, ...], value: JsonValue, known: Sequence[str]
) -> None:
    """Report each reference to a call that is unknown there, at its own location."""
    if isinstance(value, dict):
        for name, each in value.items():
            _check_known(read, (*at, name), each, known)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            _check_known(read, (*at, str(number)), each, known)
    elif isinstance(value, str):
        for name in find_references(value):
            if name not in known:
                hint = did_you_mean(name, known, "write the `id` of an earlier call")
                read.refuse(at, f"unknown call `{name}`", hint)
