"""The IR of workflows: steps, expressions, conditions and actions, from mcpgen.yaml or Arazzo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, field

from mcpgen.diagnostics import Location
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue

WORKFLOW_PREFIX = "workflow:"  # a workflow's name has it where other tools have operation keys
Tokens: TypeAlias = tuple[str, ...]


class Literal(Struct, frozen=True):
    """A scalar JSON value: a string, a number, a boolean or null."""

    value: JsonValue


class InputValue(Struct, frozen=True):
    """`$inputs.order#/id`: the value at a JSON Pointer in an input."""

    name: str
    pointer: str = ""


class ItemValue(Struct, frozen=True):
    """`$item.isbn`: the value at a JSON Pointer in the current item of `for_each`."""

    pointer: str = ""


class OutputValue(Struct, frozen=True):
    """`$steps.find.outputs.isbn`: a named output of a step."""

    step: str
    output: str
    pointer: str = ""


class ResponseValue(Struct, frozen=True):
    """`$response.body#/id`, `$response.header.ETag` or `$statusCode`, of the step `step`.

    `part` is "body", "header" or "status". `selector` is the pointer in the body or the header's
    name. `step` is "" until planning sets it.
    """

    part: str
    selector: str = ""
    step: str = ""


class ListOf(Struct, frozen=True):
    """An array of values."""

    items: tuple[Value, ...]


class ObjectOf(Struct, frozen=True):
    """An object of values."""

    members: tuple[tuple[str, Value], ...]


Expression: TypeAlias = InputValue | ItemValue | OutputValue | ResponseValue
Value: TypeAlias = Literal | Expression | ListOf | ObjectOf


class Truth(Struct, frozen=True):
    """The truth of a value."""

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
    """Conditions of which all (`word` is "and") or any ("or") must be true."""

    word: str
    conditions: tuple[Condition, ...]


Condition: TypeAlias = Truth | Comparison | Negation | Junction


class Criterion(Struct, frozen=True):
    """A condition and its source text."""

    condition: Condition
    text: str
    tokens: Tokens


class StepArgument(Struct, frozen=True):
    """The value of one argument of a step.

    It is an argument of the tool if `location` is "", else a parameter of the operation with this
    location, or its "body".
    """

    name: str
    location: str
    value: Value
    tokens: Tokens


class Action(Struct, frozen=True):
    """An action after a step, taken if all its criteria are true.

    `kind` is "end", "goto" with a later step as its `target`, or "retry" up to `limit` times.
    """

    kind: str
    criteria: tuple[Criterion, ...]
    tokens: Tokens
    target: str = ""
    limit: int = 1
    after_seconds: float = 0.0


class Step(Struct, frozen=True):
    """One step of a workflow; `tokens` is its place in the file."""

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
    on_success: tuple[Action, ...] = ()  # the first one whose criteria are true is taken
    on_failure: tuple[Action, ...] = ()


class Workflow(Struct, frozen=True):
    """A workflow; `locate` finds the place of a value in the file by its tokens."""

    name: str
    title: str
    description: str
    inputs: JsonSchema
    steps: tuple[Step, ...]
    output: Value | None
    hints: JsonObject  # annotations in the manifest
    locate: Callable[[Tokens], Location]
    tokens: Tokens
    inputs_tokens: Tokens
    output_tokens: Tokens
