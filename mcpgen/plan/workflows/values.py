"""Resolution of workflow expressions to the inputs and responses that supply their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import did_you_mean
from mcpgen.ir.api import Operation
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.ir.workflow import (
    Comparison,
    Condition,
    Expression,
    InputValue,
    ItemValue,
    Junction,
    ListOf,
    Literal,
    Negation,
    ObjectOf,
    OutputValue,
    ResponseValue,
    Step,
    Tokens,
    Truth,
    Value,
    Workflow,
)
from mcpgen.jsonschema.direction import Shape, Shapes
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.jsonschema.values import find_json_type
from mcpgen.plan.schemas.tool_schema import list_response_schemas
from mcpgen.text.json_pointer import json_pointer, pointer_tokens


class NothingThereError(ValueError):
    """A JSON Pointer that no value of a schema has; the message states what exists instead."""


class Known(Struct, frozen=True):
    """A schema and the definitions that it refers to."""

    schema: JsonSchema
    shapes: Shapes

    @property
    def shape(self) -> Shape:
        """The shape of the schema."""
        return self.shapes.of(self.schema)

    @property
    def types(self) -> frozenset[str]:
        """The allowed JSON types; empty if any is allowed."""
        return frozenset(self.shape.types)

    def at(self, pointer: str) -> Known:
        """Return the part at a JSON Pointer.

        Raises:
            NothingThereError: no valid value has this part.
        """
        known = self
        for token in pointer_tokens(pointer):
            known = replace(known, schema=_find_child(known.shape, token))
        return known


def _find_child(shape: Shape, token: str) -> JsonSchema:
    keywords = shape.keywords
    if {"anyOf", "oneOf", "patternProperties"} & keywords.keys():
        return True
    types = set(shape.types)
    if types and not types & {"object", "array"}:
        raise NothingThereError(f"a value of type {' or '.join(sorted(types))} has no members")
    properties = keywords.get("properties", {})
    if token in properties:
        schema: JsonSchema = properties[token]
        if schema is False:
            raise NothingThereError(f"`{token}` must be omitted")
        return schema
    if token.isdecimal() and "object" not in types:
        items: JsonSchema = keywords.get("items", True)
        return items
    if types == {"array"}:
        raise NothingThereError(f"a list has no member `{token}`; `/0` is its first item")
    extra: JsonSchema = keywords.get("additionalProperties", not properties)
    if extra is False:
        hint = did_you_mean(token, properties, f"it has {_format_names(properties)}")
        raise NothingThereError(f"unknown member `{token}`; {hint}")
    return extra


def _format_names(names: Mapping[str, object]) -> str:
    shown = [f"`{name}`" for name in sorted(names)[:8]]
    return ", ".join(shown) or "none"


ANYTHING = Known(True, Shapes({}, "response"))


def find_response_schema(operation: Operation, shapes: Shapes) -> Known:
    """Return the schema of the body of a successful response."""
    found, is_sure = list_response_schemas(operation)
    return Known(found[0], shapes) if len(found) == 1 and is_sure else ANYTHING


def describe_mismatch(types: frozenset[str], expected: frozenset[str]) -> str:
    """Describe why no value of some types can be of others; "" if one can, or if unknown."""
    if not types or not expected or types & expected:
        return ""
    if ("number" in expected and "integer" in types) or (
        "integer" in expected and "number" in types
    ):
        return ""
    return f"it is {_format_types(types)}, and {_format_types(expected)} is wanted"


def _format_types(types: frozenset[str]) -> str:
    named = sorted(types - {"null"}) or ["null"]
    return " or ".join(f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in named)


def read_literal(value: Value) -> tuple[bool, JsonValue]:
    """Return whether a value contains no expressions, and its value then."""
    match value:
        case Literal(value=plain):
            return True, plain
        case ListOf(items=items):
            found = [read_literal(item) for item in items]
            return all(is_plain for is_plain, _ in found), [plain for _, plain in found]
        case ObjectOf(members=members):
            named = {name: read_literal(item) for name, item in members}
            is_plain = all(is_plain for is_plain, _ in named.values())
            return is_plain, {name: plain for name, (_, plain) in named.items()}
        case _:
            return False, None


def list_literal_types(value: Literal | ListOf | ObjectOf) -> frozenset[str]:
    """Return the JSON types of a literal value."""
    match value:
        case ListOf():
            return frozenset({"array"})
        case ObjectOf():
            return frozenset({"object"})
        case Literal(value=plain):
            return frozenset({find_json_type(plain)})


Refuse = Callable[[str, str, Tokens, str, str], None]
"""Reports a problem: its code, message and place, the reason and the help."""

_SCHEMAS_OF_PARTS: Mapping[str, JsonSchema] = {
    "header": {"type": "string"},
    "status": {"type": "integer"},
}  # of a response, beside its body
REFUSED = ResponseValue("")  # in place of a rejected value, so that it is reported once


class WorkflowValues:
    """The values of one workflow, as far as its steps are planned."""

    def __init__(self, workflow: Workflow, responses: Shapes, refuse: Refuse) -> None:
        """Begin without steps; `responses` has the schemas of responses."""
        self._workflow = workflow
        self._responses = responses
        self._refuse = refuse
        self._steps: dict[str, Step] = {}
        self._step_tools: dict[str, ToolPlan | None] = {}
        self._skippable = _find_skippable(workflow)
        self.inputs = _read_inputs(workflow)

    def has(self, step: str) -> bool:
        """Whether a step with this id was planned."""
        return step in self._steps

    def add(self, step: Step, tool: ToolPlan | None) -> None:
        """Add a planned step, whose response later steps can use."""
        self._steps[step.id], self._step_tools[step.id] = step, tool

    @property
    def tools(self) -> list[ToolPlan]:
        """The tools of the planned steps."""
        return [tool for tool in self._step_tools.values() if tool is not None]

    def find_whole_body(self, value: ResponseValue) -> ToolPlan | None:
        """Return the tool whose whole result a value always is, or None."""
        step = self._steps.get(value.step)
        if step is None or value.part != "body" or value.selector:
            return None
        is_sure = step.for_each is None and step.when is None and step.id not in self._skippable
        return self._step_tools[step.id] if is_sure else None

    def find_types(self, value: Value, items: Value | None = None) -> frozenset[str]:
        """Return the possible JSON types of a value; empty if any is possible.

        `items` is the list of `$item`.
        """
        if isinstance(value, Literal | ListOf | ObjectOf):
            return list_literal_types(value)
        return self.find_schema(value, items).types

    def resolve_condition(
        self, condition: Condition, tokens: Tokens, step: Step | None = None
    ) -> Condition:
        """Return a condition with its values resolved; `step` is as in `resolve`."""
        match condition:
            case Truth(value=value):
                return Truth(self.resolve(value, tokens, step))
            case Comparison(left=left, operator=operator, right=right):
                left, right = (self.resolve(side, tokens, step) for side in (left, right))
                return Comparison(left, operator, right)
            case Negation(condition=inner):
                return Negation(self.resolve_condition(inner, tokens, step))
            case Junction(word=word, conditions=parts):
                resolved = (self.resolve_condition(part, tokens, step) for part in parts)
                return Junction(word, tuple(resolved))

    def resolve(
        self, value: Value, tokens: Tokens, step: Step | None = None, items: Value | None = None
    ) -> Value:
        """Return a value with its expressions resolved to existing inputs and responses.

        `step` is the one whose response `$response` refers to, `items` the list of `$item`.
        """
        match value:
            case ListOf(items=parts):
                resolved = (
                    self.resolve(part, (*tokens, str(at)), step, items)
                    for at, part in enumerate(parts)
                )
                return ListOf(tuple(resolved))
            case ObjectOf(members=members):
                named = (
                    (name, self.resolve(member, (*tokens, name), step, items))
                    for name, member in members
                )
                return ObjectOf(tuple(named))
            case Literal():
                return value
            case OutputValue():
                found = self._resolve_output(value, tokens)
            case ResponseValue() if step is not None:
                found = replace(value, step=step.id)
            case _:
                found = value
        if found is None or not self._is_there(found, tokens, step, items):
            return REFUSED
        return found

    def _resolve_output(self, value: OutputValue, tokens: Tokens) -> Expression | None:
        """Return the value of an output of an earlier step."""
        step = self._steps.get(value.step)
        if step is None:
            self._refuse_step(value.step, tokens)
            return None
        output = step.outputs.get(value.output)
        if output is None:
            names = ", ".join(f"`{name}`" for name in step.outputs) or "none"
            self._refuse(
                "workflow-output",
                f"the step `{step.id}` has no output `{value.output}`",
                tokens,
                "the value would never be there",
                did_you_mean(value.output, step.outputs, f"its outputs are {names}"),
            )
            return None
        if step.for_each is not None and value.pointer:
            self._refuse(
                "workflow-output",
                f"`{value.output}` of `{step.id}` is a list, one for each item",
                tokens,
                "a part of it says nothing of which item is meant",
                "take that part in the output itself: `$response.body#/pointer`",
            )
            return None
        match output:
            case ResponseValue(part="body", selector=pointer):
                return ResponseValue("body", pointer + value.pointer, step.id)
            case ResponseValue():
                return replace(output, step=step.id)
            case InputValue(name=name, pointer=pointer):
                return InputValue(name, pointer + value.pointer)
            case OutputValue():
                inner = replace(output, pointer=output.pointer + value.pointer)
                return self._resolve_output(inner, tokens)
            case _:
                self._refuse(
                    "workflow-output",
                    f"the output `{value.output}` of `{step.id}` is not an expression",
                    (*step.outputs_tokens, value.output),
                    "an output selects the part of the response that later steps use",
                    "write `$response.body#/pointer`; a literal can stand where it is used",
                )
                return None

    def _refuse_step(self, name: str, tokens: Tokens) -> None:
        ids = [step.id for step in self._workflow.steps]
        existing = ", ".join(f"`{each}`" for each in ids)
        if name in ids:
            self._refuse(
                "workflow-cycle",
                f"the step `{name}` runs after this one",
                tokens,
                "a step can use only the outputs of earlier steps",
                f"move `{name}` up, or use another value",
            )
        else:
            self._refuse(
                "workflow-step",
                f"no step is called `{name}`",
                tokens,
                "the value would never be there",
                did_you_mean(name, self._steps, f"the steps are {existing}"),
            )

    def _is_there(
        self, value: Expression, tokens: Tokens, step: Step | None, items: Value | None
    ) -> bool:
        match value:
            case InputValue(name=name):
                names = self.inputs.shape.keywords.get("properties", {})
                if name not in names:
                    self._refuse(
                        "workflow-input",
                        f"the workflow has no input `{name}`",
                        tokens,
                        "the value would never be there",
                        did_you_mean(name, names, "add it to `inputs`"),
                    )
                    return False
            case ItemValue() if items is None:
                self._refuse(
                    "workflow-item",
                    "`$item` outside of a step with `for_each`",
                    tokens,
                    "only a step with `for_each` has items",
                    "add `for_each`, or use `$inputs` or `$steps`",
                )
                return False
            case ResponseValue(step="") if step is None:
                self._refuse(
                    "workflow-response",
                    "`$response` outside of the outputs of a step",
                    tokens,
                    "only the outputs of a step can refer to its response",
                    "name it as an output of the step, and use `$steps.id.outputs.name`",
                )
                return False
        try:
            self.find_schema(value, items)
        except NothingThereError as error:
            self._refuse(
                "workflow-type",
                f"invalid JSON Pointer: {error}",
                tokens,
                "the document describes the members of the response",
                "correct the JSON Pointer",
            )
            return False
        return True

    def find_schema(self, value: Value, items: Value | None = None) -> Known:
        """Return the schema of a value.

        Raises:
            NothingThereError: the schemas exclude that there is a value.
        """
        match value:
            case InputValue(name=name, pointer=pointer):
                return self.inputs.at(json_pointer((name,))).at(pointer)
            case ItemValue(pointer=pointer) if items is not None:
                return self.find_schema(items).at("/0").at(pointer)
            case ResponseValue(part=part, selector=selector, step=step):
                tool = self._step_tools.get(step)
                if tool is None:
                    return ANYTHING
                known = replace(ANYTHING, schema=_SCHEMAS_OF_PARTS.get(part, True))
                if part == "body":
                    known = find_response_schema(tool.operation, self._responses).at(selector)
                is_repeated = self._steps[step].for_each is not None
                if not is_repeated:
                    return known
                return replace(known, schema={"type": "array", "items": known.schema})
            case _:
                return ANYTHING


def _find_skippable(workflow: Workflow) -> set[str]:
    """Return the steps that an action, or their own failure, may skip."""
    ids = [step.id for step in workflow.steps]
    found: set[str] = set()
    for at, step in enumerate(workflow.steps):
        for action in step.on_success:
            end = ids.index(action.target) if action.kind == "goto" else len(ids)
            found.update(ids[at + 1 : end])
        for action in step.on_failure:
            if action.kind == "goto":
                found.update(ids[at : ids.index(action.target)])
    return found


def _read_inputs(workflow: Workflow) -> Known:
    keywords = workflow.inputs if isinstance(workflow.inputs, dict) else {}
    return Known({"type": "object", **keywords}, Shapes(keywords.get("$defs", {}), "request"))
