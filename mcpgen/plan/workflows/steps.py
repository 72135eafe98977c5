"""Planning of workflow steps as calls, checked against their operations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import UNSET
from msgspec.structs import replace

from mcpgen.absent import ABSENT
from mcpgen.contract.flat_bodies import FlatBody
from mcpgen.diagnostics import did_you_mean
from mcpgen.ir.api import SkippedOperation
from mcpgen.ir.tool_plan import Argument, StepPlan, ToolPlan
from mcpgen.ir.workflow import (
    Action,
    Comparison,
    Condition,
    Criterion,
    Junction,
    Literal,
    Negation,
    ObjectOf,
    ResponseValue,
    Step,
    StepArgument,
    Tokens,
    Truth,
    Value,
)
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.samples import Samples
from mcpgen.jsonschema.values import compare
from mcpgen.plan.arguments.arguments import CONTENT_TYPE
from mcpgen.plan.tools.entries import names_of
from mcpgen.plan.workflows.values import (
    REFUSED,
    Known,
    NothingThereError,
    Refuse,
    WorkflowValues,
    describe_mismatch,
    read_literal,
)
from mcpgen.text.identifiers import Identifier
from mcpgen.text.json_pointer import json_pointer
from mcpgen.text.media_types import essence_of


def needs_answer(criterion: Criterion) -> bool:
    """Whether a condition is false without a response."""
    return _without_answer(criterion.condition) is False


def _without_answer(condition: Condition) -> bool | None:
    """Evaluate a condition without a response; None if that is undecidable."""
    match condition:
        case Truth(value=ResponseValue()):
            return False
        case Comparison(left=ResponseValue(), operator=operator, right=Literal(value=plain)):
            return compare(ABSENT, operator, plain)
        case Comparison(left=Literal(value=plain), operator=operator, right=ResponseValue()):
            return compare(plain, operator, ABSENT)
        case Negation(condition=inner):
            found = _without_answer(inner)
            return None if found is None else not found
        case Junction(word=word, conditions=parts):
            decisive = word == "or"  # one true of an "or" decides it, and one false of an "and"
            found_parts = [_without_answer(part) for part in parts]
            if decisive in found_parts:
                return decisive
            return None if None in found_parts else not decisive
        case _:
            return None


class WorkflowSteps:
    """Planning of the steps of one workflow, in their order."""

    def __init__(
        self,
        values: WorkflowValues,
        tools: Mapping[str, ToolPlan],
        skipped: Iterable[SkippedOperation],
        requests: Shapes,
        refuse: Refuse,
    ) -> None:
        """Begin without steps; `requests` has the schemas of the arguments of `tools` (by key)."""
        self._values = values
        self._tools: dict[str, ToolPlan] = {
            name: tool for tool in tools.values() for name in names_of(tool.operation)
        }
        self._skipped = {item.operation for item in skipped}
        self._requests = requests
        self._refuse = refuse

    def plan_step(self, step: Step, variable: Identifier) -> StepPlan:
        """Plan a step, whose response has the name `variable` in the workflow's function."""
        if self._values.has(step.id):
            self._refuse(
                "workflow-step-twice",
                f"two steps are called `{step.id}`",
                step.tokens,
                "it is not known which of them an expression means",
                "give each an id of its own",
            )
        tool = self._find_tool(step)
        items = None
        if step.for_each is not None:
            items = self._values.resolve(step.for_each, step.for_each_tokens)
            if not self._check_type(items, frozenset({"array"}), step.for_each_tokens):
                items = REFUSED
        when = step.when
        condition = (
            None if when is None else self._values.resolve_condition(when.condition, when.tokens)
        )
        arguments = self._step_arguments(step, tool, items)
        # Before the step is known: its schema describes a success, and this is about errors.
        on_failure = tuple(self._plan_action(action, step) for action in step.on_failure)
        self._check_retries(step, tool)
        self._values.add(step, tool)
        for name, output in step.outputs.items():
            self._values.resolve(output, (*step.outputs_tokens, name), step, items)
        return StepPlan(
            id=step.id,
            variable=variable,
            tool="" if tool is None else tool.name,
            operation=step.operation if tool is None else tool.operation.key,
            arguments=arguments,
            condition=condition,
            items=items,
            criteria=self._plan_criteria(step.criteria, step),
            on_success=tuple(self._plan_action(action, step) for action in step.on_success),
            on_failure=on_failure,
        )

    def _plan_action(self, action: Action, step: Step) -> Action:
        return replace(action, criteria=self._plan_criteria(action.criteria, step))

    def _plan_criteria(self, criteria: Iterable[Criterion], step: Step) -> tuple[Criterion, ...]:
        return tuple(
            replace(it, condition=self._values.resolve_condition(it.condition, it.tokens, step))
            for it in criteria
        )

    def _check_retries(self, step: Step, tool: ToolPlan | None) -> None:
        """Reject retries of a call that may have taken effect without a response."""
        if tool is None or tool.annotations.get("idempotentHint", False):
            return
        for action in step.on_failure:
            if action.kind == "retry" and not any(map(needs_answer, action.criteria)):
                self._refuse(
                    "workflow-retry",
                    f"`{tool.operation.key}` must not be retried without a condition",
                    action.tokens,
                    f"where no answer came, the step `{step.id}` may have taken effect, and would "
                    "again",
                    "name the answers after which to try again: `$statusCode == 503`; or, where "
                    "the API tells a repeated call apart, say so of the operation in "
                    "`mcpgen.yaml`: `annotations: {idempotentHint: true}`",
                )

    def _find_tool(self, step: Step) -> ToolPlan | None:
        tool = self._tools.get(step.operation)
        if tool is None:
            message = f"`{step.operation}` is not an operation of this server"
            otherwise = "name an operationId, or a method and a path: `GET /pets`"
            hint = did_you_mean(step.operation, self._tools, otherwise)
            if step.operation in self._skipped:
                message = f"`{step.operation}` is skipped, so no step can call it"
                hint = "another diagnostic states why the operation is skipped"
            why = f"the step `{step.id}` calls it"
            self._refuse("workflow-operation", message, step.operation_tokens, why, hint)
        return tool

    def _step_arguments(self, step: Step, tool: ToolPlan | None, items: Value | None) -> ObjectOf:
        resolved: dict[str, Value] = {}
        arguments = [it for it in step.arguments if tool is None or not _is_implied(it, tool)]
        if tool is not None and tool.flat_body is not None:
            if missing := _find_missing_members(arguments, tool, tool.flat_body):
                self._refuse_incomplete(step, tool, missing)
                return ObjectOf(())
            arguments = _gather_members(arguments, tool, tool.flat_body, step.tokens)
        for written in arguments:
            value = self._values.resolve(written.value, written.tokens, items=items, step=None)
            if tool is None:
                continue
            argument = self._find_argument(written, tool)
            if argument is not None:
                resolved[argument.name] = value
                expected = Known(argument.schema, self._requests)
                self._check_fits(value, expected, written.tokens, items)
        if step.max_pages is not None and tool is not None:
            self._check_pages(step, step.max_pages, tool)
            resolved["max_pages"] = Literal(step.max_pages)
        if tool is not None and len(resolved) >= len(arguments):  # else one was refused
            self._check_complete(step, tool, resolved)
        return ObjectOf(tuple(resolved.items()))

    def _check_pages(self, step: Step, max_pages: int, tool: ToolPlan) -> None:
        key, pages = tool.operation.key, tool.pagination
        if pages is None:
            message, hint = f"`{key}` has no pages to join", "leave `max_pages` out"
        elif max_pages > pages.most:
            message = f"a call of `{key}` joins at most {pages.most} pages"
            hint = "reduce `max_pages`, or raise `paginate: {max_pages: …}` under `operations`"
        else:
            return
        why = f"the step `{step.id}` would fail"
        self._refuse("workflow-pages", message, (*step.tokens, "max_pages"), why, hint)

    def _find_argument(self, written: StepArgument, tool: ToolPlan) -> Argument | None:
        for argument in tool.arguments:
            if not written.location and argument.name == written.name:
                return argument
            if (argument.location, argument.wire_name) == (written.location, written.name):
                return argument
        if written.location == CONTENT_TYPE:
            taken = ", ".join(f"`{item.media_type}`" for item in tool.body) or "none"
            self._refuse(
                "workflow-argument",
                f"`{tool.operation.key}` takes no body of this media type",
                written.tokens,
                f"`{tool.name}` would refuse the call",
                f"it takes {taken}",
            )
            return None
        names = [
            argument.wire_name if written.location else argument.name
            for argument in tool.arguments
            if written.location in ("", argument.location)
        ]
        if tool.flat_body is not None and not written.location:
            names += tool.flat_body.members
        where = f"{written.location} parameter" if written.location else "argument"
        existing = ", ".join(f"`{name}`" for name in names) or "none"
        self._refuse(
            "workflow-argument",
            f"`{tool.operation.key}` has no {where} `{written.name}`",
            written.tokens,
            f"`{tool.name}` would refuse the call",
            did_you_mean(written.name, names, f"it has {existing}"),
        )
        return None

    def _check_complete(self, step: Step, tool: ToolPlan, resolved: Collection[str]) -> None:
        missing = [
            argument.name
            for argument in tool.arguments
            if argument.required and argument.default is UNSET and argument.name not in resolved
        ]
        if missing:
            self._refuse_incomplete(step, tool, missing)

    def _refuse_incomplete(self, step: Step, tool: ToolPlan, missing: Iterable[str]) -> None:
        self._refuse(
            "workflow-argument-missing",
            f"the step `{step.id}` lacks {', '.join(f'`{name}`' for name in missing)}",
            step.tokens,
            f"`{tool.operation.key}` cannot be called without",
            "give it under `arguments`, as a literal or an expression",
        )

    def _check_fits(
        self, value: Value, expected: Known, tokens: Tokens, items: Value | None
    ) -> None:
        """Reject a value that is never valid for an argument; `items` is the list of `$item`."""
        is_literal, plain = read_literal(value)
        if is_literal:
            samples = Samples(expected.shapes.schemas, "request")
            if problem := samples.problem(expected.schema, plain):
                self._refuse_type(tokens, problem)
        elif isinstance(value, ObjectOf) and not expected.types - {"object", "null"}:
            self._check_members(value, expected, tokens, items)
        else:
            self._check_type(value, expected.types, tokens, items)

    def _check_members(
        self, value: ObjectOf, expected: Known, tokens: Tokens, items: Value | None
    ) -> None:
        keywords = expected.shape.keywords
        names = {name for name, _ in value.members}
        if missing := sorted(set(keywords.get("required", ())) - names):
            self._refuse_type(tokens, f"it lacks {', '.join(f'`{name}`' for name in missing)}")
        for name, member in value.members:
            try:
                known = expected.at(json_pointer((name,)))
            except NothingThereError as error:
                self._refuse_type((*tokens, name), str(error))
            else:
                self._check_fits(member, known, (*tokens, name), items)

    def _check_type(
        self, value: Value, expected: frozenset[str], tokens: Tokens, items: Value | None = None
    ) -> bool:
        problem = describe_mismatch(self._values.find_types(value, items), expected)
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


def _passes_whole_body(arguments: Iterable[StepArgument], flat: FlatBody) -> bool:
    """Return whether a step passes a body whose members are arguments, such as a result."""
    return any(
        it.location == "body" or (not it.location and it.name == flat.argument) for it in arguments
    )


def _find_missing_members(
    arguments: Iterable[StepArgument], tool: ToolPlan, flat: FlatBody
) -> list[str]:
    """Return the required arguments that are members of the body and that a step lacks."""
    if _passes_whole_body(arguments, flat):
        return []
    passed = {it.name for it in arguments if not it.location}
    required = tool.input_schema.get("required", ())
    return [name for name in required if name in flat.members and name not in passed]


def _gather_members(
    arguments: list[StepArgument], tool: ToolPlan, flat: FlatBody, step: Tokens
) -> list[StepArgument]:
    """Return the arguments of a step with one body in place of those that are its members."""
    members = [it for it in arguments if not it.location and it.name in flat.members]
    others = [it for it in arguments if it not in members]
    if _passes_whole_body(others, flat) or not (members or flat.required):
        return arguments
    body = ObjectOf(
        tuple(
            (tool.wire_names.get(member, member), it.value)
            for it in members
            for member in [flat.members[it.name]]
        )
    )
    tokens = members[0].tokens[:-1] if members else step
    return [*others, StepArgument(flat.argument, "", body, tokens)]


def _is_implied(written: StepArgument, tool: ToolPlan) -> bool:
    """Whether `content_type` is the only media type of the tool's body, which needs no argument."""
    if written.location != CONTENT_TYPE or len(tool.body) != 1:
        return False
    is_plain, stated = read_literal(written.value)
    is_text = is_plain and isinstance(stated, str)
    return is_text and essence_of(str(stated)) == essence_of(tool.body[0].media_type)
