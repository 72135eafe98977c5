"""Types of `evals/tasks.yaml`, the tasks that `mcpgen eval` gives to an agent.

The JSON Schema of the file is made from these types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, field

from mcpgen.diagnostics import Location
from mcpgen.ir.manifest_entries import Entry, Text, key
from mcpgen.jsonschema.types import JsonObject

TASKS_FILE = "evals/tasks.yaml"

CallId: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
OptionalCallId: TypeAlias = Annotated[str, Meta(pattern="^([A-Za-z_][A-Za-z0-9_-]{0,63})?$")]
TaskId: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
ItemPath: TypeAlias = Annotated[str, Meta(pattern="^/")]
Count: TypeAlias = Annotated[int, Meta(ge=0)]


class ExpectedCall(Entry, frozen=True):
    """A tool call without which a task is not solved. It must succeed, unless it `fails`."""

    tool: Annotated[Text, key("The name of the tool.", "create_pet")]
    id: Annotated[
        OptionalCallId,
        key("A name by which later calls and the state refer to its result.", "create"),
    ] = ""
    arguments: Annotated[
        JsonObject,
        key(
            "Arguments that the call must have. Of an object, only the members that are written"
            " here count. `$calls.ID#/pointer` is the value at a JSON Pointer in the structured"
            " result of an earlier call.",
            {"body": {"name": "Rex"}},
            {"pet_id": "$calls.create#/id"},
        ),
    ] = field(default_factory=dict)
    schema: Annotated[
        JsonObject,
        key(
            "A JSON Schema (2020-12) that the arguments must satisfy as well.",
            {"properties": {"limit": {"maximum": 10}}},
        ),
    ] = field(default_factory=dict)
    sends: Annotated[
        JsonObject,
        key(
            "Further arguments of the scripted agent; another agent may send others.",
            {"body": {"species": "dog"}},
        ),
    ] = field(default_factory=dict)
    fails: Annotated[
        bool,
        key("Whether the call must fail, as one that the user declines.", True),
    ] = False


class ForbiddenCall(Entry, frozen=True):
    """A call that must not happen, whether it succeeds or not."""

    tool: Annotated[Text, key("The name of the tool.", "delete_pet")]
    arguments: Annotated[
        JsonObject,
        key("Only calls with these arguments; by default, all calls.", {"pet_id": 42}),
    ] = field(default_factory=dict)


class StateCheck(Entry, frozen=True):
    """Expected state of one collection of the stateful mock at the end."""

    path: Annotated[
        ItemPath,
        key(
            "The path of the collection; `{$calls.ID#/pointer}` in it stands for a value of a"
            " result.",
            "/pets",
            "/pets/{$calls.create#/id}/vaccinations",
        ),
    ]
    source: Annotated[
        str, key("Of a server with several documents: the source of the path.", "shop")
    ] = ""
    has: Annotated[
        JsonObject | None,
        key("Members of an item that must be stored.", {"name": "Rex"}),
    ] = None
    lacks: Annotated[
        JsonObject | None,
        key("Members that no stored item may have together.", {"id": 42}),
    ] = None
    count: Annotated[
        Count | None,
        key("The number of items: of those with the members in `has`, or else of all.", 2),
    ] = None


class EvalTask(Entry, frozen=True):
    """One task for an agent."""

    id: Annotated[TaskId, key("A unique name.", "adopt-a-pet")]
    goal: Annotated[
        Text,
        key(
            "What a user wants, in the words of a user. An agent gets only this and the tools.",
            "We have a new dog called Rex. Add him, and show me what you stored.",
        ),
    ]
    calls: Annotated[
        tuple[ExpectedCall, ...],
        key(
            "The calls that must happen; others may happen between them.",
            [{"tool": "create_pet", "id": "create"}],
        ),
    ] = ()
    order: Annotated[
        Literal["given", "any"],
        key("Whether the calls must happen in the order of `calls`.", "any"),
    ] = "given"
    forbidden: Annotated[
        tuple[ForbiddenCall, ...],
        key("The calls that must not happen.", [{"tool": "delete_pet"}]),
    ] = ()
    state: Annotated[
        tuple[StateCheck, ...],
        key(
            "What the mock must store after the last call.",
            [{"path": "/pets", "has": {"name": "Rex"}}],
        ),
    ] = ()
    user: Annotated[
        Literal["accept", "decline"],
        key("How the user answers when a tool asks for confirmation.", "decline"),
    ] = "accept"


class TasksFile(Entry, frozen=True):
    """Tasks for agents that use a server."""

    version: Annotated[Literal[1], key("The version of this format.", 1)]
    tasks: Annotated[
        tuple[EvalTask, ...],
        key("The tasks, in the order in which they run.", [{"id": "a", "goal": "Show all pets."}]),
    ]


class LocatedTasks(Struct, frozen=True):
    """The tasks of a file; `at` returns the location of a value by its keys and indexes."""

    tasks: tuple[EvalTask, ...]
    at: Callable[[tuple[str, ...]], Location]
    report: Callable[[tuple[str, ...], str, str], Any]  # an error: keys, message, help
