"""Views of `_generated/workflows.py`: the steps of each planned workflow as Python source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from mcpgen.ir.tool_plan import ServerPlan, StepPlan, WorkflowPlan, WorkflowResult
from mcpgen.ir.workflow import (
    Action,
    Comparison,
    Condition,
    Criterion,
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
from mcpgen.render.environment import DocText, Source, doc_text, identifier, literal
from mcpgen.render.imports import ImportSections
from mcpgen.render.views import (
    NamesUsed,
    parameters,
    short_title,
    workflow_returns,
    write_docstring,
)
from mcpgen.text.prose import first_phrase


class WorkflowView(Struct, frozen=True):
    """One workflow; `statements` are its steps, in their order."""

    name: Source
    function: Source
    signature: Source
    docstring: DocText
    returns: Source
    steps: Source  # the ids of all steps, as literals
    statements: tuple[Source, ...]
    result: Source


class ResultView(Struct, frozen=True):
    """The class of one workflow's result; `members` are its lines."""

    name: Source
    docstring: DocText
    members: tuple[Source, ...]


class WorkflowsModule(Struct, frozen=True):
    """`_generated/workflows.py`."""

    title: DocText
    imports: ImportSections
    results: tuple[ResultView, ...]
    workflows: tuple[WorkflowView, ...]


def workflows_module(plan: ServerPlan) -> WorkflowsModule:
    """Return the view of the workflows of a server."""
    names = NamesUsed()
    names.runtime |= {"Context", "ToolGroup", "Workflow"}
    workflows = tuple(_Spelling(workflow, names).view() for workflow in plan.workflows)
    results = tuple(
        _result(workflow.returns, workflow.key, names)
        for workflow in plan.workflows
        if isinstance(workflow.returns, WorkflowResult)
    )
    return WorkflowsModule(
        title=short_title(plan),
        imports=names.spell_imports(plan, {}),
        results=results,
        workflows=workflows,
    )


def _result(result: WorkflowResult, key: str, names: NamesUsed) -> ResultView:
    names.typing.add("TypedDict")
    return ResultView(
        name=identifier(result.name),
        docstring=doc_text(f"What `{key}` gives."),
        members=tuple(
            Source(f"{identifier(name)}: {names.spell(annotation)}")
            for name, annotation in result.members
        ),
    )


class _Spelling:
    """Rendering of one workflow; the names to import are added to `names`."""

    def __init__(self, workflow: WorkflowPlan, names: NamesUsed) -> None:
        self._workflow = workflow
        self._names = names
        self._inputs = {item.name: item.identifier for item in workflow.arguments}
        self._variables = {step.id: step.variable for step in workflow.steps}
        self._read = set(_find_read_steps(workflow))

    def view(self) -> WorkflowView:
        workflow = self._workflow
        return WorkflowView(
            name=literal(workflow.name),
            function=identifier(workflow.function),
            signature=parameters(workflow.arguments, self._names),
            docstring=write_docstring(
                first_phrase(workflow.description).removesuffix("."), workflow.key
            ),
            returns=workflow_returns(workflow, self._names),
            steps=Source(", ".join(literal(step.id) for step in workflow.steps)),
            statements=tuple(map(self._statement, workflow.steps)),
            result=self._result(workflow.output),
        )

    def _statement(self, step: StepPlan) -> Source:
        call = self._call(step)
        return Source(f"{identifier(step.variable)} = {call}") if step.id in self._read else call

    def _call(self, step: StepPlan) -> Source:
        arguments = self._value(step.arguments)
        method = "call"
        if step.items is not None:
            items = self._value(step.items)
            arguments = Source(f"[{arguments} for item in flow.items({literal(step.id)}, {items})]")
            method = "call_each"
        parts = [literal(step.id), literal(step.tool), arguments]
        if step.condition is not None:
            parts.append(Source(f"when={self._condition(step.condition)}"))
        if step.criteria:
            expected = {
                literal(each.text): self._spell_criteria((each,), step) for each in step.criteria
            }
            entries = ", ".join(f"{text}: {condition}" for text, condition in expected.items())
            parts.append(Source(f"expect={{{entries}}}"))
        for key, actions in (("on_success", step.on_success), ("on_failure", step.on_failure)):
            if actions:
                entries = ", ".join(self._action(action, step) for action in actions)
                parts.append(Source(f"{key}=[{entries}]"))
        return Source(f"await flow.{method}({', '.join(parts)})")

    def _action(self, action: Action, step: StepPlan) -> Source:
        parts = []
        match action.kind:
            case "goto":
                name, parts = "GoTo", [literal(action.target)]
            case "retry":
                name, parts = "Retry", [literal(action.limit)]
                if action.after_seconds:
                    parts.append(Source(f"after_seconds={literal(action.after_seconds)}"))
            case _:
                name = "End"
        if action.criteria:
            parts.append(Source(f"when={self._spell_criteria(action.criteria, step)}"))
        self._names.runtime.add(name)
        return Source(f"{name}({', '.join(parts)})")

    def _spell_criteria(self, criteria: Sequence[Criterion], step: StepPlan) -> Source:
        """Return the criteria as a lambda, whose parameter is the result, named as the step."""
        conditions = tuple(criterion.condition for criterion in criteria)
        condition = conditions[0] if len(conditions) == 1 else Junction("and", conditions)
        is_about_step = step.id in _find_steps(_list_values(condition))
        subject = identifier(step.variable) if is_about_step else Source("_")
        return Source(f"lambda {subject}: {self._condition(condition)}")

    def _result(self, output: Value) -> Source:
        self._names.runtime.add("without_absent")
        return Source(f"without_absent({self._value(output)})")

    def _value(self, value: Value) -> Source:
        match value:
            case Literal(value=plain):
                return literal(plain)
            case ListOf(items=items):
                return Source(f"[{', '.join(map(self._value, items))}]")
            case ObjectOf(members=members):
                entries = (f"{literal(name)}: {self._value(item)}" for name, item in members)
                return Source(f"{{{', '.join(entries)}}}")
            case InputValue(name=name, pointer=pointer):
                return self._at(identifier(self._inputs[name]), pointer)
            case ItemValue(pointer=pointer):
                return self._at(Source("item"), pointer)
            case ResponseValue(part=part, selector=selector, step=step):
                variable = identifier(self._variables[step])
                if part == "status":
                    return Source(f"{variable}.status")
                argument = literal(selector) if selector else ""
                return Source(f"{variable}.{'get' if part == 'body' else 'header'}({argument})")
            case _:
                raise ValueError(f"not resolved: {value}")

    def _at(self, source: Source, pointer: str) -> Source:
        if not pointer:
            return source
        self._names.runtime.add("value_at")
        return Source(f"value_at({source}, {literal(pointer)})")

    def _condition(self, condition: Condition) -> Source:
        match condition:
            case Truth(value=value):
                return Source(f"bool({self._value(value)})")
            case Comparison(left=left, operator=operator, right=right):
                self._names.runtime.add("compare")
                sides = self._value(left), literal(operator), self._value(right)
                return Source(f"compare({', '.join(sides)})")
            case Negation(condition=inner):
                return Source(f"(not {self._condition(inner)})")
            case Junction(word=word, conditions=parts):
                return Source(f"({f' {word} '.join(map(self._condition, parts))})")


def _find_read_steps(workflow: WorkflowPlan) -> Iterator[str]:
    """The steps whose responses something below them uses."""
    yield from _find_steps([workflow.output])
    for step in workflow.steps:
        yield from _find_steps([step.arguments, *([] if step.items is None else [step.items])])
        conditions = [criterion.condition for criterion in step.criteria]
        for action in (*step.on_success, *step.on_failure):
            conditions += [criterion.condition for criterion in action.criteria]
        if step.condition is not None:
            conditions.append(step.condition)
        for condition in conditions:
            yield from (each for each in _find_steps(_list_values(condition)) if each != step.id)


def _find_steps(found: Iterable[Value]) -> Iterator[str]:
    """The steps that values are of."""
    values = list(found)
    while values:
        match values.pop():
            case ResponseValue(step=step_id):
                yield step_id
            case ListOf(items=items):
                values += items
            case ObjectOf(members=members):
                values += [item for _, item in members]


def _list_values(condition: Condition) -> Iterable[Value]:
    match condition:
        case Truth(value=value):
            yield value
        case Comparison(left=left, right=right):
            yield from (left, right)
        case Negation(condition=inner):
            yield from _list_values(inner)
        case Junction(conditions=parts):
            for part in parts:
                yield from _list_values(part)
