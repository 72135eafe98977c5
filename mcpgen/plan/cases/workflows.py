"""The test of each workflow: what the API answers, and every request that must come of that.

Worked out from the plan alone, so that the generated code has something to agree with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import Operation
from mcpgen.ir.json_types import JsonObject, JsonSchema, JsonValue
from mcpgen.ir.tool_plan import ServerPlan, StepPlan, ToolPlan, WorkflowPlan
from mcpgen.ir.workflow import (
    Comparison,
    Condition,
    InputValue,
    ItemValue,
    Junction,
    ListOf,
    Literal,
    Negation,
    ObjectOf,
    ResponseValue,
    Truth,
    Value,
)
from mcpgen.plan.cases.calls import PLACES, first_requirement, schema_of
from mcpgen.plan.media_types import is_json
from mcpgen.runtime.absent import ABSENT
from mcpgen.runtime.testing.samples import CannotSampleError, Which, both_ways
from mcpgen.runtime.workflow_values import compare, value_at, without_absent

_LEADS_TO_RETRIES = frozenset({401, 403, 408, 425, 429})
_WISHES: tuple[Which, ...] = ("example", "largest")


def make_workflow_cases(plan: ServerPlan, problems: Problems) -> list[JsonObject]:
    """Give the entries of `tests/generated/workflows.json`, by workflow.

    Where no answers can be made up that lead through all steps, the entry says why, and so does
    a note.
    """
    making = _Making(plan)
    entries: list[JsonObject] = []
    for workflow in plan.workflows:
        try:
            entries.append(making.entry(workflow))
        except CannotSampleError as error:
            entries.append({"tool": workflow.name, "untested": str(error)})
            problems.note(
                "untested",
                f"the workflow `{workflow.name}` has no test: {error}",
                why="no valid values could be made up from the schemas",
                help="an `example` that is valid is used where there is one",
            )
    return entries


@dataclass(slots=True)
class _Course:
    """How a workflow goes, as far as it went."""

    inputs: JsonObject
    answers: dict[str, list[Any]] = field(default_factory=dict)  # by step, one for each run
    statuses: dict[str, int] = field(default_factory=dict)
    repeated: set[str] = field(default_factory=set)
    requests: list[JsonObject] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)  # of each request

    def value(self, value: Value, item: Any = ABSENT) -> Any:
        """What a value is; ABSENT where it is not there."""
        match value:
            case Literal(value=plain):
                return plain
            case ListOf(items=items):
                return [self.value(each, item) for each in items]
            case ObjectOf(members=members):
                return {name: self.value(each, item) for name, each in members}
            case InputValue(name=name, pointer=pointer):
                return value_at(self.inputs.get(name, ABSENT), pointer)
            case ItemValue(pointer=pointer):
                return value_at(item, pointer)
            case ResponseValue(part="body", selector=pointer, step=step):
                found = [value_at(answer, pointer) for answer in self.answers[step]]
                found = [each for each in found if each is not ABSENT]
                return found if step in self.repeated else found[0] if found else ABSENT
            case ResponseValue(part="status", step=step) if self.answers[step]:
                return self.statuses[step]
            case _:
                return ABSENT  # headers, which no answer here has

    def holds(self, condition: Condition) -> bool:
        """Whether a condition is true by now."""
        match condition:
            case Truth(value=value):
                return bool(self.value(value))
            case Comparison(left=left, operator=operator, right=right):
                return compare(self.value(left), operator, self.value(right))
            case Negation(condition=inner):
                return not self.holds(inner)
            case Junction(word=word, conditions=parts):
                return (all if word == "and" else any)(map(self.holds, parts))


class _Making:
    """Makes the entries of one server."""

    def __init__(self, plan: ServerPlan) -> None:
        self._tools = {tool.name: tool for tool in plan.tools}
        self._sent, self._answered = both_ways(plan.api.schemas)

    def entry(self, workflow: WorkflowPlan) -> JsonObject:
        """Give arguments, answers, requests and the result.

        Raises:
            CannotSampleError: none are found.
        """
        why = CannotSampleError("no answers lead through its steps")
        for wish in _WISHES:
            try:
                replies = self._replies(workflow, wish)
                course = self._course(workflow, replies, wish)
            except CannotSampleError as error:
                why = error
                continue
            result = without_absent(course.value(workflow.output))
            if workflow.result_key or not isinstance(result, dict):
                result = {workflow.result_key or "result": result}
            return {
                "tool": workflow.name,
                "arguments": course.inputs,
                "replies": replies,
                "requests": course.requests,
                "result": result,
                "failure": self._failure(course),
            }
        raise why

    def _replies(self, workflow: WorkflowPlan, wish: Which) -> JsonObject:
        return {
            step.operation: self._reply(self._tools[step.tool].operation, wish)
            for step in workflow.steps
        }

    def _reply(self, operation: Operation, wish: Which) -> JsonObject:
        """What the API answers: the first success that is described."""
        for response in operation.responses:
            if not response.status.startswith("2"):
                continue
            status = int(response.status) if response.status.isdigit() else 200
            for media_type in response.content:
                if is_json(media_type.media_type):
                    schema, examples = schema_of(media_type), media_type.examples
                    body = (
                        self._answered.exemplary(schema, examples)
                        if wish == "example"
                        else self._answered.sample(schema, wish)
                    )
                    return {"status": status, "body": body}
            return {"status": status}
        return {"status": 200}

    def _course(self, workflow: WorkflowPlan, replies: JsonObject, wish: Which) -> _Course:
        course = _Course(self._inputs(workflow, wish))
        for step in workflow.steps:
            course.answers[step.id] = []
            reply = replies[step.operation]
            course.statuses[step.id] = reply["status"]
            if step.items is not None:
                course.repeated.add(step.id)
            if step.condition is not None and not course.holds(step.condition):
                continue
            for item in self._items(step, course):
                request = self._request(step, without_absent(course.value(step.arguments, item)))
                course.requests.append(request)
                course.steps.append(step.id)
                course.answers[step.id].append(reply.get("body"))
            if not all(course.holds(criterion.condition) for criterion in step.criteria):
                raise CannotSampleError(f"no answer to `{step.id}` is what it requires")
        if not course.requests:
            raise CannotSampleError("none of its steps would run")
        return course

    def _items(self, step: StepPlan, course: _Course) -> list[Any]:
        if step.items is None:
            return [ABSENT]
        items = course.value(step.items)
        if not isinstance(items, list) or not items:
            raise CannotSampleError(f"no list is there for `{step.id}`")
        return items

    def _inputs(self, workflow: WorkflowPlan, wish: Which) -> JsonObject:
        """An argument for each input, such that the operations take it as well."""
        wanted = dict(self._uses(workflow))
        found: JsonObject = {}
        for argument in workflow.arguments:
            schema: JsonSchema = argument.schema
            if argument.name in wanted:
                schema = {"allOf": [schema, wanted[argument.name]]}
            found[argument.name] = self._sent.sample(schema, wish, seed=argument.name)
        return found

    def _uses(self, workflow: WorkflowPlan) -> Iterator[tuple[str, JsonSchema]]:
        """The inputs that are an argument as they stand, and what that argument must be."""
        for step in workflow.steps:
            schemas = {item.name: item.schema for item in self._tools[step.tool].arguments}
            for name, value in step.arguments.members:
                if isinstance(value, InputValue) and not value.pointer and name in schemas:
                    yield value.name, schemas[name]

    def _request(self, step: StepPlan, arguments: JsonObject) -> JsonObject:
        tool = self._tools[step.tool]
        shaping = tool.shaping
        if shaping.confirm or shaping.poll is not None:
            raise CannotSampleError(f"`{step.id}` waits for a user, or for the API")
        if tool.wire_names or tool.body[1:] or "max_pages" in arguments:
            raise CannotSampleError(f"what `{step.id}` sends depends on more than its arguments")
        for argument in tool.arguments:
            value = arguments.get(argument.name, argument.default)
            if value is UNSET and argument.required:
                raise CannotSampleError(f"nothing is there for `{argument.name}` of `{step.id}`")
            if value is not UNSET and (problem := self._sent.problem(argument.schema, value)):
                raise CannotSampleError(f"`{argument.name}` of `{step.id}`: {problem}")
        return {"operation": tool.operation.key, **_sent(tool, arguments)}

    def _failure(self, course: _Course) -> JsonObject:
        """The last step that calls an operation of its own is answered with an error."""
        operations = [request["operation"] for request in course.requests]
        at = max(number for number, key in enumerate(operations) if operations.index(key) == number)
        operation = next(
            tool.operation for tool in self._tools.values() if tool.operation.key == operations[at]
        )
        return {
            "step": course.steps[at],
            "operation": operations[at],
            "status": _error_status(operation),
            "took_effect": list(dict.fromkeys(course.steps[:at])),
        }


def _sent(tool: ToolPlan, arguments: JsonObject) -> JsonObject:
    """What the request of these arguments has, by the API's own names."""
    request: JsonObject = {place: {} for place in PLACES}
    for argument in tool.arguments:
        value: JsonValue = arguments.get(argument.name, argument.default)
        if value is UNSET:
            continue
        if argument.location in PLACES:
            request[argument.location][argument.wire_name] = value
        else:
            request[argument.location] = value
    for fixed in tool.fixed:
        request[fixed.location] = {
            **request.get(fixed.location, {}), fixed.wire_name: fixed.value
        }  # fmt: skip
    if "body" in request:
        request["content_type"] = tool.body[0].media_type
    request["security"] = list(first_requirement(tool.operation))
    return {key: value for key, value in request.items() if key not in PLACES or value}


def _error_status(operation: Operation) -> int:
    """A documented error that no client tries to get around, else 404."""
    documented = {int(item.status) for item in operation.responses if item.status.isdigit()}
    found = {status for status in documented if 400 <= status < 500}
    return min(found - _LEADS_TO_RETRIES, default=404)
