"""Planning of workflows as tools, with all steps checked against their operations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import SkippedOperation
from mcpgen.ir.tool_plan import Annotation, Argument, ToolPlan, WorkflowPlan, WorkflowResult
from mcpgen.ir.workflow import (
    ListOf,
    Literal,
    ObjectOf,
    ResponseValue,
    Step,
    Tokens,
    Value,
    Workflow,
)
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.naming.names import derive_argument_name, to_class_name, to_identifier
from mcpgen.plan.schemas.tool_schema import ToolSchemas
from mcpgen.plan.schemas.types import Types
from mcpgen.plan.tools.own_arguments import describe_continuation
from mcpgen.plan.tools.targets import token_cost
from mcpgen.plan.workflows.steps import WorkflowSteps
from mcpgen.plan.workflows.values import ANYTHING, Known, WorkflowValues, list_literal_types
from mcpgen.text.identifiers import Identifier
from mcpgen.text.json_pointer import json_pointer
from mcpgen.text.prose import plain_line, plain_text

_TAKEN = frozenset(
    {"compare", "ctx", "flow", "item", "result", "tools", "value_at", "without_absent"}
)


def plan_workflows(
    workflows: Iterable[Workflow],
    tools: Mapping[str, ToolPlan],
    skipped: Iterable[SkippedOperation],
    schemas: ToolSchemas,
    problems: Problems,
) -> tuple[WorkflowPlan, ...]:
    """Plan the workflows, by name; report those that do not match the tools (by operation key)."""
    return tuple(
        _Planning(workflow, tools, skipped, schemas, problems).plan()
        for workflow in sorted(workflows, key=lambda workflow: workflow.name)
    )


class _Planning:
    """Planning of one workflow."""

    def __init__(
        self,
        workflow: Workflow,
        tools: Mapping[str, ToolPlan],
        skipped: Iterable[SkippedOperation],
        schemas: ToolSchemas,
        problems: Problems,
    ) -> None:
        self._workflow = workflow
        self._tools = tools
        self._schemas = schemas
        self._problems = problems
        self._values = WorkflowValues(workflow, schemas.responses, self._refuse)
        self._steps = WorkflowSteps(self._values, tools, skipped, schemas.requests, self._refuse)

    def plan(self) -> WorkflowPlan:
        workflow = self._workflow
        self._check_name()
        self._check_inputs()
        arguments = self._plan_arguments()
        variables = _choose_variables(workflow.steps, [item.identifier for item in arguments])
        steps = tuple(self._steps.plan_step(step, variables[step.id]) for step in workflow.steps)
        output: Value = ResponseValue("body", step=workflow.steps[-1].id)
        if workflow.output is not None:
            output = self._values.resolve(workflow.output, workflow.output_tokens)
        title = workflow.title or plain_line(workflow.name.replace("_", " ")).capitalize()
        listed = self._schemas.output(self._build_listed_schema(output))
        annotations = self._merge_annotations(title) | workflow.hints
        properties = self._input_keywords.get("properties", {})
        continuation = describe_continuation(annotations, ("application/json",), properties)
        plan = WorkflowPlan(
            name=workflow.name,
            function=to_identifier(workflow.name),
            call_type=to_identifier(f"Workflow{to_class_name(workflow.name)}Call"),
            title=title,
            description=self._build_description(title),
            arguments=arguments,
            input_schema={
                "type": "object",
                **self._input_keywords,
                "properties": {**properties, **continuation},
                "additionalProperties": False,
            },
            output_schema=listed.schema,
            result_key=listed.result_key,
            returns=self._returns(output),
            annotations=annotations,
            continuation="".join(continuation),
            steps=steps,
            output=output,
            token_cost=0,
        )
        return replace(plan, token_cost=token_cost(plan))

    def _check_name(self) -> None:
        name = self._workflow.name
        for tool in self._tools.values():
            if name == tool.name or name in tool.aliases:
                self._refuse(
                    "name-collision",
                    f"`{name}` is already the tool of `{tool.operation.key}`",
                    self._workflow.tokens,
                    "a client could call only one of them",
                    "call one of them differently",
                )

    def _check_inputs(self) -> None:
        if not isinstance(self._workflow.inputs, dict) or (
            self._workflow.inputs.get("type", "object") != "object"
        ):
            self._refuse(
                "workflow-inputs",
                "the inputs of a workflow must be an object",
                self._workflow.inputs_tokens,
                "arguments of a tool have names",
                "write `type: object` and `properties`",
            )

    @property
    def _input_keywords(self) -> JsonObject:
        return self._workflow.inputs if isinstance(self._workflow.inputs, dict) else {}

    def _plan_arguments(self) -> tuple[Argument, ...]:
        keywords = self._values.inputs.shape.keywords
        types = Types(self._values.inputs.shapes, self._values.inputs.shapes, models=False)
        found = []
        for name, schema in keywords.get("properties", {}).items():
            known = self._values.inputs.at(json_pointer((name,))).shape
            found.append(
                Argument(
                    name=name,
                    identifier=_choose_free_name(derive_argument_name(name), _TAKEN),
                    location="input",
                    wire_name=name,
                    required=name in keywords.get("required", ()),
                    annotation=types.of(schema, "request", "").annotation,
                    schema=schema,
                    default=known.keywords.get("default", UNSET),
                )
            )
        return tuple(sorted(found, key=lambda item: (not item.required, item.default is UNSET)))

    def _build_description(self, title: str) -> str:
        description = plain_text(self._workflow.description) or f"{title}."
        calls = ", ".join(f"`{step.id}`" for step in self._workflow.steps)
        return f"{description}\n\nIn {len(self._workflow.steps)} steps: {calls}."

    def _merge_annotations(self, title: str) -> JsonObject:
        """Return annotations as strict as those of the least harmless step."""
        hints = [tool.annotations for tool in self._values.tools]
        derived: JsonObject = {"title": title, "openWorldHint": True}
        derived["readOnlyHint"] = all(hint.get("readOnlyHint", False) for hint in hints)
        derived["destructiveHint"] = any(hint["destructiveHint"] for hint in hints)
        derived["idempotentHint"] = all(hint.get("idempotentHint", False) for hint in hints)
        return derived

    def _build_listed_schema(self, value: Value) -> JsonObject:
        """Return the schema of the result; its references are to definitions of the API."""
        match value:
            case ObjectOf(members=members):
                properties = {name: self._build_listed_schema(item) for name, item in members}
                return {"type": "object", "properties": properties}
            case ListOf(items=items):
                schemas = [self._build_listed_schema(item) for item in items]
                return {"type": "array", "items": {"anyOf": schemas} if schemas else {}}
            case Literal():
                return {"type": sorted(list_literal_types(value))}
            case _:
                known = self._values.find_schema(value)
                if known.shapes is self._schemas.responses and isinstance(known.schema, dict):
                    return known.schema
                return {"type": sorted(known.types)} if known.types else {}

    def _returns(self, output: Value) -> Annotation | WorkflowResult:
        """Return the type of the result, as precise as the schemas allow."""
        if isinstance(output, ResponseValue) and (tool := self._values.find_whole_body(output)):
            return tool.returns
        if not isinstance(output, ObjectOf):
            return self._build_annotation(output)
        try:
            fields = [Identifier(name) for name, _ in output.members]
        except ValueError:  # a class cannot declare this key
            return Annotation("dict[str, object]")
        types = (self._build_annotation(item) for _, item in output.members)
        name = to_identifier(f"{to_class_name(self._workflow.name)}Result")
        return WorkflowResult(name, tuple(zip(fields, types, strict=True)))

    def _build_annotation(self, value: Value) -> Annotation:
        if isinstance(value, Literal | ListOf | ObjectOf):
            known = Known({"type": sorted(list_literal_types(value))}, ANYTHING.shapes)
        else:
            known = self._values.find_schema(value)
        types = Types(known.shapes, known.shapes, models=False)
        return types.of(known.schema, "response", "").annotation

    def _refuse(self, code: str, message: str, tokens: Tokens, why: str, help: str) -> None:
        at = self._workflow.locate(tokens)
        self._problems.error(code, message, at=at, why=why, help=help)


def _choose_variables(
    steps: Sequence[Step], arguments: Collection[Identifier]
) -> dict[str, Identifier]:
    """Return the variable of each step by its id."""
    taken = {*_TAKEN, *arguments}
    found: dict[str, Identifier] = {}
    for step in steps:
        name = _choose_free_name(derive_argument_name(step.id), taken)
        taken.add(name)
        found.setdefault(step.id, name)
    return found


def _choose_free_name(name: str, taken: Collection[str]) -> Identifier:
    while name in taken:
        name += "_"
    return to_identifier(name)
