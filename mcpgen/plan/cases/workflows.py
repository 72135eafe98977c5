"""The test of each workflow: responses of the API, and the expected requests.

Computed from the plan alone, independently of the generated code.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import UNSET, Struct

from mcpgen.absent import ABSENT
from mcpgen.diagnostics import Problems
from mcpgen.ir.api import MediaType, Operation
from mcpgen.ir.tool_plan import ServerPlan, StepPlan, ToolPlan, WorkflowPlan
from mcpgen.ir.workflow import (
    Action,
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
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.samples import CannotSampleError, Which, make_samples
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.jsonschema.values import compare, value_at, without_absent
from mcpgen.plan.arguments.input_refs import INPUT, compose_body
from mcpgen.plan.arguments.media_types import Kind, classify_media_type, is_json
from mcpgen.plan.cases.calls import (
    PLACES,
    CaseContext,
    SettingSamples,
    choose_requirement,
    get_schema,
)
from mcpgen.plan.cases.entries import GIVE_EXAMPLE
from mcpgen.text.media_types import JSON_LINES, essence_of


class Fault(Struct, frozen=True):
    """An error response of the API to `times` requests of a step, from request number `at` on."""

    step: str
    at: int
    status: int
    times: int


_NO_FAULT = Fault("", 0, 0, 0)
_SAMPLE_TEXT = "<sample/>"  # also XML


@dataclass(slots=True)
class Course:
    """A simulated run of a workflow."""

    workflow: WorkflowPlan
    inputs: JsonObject
    replies: Mapping[str, JsonObject]  # by operation
    request: Callable[[StepPlan, JsonObject], JsonObject]  # returns the request of a step
    fault: Fault = _NO_FAULT
    requests: list[JsonObject] = field(init=False, default_factory=list)
    steps: list[str] = field(init=False, default_factory=list)  # of each request
    faults: int = field(init=False, default=0)  # number of error responses
    taken: list[Action] = field(init=False, default_factory=list)  # after a failure
    waited_seconds: float = field(init=False, default=0.0)
    failed: str = field(init=False, default="")  # the step that ended it
    _answers: dict[str, list[Any]] = field(init=False, default_factory=dict)  # by step, of each run
    _statuses: dict[str, int] = field(init=False, default_factory=dict)
    _repeated: set[str] = field(init=False, default_factory=set)
    _target: str | None = field(init=False, default=None)

    def go(self) -> Course:
        """Run all steps, or until one ends the workflow; return the course itself.

        Raises:
            CannotSampleError: a step lacks arguments.
        """
        for step in self.workflow.steps:
            self._answers[step.id] = []
            if self._target == step.id:
                self._target = None
            is_skipped = step.condition is not None and not self.is_true(step.condition)
            if self._target is None and not is_skipped:
                for item in self._list_items(step):
                    self._run(step, without_absent(self.value(step.arguments, item)))
                    if self.failed:
                        return self
            if step.items is not None:
                self._repeated.add(step.id)
        return self

    def result(self) -> JsonObject:
        """Return the structured content of the result."""
        result = without_absent(self.value(self.workflow.output))
        if self.workflow.result_key or not isinstance(result, dict):
            return {self.workflow.result_key or "result": result}
        return result

    def _list_items(self, step: StepPlan) -> list[Any]:
        if step.items is None:
            return [ABSENT]
        items = self.value(step.items)
        if not isinstance(items, list) or not items:
            raise CannotSampleError(f"no list is there for `{step.id}`")
        return items

    def _run(self, step: StepPlan, arguments: JsonObject) -> None:
        """Send the requests for one item, repeated as the step's actions require."""
        request, earlier = self.request(step, arguments), self._answers[step.id]
        repeats: Counter[int] = Counter()
        while True:
            is_error = self._is_error(step)
            self.requests.append(request)
            self.steps.append(step.id)
            reply = self.replies[step.operation]
            if is_error:
                self.faults += 1
                reply = {"status": self.fault.status, "body": {}}
            answer = _decode_reply(reply)
            self._answers[step.id] = [answer]  # criteria apply to this run only
            self._statuses[step.id] = reply["status"]
            is_expected = all(self.is_true(each.condition) for each in step.criteria)
            if is_expected and (step.criteria or not is_error):
                self._answers[step.id] = [*earlier, answer]
                self._follow(step)
                return
            action = self._choose_action(step, repeats)
            if action is None or action.kind == "end":
                self.failed = step.id
                return
            self.taken.append(action)
            if action.kind == "goto":
                self._answers[step.id], self._target = [], action.target
                return
            self.waited_seconds += action.after_seconds

    def _is_error(self, step: StepPlan) -> bool:
        fault = self.fault
        is_hit = fault.step == step.id and len(self.requests) >= fault.at
        return is_hit and self.faults < fault.times

    def _follow(self, step: StepPlan) -> None:
        for action in step.on_success:
            if all(self.is_true(each.condition) for each in action.criteria):
                self._target = action.target if action.kind == "goto" else ""  # no step
                return

    def _choose_action(self, step: StepPlan, repeats: Counter[int]) -> Action | None:
        for number, action in enumerate(step.on_failure):
            if not all(self.is_true(each.condition) for each in action.criteria):
                continue
            if action.kind == "retry":
                if repeats[number] >= action.limit:
                    continue
                repeats[number] += 1
            return action
        return None

    # Values

    def value(self, value: Value, item: Any = ABSENT) -> Any:
        """Return a value, or ABSENT."""
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
                found = [value_at(answer, pointer) for answer in self._answers[step]]
                found = [each for each in found if each is not ABSENT]
                return found if step in self._repeated else found[0] if found else ABSENT
            case ResponseValue(part="status", step=step) if self._answers[step]:
                return self._statuses[step]
            case _:
                return ABSENT  # headers: sample responses have none

    def is_true(self, condition: Condition) -> bool:
        """Whether a condition is true at this point."""
        match condition:
            case Truth(value=value):
                return bool(self.value(value))
            case Comparison(left=left, operator=operator, right=right):
                return compare(self.value(left), operator, self.value(right))
            case Negation(condition=inner):
                return not self.is_true(inner)
            case Junction(word=word, conditions=parts):
                return (all if word == "and" else any)(map(self.is_true, parts))


_LEADS_TO_RETRIES = frozenset({401, 403, 408, 425, 429})
_USUAL_ERRORS = (404, 409, 422, 429, 500, 503)
_ALWAYS = 1000  # times, more than any step is tried
_SELECTIONS: tuple[Which, ...] = ("example", "largest")


def make_workflow_cases(plan: ServerPlan, problems: Problems) -> list[JsonObject]:
    """Return the entries of `tests/generated/workflows.json`, by workflow.

    If no sample responses lead through all steps, the entry and a note state the reason.
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
                f"no sample generated for the test of the workflow `{workflow.name}`",
                why=f"no generated inputs and answers lead through all steps: {error}",
                help=f"{GIVE_EXAMPLE}, or write a test in `tests/`",
            )
    return entries


class _Making:
    """Generation of the entries of one server."""

    def __init__(self, plan: ServerPlan) -> None:
        self._tools = {tool.name: tool for tool in plan.tools}
        self._sent, self._answered = make_samples(plan.api.schemas)
        self._shapes = Shapes(plan.api.schemas, "request")
        self._settings = SettingSamples(CaseContext.of(plan), self._sent)

    def entry(self, workflow: WorkflowPlan) -> JsonObject:
        """Return arguments, responses, requests and the result, without and with errors.

        Raises:
            CannotSampleError: no sample responses lead through all steps.
        """
        why = CannotSampleError("no answers lead through its steps")
        found: list[Course] = []
        for selection in _SELECTIONS:
            try:
                course = Course(
                    workflow,
                    self._sample_inputs(workflow, selection),
                    self._sample_replies(workflow, selection),
                    self._build_step_request,
                ).go()
            except CannotSampleError as error:
                why = error
                continue
            if course.failed:
                why = CannotSampleError(f"no answer to `{course.failed}` is what it requires")
            elif not course.requests:
                why = CannotSampleError("none of its steps would run")
            else:
                found.append(course)
        if not found:
            raise why
        longest = max(found, key=lambda course: len(set(course.steps)))  # the first of them
        return self._build_entry(longest, [each for each in found if each.steps != longest.steps])

    def _build_entry(self, course: Course, others: Iterable[Course]) -> JsonObject:
        """Return the entry of a course; `others` take other steps without an error."""
        entry: JsonObject = {
            "tool": course.workflow.name,
            **_describe(course),
            "failure": self._find_failure(course),
        }
        used = [self._tools[step.tool] for step in course.workflow.steps]
        if settings := self._settings.environment(used):
            entry["settings"] = settings
        if detours := [*map(_describe, others), *self._iterate_detours(course)]:
            entry["detours"] = detours
        return entry

    def _find_failure(self, course: Course) -> JsonObject:
        """Return the last step at which an error ends the workflow, or {}."""
        for at in reversed(range(len(course.requests))):
            for failing in self._iterate_with_errors(course, at, times=_ALWAYS):
                if failing.failed == course.steps[at]:
                    return {
                        **_describe_fault(failing),
                        "step": failing.failed,
                        "took_effect": list(dict.fromkeys(failing.steps[:at])),
                    }
        return {}

    def _iterate_detours(self, course: Course) -> Iterator[JsonObject]:
        """Yield an error and the further course for each action after a failure."""
        shown: list[Action] = []
        for at, step_id in enumerate(course.steps):
            for times in (1, _ALWAYS):  # tried again with success, and never
                for going in self._iterate_with_errors(course, at, times=times):
                    new = [action for action in going.taken if action not in shown]
                    if going.failed or not new or step_id in course.steps[:at]:
                        continue
                    shown += new
                    yield {
                        **_describe_fault(going),
                        "requests": going.requests,
                        "result": going.result(),
                        "waits_seconds": going.waited_seconds,
                    }

    def _iterate_with_errors(self, course: Course, at: int, *, times: int) -> Iterator[Course]:
        """Yield the course with each error response to the request at an index."""
        step = next(step for step in course.workflow.steps if step.id == course.steps[at])
        for status in _choose_error_statuses(step, self._tools[step.tool].operation):
            fault = Fault(step.id, at, status, times)
            with suppress(CannotSampleError):  # later steps lack the response
                yield replace(course, fault=fault).go()

    def _sample_replies(self, workflow: WorkflowPlan, selection: Which) -> JsonObject:
        return {
            step.operation: self._sample_reply(self._tools[step.tool].operation, selection)
            for step in workflow.steps
        }

    def _sample_reply(self, operation: Operation, selection: Which) -> JsonObject:
        """Return the first documented successful response."""
        for response in operation.responses:
            if not response.status.startswith("2"):
                continue
            status = int(response.status) if response.status.isdigit() else 200
            for media_type in response.content:
                if is_json(media_type.media_type):
                    schema, examples = get_schema(media_type), media_type.examples
                    body = (
                        self._answered.choose_example(schema, examples)
                        if selection == "example"
                        else self._answered.sample(schema, selection)
                    )
                    return {"status": status, "body": body}
            for media_type in response.content:
                if essence_of(media_type.media_type) in JSON_LINES:
                    return {"status": status, **self._sample_lines(media_type, selection)}
            texts = (it.media_type for it in response.content if _is_one_text(it.media_type))
            if name := next(texts, ""):
                return {"status": status, "headers": {"Content-Type": name}, "text": _SAMPLE_TEXT}
            return {"status": status}
        return {"status": 200}

    def _sample_lines(self, described: MediaType, selection: Which) -> JsonObject:
        """Return a reply of two lines of JSON."""
        schema = described.schema if described.item_schema is None else described.item_schema
        line = json.dumps(self._answered.sample(True if schema is None else schema, selection))
        return {"headers": {"Content-Type": described.media_type}, "text": f"{line}\n" * 2}

    def _sample_inputs(self, workflow: WorkflowPlan, selection: Which) -> JsonObject:
        """Return a value for each input that the operations accept too."""
        accepted = dict(self._iterate_uses(workflow))
        found: JsonObject = {}
        for argument in workflow.arguments:
            schema: JsonSchema = argument.schema
            if argument.name in accepted:
                schema = {"allOf": [schema, accepted[argument.name]]}
            found[argument.name] = self._sent.sample(schema, selection, seed=argument.name)
        return found

    def _iterate_uses(self, workflow: WorkflowPlan) -> Iterator[tuple[str, JsonSchema]]:
        """Yield the inputs that are passed unchanged, with the schemas of their targets."""
        for step in workflow.steps:
            schemas = {item.name: item.schema for item in self._tools[step.tool].arguments}
            yield from self._iterate_inputs(step.arguments, schemas)

    def _iterate_inputs(
        self, value: ObjectOf, schemas: Mapping[str, JsonSchema]
    ) -> Iterator[tuple[str, JsonSchema]]:
        """Yield the inputs that are members of an object or of objects in it."""
        for name, member in value.members:
            match member:
                case InputValue(pointer="") if name in schemas:
                    yield member.name, schemas[name]
                case ObjectOf() if name in schemas:
                    keywords = self._shapes.of(schemas[name]).keywords
                    yield from self._iterate_inputs(member, keywords.get("properties", {}))

    def _build_step_request(self, step: StepPlan, arguments: JsonObject) -> JsonObject:
        tool = self._tools[step.tool]
        policies = tool.policies
        if policies.confirm or policies.poll is not None or policies.task == "required":
            raise CannotSampleError(f"`{step.id}` waits for a user, or for the API")
        if tool.wire_names or tool.body[1:] or "max_pages" in arguments:
            raise CannotSampleError(f"what `{step.id}` sends depends on more than its arguments")
        for argument in tool.arguments:
            value = arguments.get(argument.name, argument.default)
            if value is UNSET and argument.required:
                raise CannotSampleError(f"nothing is there for `{argument.name}` of `{step.id}`")
            if value is not UNSET and (problem := self._sent.problem(argument.schema, value)):
                raise CannotSampleError(f"`{argument.name}` of `{step.id}`: {problem}")
        if tool.flat_body is not None:
            arguments = tool.flat_body.drop_empty(arguments)
        request = _build_request(tool, arguments, self._settings)
        return {"operation": tool.operation.key, **request}


def _decode_reply(reply: JsonObject) -> JsonValue:
    """Return the result of a step that gets this reply."""
    if essence_of(reply.get("headers", {}).get("Content-Type", "")) in JSON_LINES:
        return [json.loads(line) for line in reply["text"].splitlines()]
    return reply.get("body", reply.get("text"))


def _is_one_text(media_type: str) -> bool:
    """Check whether a response of this type is one text, and not a stream of events."""
    is_stream = essence_of(media_type) == "text/event-stream"
    return classify_media_type(media_type) is Kind.TEXT and not is_stream


def _build_request(tool: ToolPlan, arguments: JsonObject, settings: SettingSamples) -> JsonObject:
    """Return the request for these arguments, with the names of the API."""
    request: JsonObject = {place: {} for place in PLACES}
    placed: JsonObject = {}
    for argument in tool.arguments:
        value: JsonValue = arguments.get(argument.name, argument.default)
        if value is UNSET:
            continue
        if argument.location in PLACES:
            request[argument.location][argument.wire_name] = value
        elif argument.location == INPUT:
            placed[argument.name] = value
        else:
            request[argument.location] = value
    declared = tool.operation.declared
    if declared is not None and declared.body is not UNSET:
        body = compose_body(declared.body, placed)
        if body is not ABSENT:
            request["body"] = without_absent(body)
    if tool.members and isinstance(request.get("body"), dict):
        request["body"] = {**tool.members, **request["body"]}
    for fixed in tool.fixed:
        members = {fixed.wire_name: settings.value(fixed)}
        request[fixed.location] = request.get(fixed.location, {}) | members
    if "body" in request:
        request["content_type"] = tool.body[0].media_type
    request["security"] = list(choose_requirement(tool.operation))
    return {key: value for key, value in request.items() if key not in PLACES or value}


def _describe(course: Course) -> JsonObject:
    """Return what the caller, the API and the server send in a course."""
    return {
        "arguments": course.inputs,
        "replies": course.replies,
        "requests": course.requests,
        "result": course.result(),
    }


def _describe_fault(course: Course) -> JsonObject:
    """Return the error responses of a course."""
    return {"at": course.fault.at, "times": course.faults, "status": course.fault.status}


def _choose_error_statuses(step: StepPlan, operation: Operation) -> list[int]:
    """Return documented errors, those that the step's actions name, and some usual ones.

    Errors that the HTTP client handles itself are skipped.
    """
    documented = [int(item.status) for item in operation.responses if item.status.isdigit()]
    criteria = [each for action in step.on_failure for each in action.criteria]
    named = [status for each in criteria for status in _iterate_statuses(each.condition)]
    found = dict.fromkeys([*sorted(documented), *named, *_USUAL_ERRORS])
    if any(action.kind == "retry" for action in step.on_failure):
        return [status for status in found if 400 <= status < 600 and status not in (401, 403)]
    return [status for status in found if 400 <= status < 500 and status not in _LEADS_TO_RETRIES]


def _iterate_statuses(condition: Condition) -> Iterator[int]:
    match condition:
        case Comparison(left=ResponseValue(part="status"), right=Literal(value=int(status))):
            yield status
        case Negation(condition=inner):
            yield from _iterate_statuses(inner)
        case Junction(conditions=parts):
            for part in parts:
                yield from _iterate_statuses(part)
