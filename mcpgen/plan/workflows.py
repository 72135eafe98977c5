"""From workflows as they are written to tools whose steps are sure to fit their operations."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from keyword import iskeyword

from msgspec import UNSET
from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import LeftOut
from mcpgen.ir.identifiers import Identifier
from mcpgen.ir.json_pointer import json_pointer
from mcpgen.ir.json_types import JsonObject
from mcpgen.ir.tool_plan import (
    Annotation,
    Argument,
    StepPlan,
    ToolPlan,
    WorkflowPlan,
    WorkflowResult,
)
from mcpgen.ir.workflow import (
    Action,
    Criterion,
    ListOf,
    Literal,
    ObjectOf,
    ResponseValue,
    Step,
    StepArgument,
    Tokens,
    Value,
    Workflow,
)
from mcpgen.plan.descriptions import clean, one_line
from mcpgen.plan.intent import names_of
from mcpgen.plan.naming import argument_name, identifier, pascal_case
from mcpgen.plan.token_cost import token_cost
from mcpgen.plan.tool_schema import ToolSchemas
from mcpgen.plan.types import Types
from mcpgen.plan.workflow_conditions import needs_answer
from mcpgen.plan.workflow_types import (
    ANYTHING,
    Known,
    NothingThereError,
    literal_of,
    mismatch,
    types_of_literal,
)
from mcpgen.plan.workflow_values import REFUSED, WorkflowValues
from mcpgen.runtime.testing.samples import Samples

_TAKEN = frozenset(
    {"compare", "ctx", "flow", "item", "result", "tools", "value_at", "without_absent"}
)


def plan_workflows(
    workflows: Iterable[Workflow],
    tools: Mapping[str, ToolPlan],
    left_out: Iterable[LeftOut],
    schemas: ToolSchemas,
    problems: Problems,
) -> tuple[WorkflowPlan, ...]:
    """Plan the workflows, by name; what does not fit the tools (by operation key) is an error."""
    return tuple(
        _Planning(workflow, tools, left_out, schemas, problems).plan()
        for workflow in sorted(workflows, key=lambda workflow: workflow.name)
    )


class _Planning:
    """One workflow that is being planned."""

    def __init__(
        self,
        workflow: Workflow,
        tools: Mapping[str, ToolPlan],
        left_out: Iterable[LeftOut],
        schemas: ToolSchemas,
        problems: Problems,
    ) -> None:
        self._workflow = workflow
        self._tools: dict[str, ToolPlan] = {
            name: tool for tool in tools.values() for name in names_of(tool.operation)
        }
        self._left_out = {item.operation for item in left_out}
        self._schemas = schemas
        self._problems = problems
        self._values = WorkflowValues(workflow, schemas.responses, self._refuse)

    def plan(self) -> WorkflowPlan:
        workflow = self._workflow
        self._check_name()
        self._check_inputs()
        arguments = self._arguments()
        variables = _variables(workflow.steps, [item.identifier for item in arguments])
        steps = tuple(self._step(step, variables[step.id]) for step in workflow.steps)
        output: Value = ResponseValue("body", step=workflow.steps[-1].id)
        if workflow.output is not None:
            output = self._values.resolved(workflow.output, workflow.output_tokens)
        title = workflow.title or one_line(workflow.name.replace("_", " ")).capitalize()
        listed = self._schemas.output(self._listed(output))
        plan = WorkflowPlan(
            name=workflow.name,
            function=identifier(workflow.name),
            call_type=identifier(f"Workflow{pascal_case(workflow.name)}Call"),
            title=title,
            description=self._description(title),
            arguments=arguments,
            input_schema={"type": "object", **self._input_keywords, "additionalProperties": False},
            output_schema=listed.schema,
            result_key=listed.result_key,
            returns=self._returns(output),
            annotations=self._annotations(title) | workflow.hints,
            steps=steps,
            output=output,
            token_cost=0,
        )
        return replace(plan, token_cost=token_cost(plan))

    # What clients see

    def _check_name(self) -> None:
        name = self._workflow.name
        for tool in self._step_free_tools():
            if name == tool.name or name in tool.aliases:
                self._refuse(
                    "name-collision",
                    f"`{name}` is the tool of `{tool.operation.key}` already",
                    self._workflow.tokens,
                    "a client could call only one of them",
                    "call one of them differently",
                )

    def _step_free_tools(self) -> Iterable[ToolPlan]:
        return {tool.operation.key: tool for tool in self._tools.values()}.values()

    def _check_inputs(self) -> None:
        if not isinstance(self._workflow.inputs, dict) or (
            self._workflow.inputs.get("type", "object") != "object"
        ):
            self._refuse(
                "workflow-inputs",
                "the inputs of a workflow are an object",
                self._workflow.inputs_tokens,
                "arguments of a tool have names",
                "write `type: object` and `properties`",
            )

    @property
    def _input_keywords(self) -> JsonObject:
        return self._workflow.inputs if isinstance(self._workflow.inputs, dict) else {}

    def _arguments(self) -> tuple[Argument, ...]:
        keywords = self._values.inputs.shape.keywords
        types = Types(self._values.inputs.shapes, self._values.inputs.shapes, models=False)
        found = []
        for name, schema in keywords.get("properties", {}).items():
            known = self._values.inputs.at(json_pointer((name,))).shape
            found.append(
                Argument(
                    name=name,
                    identifier=_free(argument_name(name), _TAKEN),
                    location="input",
                    wire_name=name,
                    required=name in keywords.get("required", ()),
                    annotation=types.of(schema, "request", "").annotation,
                    schema=schema,
                    default=known.keywords.get("default", UNSET),
                )
            )
        return tuple(sorted(found, key=lambda item: (not item.required, item.default is UNSET)))

    def _description(self, title: str) -> str:
        told = clean(self._workflow.description) or f"{title}."
        calls = ", ".join(f"`{step.id}`" for step in self._workflow.steps)
        return f"{told}\n\nIn {len(self._workflow.steps)} steps: {calls}."

    def _annotations(self, title: str) -> JsonObject:
        """Derived from the steps: as harmless as the least harmless of them."""
        hints = [tool.annotations for tool in self._values.tools]
        derived: JsonObject = {"title": title, "openWorldHint": True}
        derived["readOnlyHint"] = all(hint.get("readOnlyHint", False) for hint in hints)
        if all("destructiveHint" in hint for hint in hints):
            derived["destructiveHint"] = any(hint["destructiveHint"] for hint in hints)
        derived["idempotentHint"] = all(hint.get("idempotentHint", False) for hint in hints)
        return derived

    def _listed(self, value: Value) -> JsonObject:
        """A schema of what comes back; references are to the definitions of the API."""
        match value:
            case ObjectOf(members=members):
                properties = {name: self._listed(item) for name, item in members}
                return {"type": "object", "properties": properties}
            case ListOf(items=items):
                schemas = [self._listed(item) for item in items]
                return {"type": "array", "items": {"anyOf": schemas} if schemas else {}}
            case Literal():
                return {"type": sorted(types_of_literal(value))}
            case _:
                known = self._values.known(value)
                if known.shapes is self._schemas.responses and isinstance(known.schema, dict):
                    return known.schema
                return {"type": sorted(known.types)} if known.types else {}

    def _returns(self, output: Value) -> Annotation | WorkflowResult:
        """The type of what comes back, as far as the schemas tell."""
        if isinstance(output, ResponseValue) and (tool := self._values.whole_body(output)):
            return tool.returns
        if not isinstance(output, ObjectOf):
            return self._annotation(output)
        if not all(name.isidentifier() and not iskeyword(name) for name, _ in output.members):
            return Annotation("dict[str, object]")
        return WorkflowResult(
            identifier(f"{pascal_case(self._workflow.name)}Result"),
            tuple((identifier(name), self._annotation(item)) for name, item in output.members),
        )

    def _annotation(self, value: Value) -> Annotation:
        if isinstance(value, Literal | ListOf | ObjectOf):
            known = Known({"type": sorted(types_of_literal(value))}, ANYTHING.shapes)
        else:
            known = self._values.known(value)
        types = Types(known.shapes, known.shapes, models=False)
        return types.of(known.schema, "response", "").annotation

    # Steps

    def _step(self, step: Step, variable: Identifier) -> StepPlan:
        if self._values.has(step.id):
            self._refuse(
                "workflow-step-twice",
                f"two steps are called `{step.id}`",
                step.tokens,
                "it is not known which of them an expression means",
                "give each an id of its own",
            )
        tool = self._tool_of(step)
        items = None
        if step.for_each is not None:
            items = self._values.resolved(step.for_each, step.for_each_tokens)
            if not self._check_type(items, frozenset({"array"}), step.for_each_tokens):
                items = REFUSED
        condition = None if step.when is None else self._values.condition(step.when)
        arguments = self._step_arguments(step, tool, items)
        # Before the step is known: what its schema tells of is a success, and this is about errors.
        on_failure = tuple(self._action(action, step) for action in step.on_failure)
        self._check_retries(step, tool)
        self._values.add(step, tool)
        for name, output in step.outputs.items():
            self._values.resolved(output, (*step.outputs_tokens, name), step, items)
        return StepPlan(
            id=step.id,
            variable=variable,
            tool="" if tool is None else tool.name,
            operation=step.operation if tool is None else tool.operation.key,
            arguments=arguments,
            condition=condition,
            items=items,
            criteria=self._criteria(step.criteria, step),
            on_success=tuple(self._action(action, step) for action in step.on_success),
            on_failure=on_failure,
        )

    def _action(self, action: Action, step: Step) -> Action:
        return replace(action, criteria=self._criteria(action.criteria, step))

    def _criteria(self, criteria: Iterable[Criterion], step: Step) -> tuple[Criterion, ...]:
        return tuple(
            replace(found, condition=self._values.condition(found, step)) for found in criteria
        )

    def _check_retries(self, step: Step, tool: ToolPlan | None) -> None:
        """Refuse to do twice what may have been done where no answer came."""
        if tool is None or tool.annotations.get("idempotentHint", False):
            return
        for action in step.on_failure:
            if action.kind == "retry" and not any(map(needs_answer, action.criteria)):
                self._refuse(
                    "workflow-retry",
                    f"`{tool.operation.key}` would be tried again whatever became of it",
                    action.tokens,
                    f"where no answer came, the step `{step.id}` may have taken effect, and would "
                    "again",
                    "name the answers after which to try again: `$statusCode == 503`; or, where "
                    "the API tells a repeated call apart, say so of the operation in "
                    "`mcpgen.yaml`: `annotations: {idempotentHint: true}`",
                )

    def _tool_of(self, step: Step) -> ToolPlan | None:
        tool = self._tools.get(step.operation)
        if tool is None:
            message = f"`{step.operation}` is no operation that this server has"
            near = difflib.get_close_matches(step.operation, self._tools, n=1, cutoff=0.5)
            hint = "name an operationId, or a method and a path: `GET /pets`"
            if step.operation in self._left_out:
                message = f"`{step.operation}` is left out, so no step can call it"
                hint = "another diagnostic says what the operation lacks"
            elif near:
                hint = f"did you mean `{near[0]}`?"
            why = f"the step `{step.id}` calls it"
            self._refuse("workflow-operation", message, step.operation_tokens, why, hint)
        return tool

    def _step_arguments(self, step: Step, tool: ToolPlan | None, items: Value | None) -> ObjectOf:
        given: dict[str, Value] = {}
        for written in step.arguments:
            value = self._values.resolved(written.value, written.tokens, items=items, step=None)
            if tool is None:
                continue
            argument = self._argument_of(written, tool)
            if argument is not None:
                given[argument.name] = value
                self._check_fits(value, Known(argument.schema, self._schemas.requests), written)
        if step.max_pages is not None and tool is not None:
            if tool.pagination is None:
                self._refuse(
                    "workflow-pages",
                    f"`{tool.operation.key}` gives no pages that could be joined",
                    (*step.tokens, "max_pages"),
                    f"the step `{step.id}` would be refused",
                    "leave `max_pages` out",
                )
            given["max_pages"] = Literal(step.max_pages)
        if tool is not None and len(given) >= len(step.arguments):  # else one was refused
            self._check_complete(step, tool, given)
        return ObjectOf(tuple(given.items()))

    def _argument_of(self, written: StepArgument, tool: ToolPlan) -> Argument | None:
        for argument in tool.arguments:
            if not written.location and argument.name == written.name:
                return argument
            if (argument.location, argument.wire_name) == (written.location, written.name):
                return argument
        names = [
            argument.wire_name if written.location else argument.name
            for argument in tool.arguments
            if written.location in ("", argument.location)
        ]
        near = difflib.get_close_matches(written.name, names, n=1)
        where = f"{written.location} parameter" if written.location else "argument"
        self._refuse(
            "workflow-argument",
            f"`{tool.operation.key}` has no {where} `{written.name}`",
            written.tokens,
            f"`{tool.name}` would refuse the call",
            f"did you mean `{near[0]}`?"
            if near
            else f"it has {', '.join(f'`{name}`' for name in names) or 'none'}",
        )
        return None

    def _check_complete(self, step: Step, tool: ToolPlan, given: Collection[str]) -> None:
        missing = [
            argument.name
            for argument in tool.arguments
            if argument.required and argument.default is UNSET and argument.name not in given
        ]
        if missing:
            self._refuse(
                "workflow-argument-missing",
                f"the step `{step.id}` lacks {', '.join(f'`{name}`' for name in missing)}",
                step.tokens,
                f"`{tool.operation.key}` cannot be called without",
                "give it under `arguments`, as a literal or an expression",
            )

    def _check_fits(self, value: Value, wanted: Known, written: StepArgument) -> None:
        """Refuse a value that can never be what the argument takes."""
        is_literal, plain = literal_of(value)
        if is_literal:
            samples = Samples(wanted.shapes.schemas, "request")
            if problem := samples.problem(wanted.schema, plain):
                self._refuse_type(written.tokens, problem)
        elif isinstance(value, ObjectOf) and not wanted.types - {"object", "null"}:
            self._check_members(value, wanted, written)
        else:
            self._check_type(value, wanted.types, written.tokens)

    def _check_members(self, value: ObjectOf, wanted: Known, written: StepArgument) -> None:
        keywords = wanted.shape.keywords
        names = {name for name, _ in value.members}
        if missing := sorted(set(keywords.get("required", ())) - names):
            self._refuse_type(
                written.tokens, f"it lacks {', '.join(f'`{name}`' for name in missing)}"
            )
        for name, member in value.members:
            tokens = (*written.tokens, name)
            try:
                known = wanted.at(json_pointer((name,)))
            except NothingThereError as error:
                self._refuse_type(tokens, str(error))
            else:
                self._check_fits(member, known, replace(written, tokens=tokens))

    def _check_type(self, value: Value, wanted: frozenset[str], tokens: Tokens) -> bool:
        problem = mismatch(self._values.types_of(value), wanted)
        if problem:
            self._refuse_type(tokens, problem)
        return not problem

    def _refuse_type(self, tokens: Tokens, problem: str) -> None:
        self._refuse(
            "workflow-type",
            f"this value cannot fit: {problem}",
            tokens,
            "every call would be refused before anything is sent",
            "compare it with what `mcpgen tools` shows of the tool",
        )

    def _refuse(self, code: str, message: str, tokens: Tokens, why: str, help: str) -> None:
        at = self._workflow.locate(tokens)
        self._problems.error(code, message, at=at, why=why, help=help)


def _variables(steps: Sequence[Step], arguments: Collection[Identifier]) -> dict[str, Identifier]:
    """Name the variable of each step after its id."""
    taken = {*_TAKEN, *arguments}
    found: dict[str, Identifier] = {}
    for step in steps:
        name = _free(argument_name(step.id), taken)
        taken.add(name)
        found.setdefault(step.id, name)
    return found


def _free(name: str, taken: Collection[str]) -> Identifier:
    while name in taken:
        name += "_"
    return identifier(name)
