"""Simulation of a workflow with sample responses of the API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from mcpgen.absent import ABSENT
from mcpgen.ir.tool_plan import StepPlan, WorkflowPlan
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
from mcpgen.jsonschema.samples import CannotSampleError
from mcpgen.jsonschema.types import JsonObject
from mcpgen.jsonschema.values import compare, value_at, without_absent

_NO_STEP = ""


class Fault(Struct, frozen=True):
    """An error response of the API to `times` requests of a step, from request number `at` on."""

    step: str
    at: int
    status: int
    times: int


@dataclass(slots=True)
class Course:
    """A simulated run of a workflow."""

    workflow: WorkflowPlan
    inputs: JsonObject
    replies: Mapping[str, JsonObject]  # by operation
    request: Callable[[StepPlan, JsonObject], JsonObject]  # returns the request of a step
    fault: Fault | None = None
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
            is_left_out = step.condition is not None and not self.holds(step.condition)
            if self._target is None and not is_left_out:
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
            if is_error and self.fault is not None:
                self.faults += 1
                reply = {"status": self.fault.status, "body": {}}
            self._answers[step.id] = [reply.get("body")]  # criteria apply to this run only
            self._statuses[step.id] = reply["status"]
            is_expected = all(self.holds(each.condition) for each in step.criteria)
            if is_expected and (step.criteria or not is_error):
                self._answers[step.id] = [*earlier, reply.get("body")]
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
        is_hit = fault is not None and fault.step == step.id and len(self.requests) >= fault.at
        return is_hit and fault is not None and self.faults < fault.times

    def _follow(self, step: StepPlan) -> None:
        for action in step.on_success:
            if all(self.holds(each.condition) for each in action.criteria):
                self._target = action.target if action.kind == "goto" else _NO_STEP
                return

    def _choose_action(self, step: StepPlan, repeats: Counter[int]) -> Action | None:
        for number, action in enumerate(step.on_failure):
            if not all(self.holds(each.condition) for each in action.criteria):
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

    def holds(self, condition: Condition) -> bool:
        """Whether a condition is true at this point."""
        match condition:
            case Truth(value=value):
                return bool(self.value(value))
            case Comparison(left=left, operator=operator, right=right):
                return compare(self.value(left), operator, self.value(right))
            case Negation(condition=inner):
                return not self.holds(inner)
            case Junction(word=word, conditions=parts):
                return (all if word == "and" else any)(map(self.holds, parts))
