"""Workflows as they are understood: their steps, and the expressions that join them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, field

from mcpgen.diagnostics import Location
from mcpgen.ir.json_types import JsonObject, JsonSchema, JsonValue

WORKFLOW_PREFIX = "workflow:"  # begins what names one where other tools have operations
Tokens: TypeAlias = tuple[str, ...]


class Literal(Struct, frozen=True):
    """A value without members: a text, a number, a boolean or null."""

    value: JsonValue


class InputValue(Struct, frozen=True):
    """`$inputs.order#/id`: what stands at a JSON Pointer in one of the inputs."""

    name: str
    pointer: str = ""


class ItemValue(Struct, frozen=True):
    """`$item.isbn`: of the item that a step runs for."""

    pointer: str = ""


class OutputValue(Struct, frozen=True):
    """`$steps.find.outputs.isbn`: an output of a step, by its name."""

    step: str
    output: str
    pointer: str = ""


class ResponseValue(Struct, frozen=True):
    """`$response.body#/id`, `$response.header.ETag` or `$statusCode`; of `step` once that is known.

    `part` is "body", "header" or "status"; `selector` the pointer in the body or the header's name.
    """

    part: str
    selector: str = ""
    step: str = ""


class ListOf(Struct, frozen=True):
    """A list of values."""

    items: tuple[Value, ...]


class ObjectOf(Struct, frozen=True):
    """An object of values."""

    members: tuple[tuple[str, Value], ...]


Expression: TypeAlias = InputValue | ItemValue | OutputValue | ResponseValue
Value: TypeAlias = Literal | Expression | ListOf | ObjectOf


class Truth(Struct, frozen=True):
    """A value that counts as true or not."""

    value: Value


class Comparison(Struct, frozen=True):
    """`$statusCode == 200`; `operator` is one of `==`, `!=`, `<`, `<=`, `>`, `>=`."""

    left: Value
    operator: str
    right: Value


class Negation(Struct, frozen=True):
    """`!(...)`."""

    condition: Condition


class Junction(Struct, frozen=True):
    """Conditions of which all (`and`) or any (`or`) must hold."""

    word: str
    conditions: tuple[Condition, ...]


Condition: TypeAlias = Truth | Comparison | Negation | Junction


class Criterion(Struct, frozen=True):
    """A condition, and the text that it was read from."""

    condition: Condition
    text: str
    tokens: Tokens


class StepArgument(Struct, frozen=True):
    """What a step gives one argument: of the tool where `location` is "", else of the operation.

    `location` is that of an operation's parameter, or "body".
    """

    name: str
    location: str
    value: Value
    tokens: Tokens


class Action(Struct, frozen=True):
    """What follows a step where all of its criteria hold.

    `kind` is "end", "goto" with a later step as its `target`, or "retry" up to `limit` times.
    """

    kind: str
    criteria: tuple[Criterion, ...]
    tokens: Tokens
    target: str = ""
    limit: int = 1
    after_seconds: float = 0.0


class Step(Struct, frozen=True):
    """One call as it was written; `tokens` lead to it in the file."""

    id: str
    operation: str  # an operationId or a key: "GET /pets"
    arguments: tuple[StepArgument, ...]
    tokens: Tokens
    operation_tokens: Tokens
    when: Criterion | None = None
    for_each: Value | None = None
    for_each_tokens: Tokens = ()
    max_pages: int | None = None
    outputs: Mapping[str, Value] = field(default_factory=dict)
    outputs_tokens: Tokens = ()
    criteria: tuple[Criterion, ...] = ()
    on_success: tuple[Action, ...] = ()  # of which the first that fits is taken
    on_failure: tuple[Action, ...] = ()


class Workflow(Struct, frozen=True):
    """A workflow as it was written; `locate` finds the place of what stands at some tokens."""

    name: str
    title: str
    description: str
    inputs: JsonSchema
    steps: tuple[Step, ...]
    output: Value | None
    hints: JsonObject  # annotations that the manifest states
    locate: Callable[[Tokens], Location]
    tokens: Tokens
    inputs_tokens: Tokens
    output_tokens: Tokens
