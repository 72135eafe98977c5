"""Reading of the workflows in `mcpgen.yaml` and of the Arazzo documents that it names."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from mcpgen.diagnostics import Location, Problems, RejectedError, did_you_mean
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.ir.manifest_entries import StepEntry, WorkflowEntry
from mcpgen.ir.workflow import (
    Action,
    Criterion,
    Literal,
    Step,
    StepArgument,
    Tokens,
    Value,
    Workflow,
)
from mcpgen.jsonschema.dialects import meta_schema
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.manifest.expressions import KINDS, ExpressionError, read_condition, read_value
from mcpgen.openapi.validate.violations import describe_violations

ReadArazzo = Callable[[str, WorkflowEntry, str, Location], Workflow]


class ExpressionReader(Struct, frozen=True):
    """Parser of the values and conditions of one file, which reports problems with locations."""

    locate: Callable[[Tokens], Location]
    problems: Problems

    def value(self, written: JsonValue, tokens: Tokens) -> Value:
        """Read literals and expressions in any structure."""
        try:
            return read_value(written)
        except ExpressionError as error:
            self._report(error, tokens)
            return Literal(None)  # never used: the run ends with these problems

    def criterion(self, text: str, tokens: Tokens) -> Criterion:
        """Read a condition in Arazzo's simple form."""
        try:
            return Criterion(read_condition(text), text, tokens)
        except ExpressionError as error:
            self._report(error, tokens)
            return Criterion(read_condition("true"), text, tokens)

    def _report(self, error: ExpressionError, tokens: Tokens) -> None:
        self.problems.error(
            "workflow-expression",
            str(error),
            at=self.locate((*tokens, *error.tokens)),
            why="the value is unknown",
            help=f"write {KINDS}; `$$` escapes a leading `$`",
        )


def read_workflows(
    intent: LocatedManifest, read_arazzo: ReadArazzo, problems: Problems
) -> tuple[Workflow, ...]:
    """Read the workflows of a manifest, by name.

    `read_arazzo` reads the workflow with a name from the document at a path.

    Raises:
        RejectedError: one cannot be read; `problems` contains the reason.
    """
    before = len(problems)
    found: list[Workflow] = []
    for name, entry in sorted(intent.manifest.workflows.items()):
        tokens = ("workflows", name)
        if bool(entry.steps) is bool(entry.arazzo):
            problems.error(
                "workflow-steps",
                f"the workflow `{name}` has {'two sets of' if entry.steps else 'no'} steps",
                at=intent.locate(tokens),
                why="the workflow is ambiguous or empty",
                help="write `steps`, or the path of an Arazzo document under `arazzo`",
            )
        elif entry.arazzo and (entry.inputs != {} or entry.output is not None):
            key = "inputs" if entry.inputs != {} else "output"
            problems.error(
                "workflow-steps",
                f"`{key}` of the Arazzo workflow `{name}` in the manifest",
                at=intent.locate((*tokens, key)),
                why="the Arazzo document defines it, so that it would have no effect here",
                help="remove it, or write the `steps` here as well",
            )
        elif entry.arazzo:
            at = intent.locate((*tokens, "arazzo"))
            found.append(read_arazzo(name, entry, entry.arazzo, at))
        else:
            reader = ExpressionReader(intent.locate, problems)
            found.append(_read_workflow(name, entry, reader, tokens))
    for workflow in found:
        _check_inputs(workflow, problems)
    if len(problems) > before:
        raise RejectedError
    return tuple(found)


def _check_inputs(workflow: Workflow, problems: Problems) -> None:
    """Report inputs that are not a valid JSON Schema, and unknown required inputs."""
    inputs, tokens = workflow.inputs, workflow.inputs_tokens
    wrong = [
        (violation.tokens, violation.message, violation.help)
        for violation in describe_violations(meta_schema().iter_errors(inputs), "JSON Schema")
    ]
    if not wrong and isinstance(inputs, dict):
        names = inputs.get("properties", {})
        for at, name in enumerate(inputs.get("required", ())):
            if name not in names:
                hint = did_you_mean(name, names, "add it to `properties`")
                wrong.append((("required", str(at)), f"unknown input `{name}`", hint))
    for inside, message, hint in wrong:
        problems.error(
            "workflow-inputs",
            message,
            at=workflow.locate((*tokens, *inside)),
            why="the workflow could not be called",
            help=hint,
        )


def _read_workflow(
    name: str, entry: WorkflowEntry, reader: ExpressionReader, tokens: Tokens
) -> Workflow:
    output = (*tokens, "output")
    return Workflow(
        name=name,
        title=entry.title,
        description=entry.description,
        inputs=entry.inputs,
        steps=tuple(
            _step(step, reader, (*tokens, "steps", str(at))) for at, step in enumerate(entry.steps)
        ),
        output=None if entry.output is None else reader.value(entry.output, output),
        hints=read_hints(entry),
        locate=reader.locate,
        tokens=tokens,
        inputs_tokens=(*tokens, "inputs"),
        output_tokens=output,
    )


def read_hints(entry: WorkflowEntry) -> JsonObject:
    """Return the annotations in the manifest."""
    stated: JsonObject = msgspec.to_builtins(entry.annotations) if entry.annotations else {}
    return stated


def _step(entry: StepEntry, reader: ExpressionReader, tokens: Tokens) -> Step:
    arguments, outputs, each = ((*tokens, key) for key in ("arguments", "outputs", "for_each"))
    return Step(
        id=entry.id,
        operation=entry.operation,
        arguments=tuple(
            StepArgument(name, "", reader.value(value, (*arguments, name)), (*arguments, name))
            for name, value in entry.arguments.items()
        ),
        tokens=tokens,
        operation_tokens=(*tokens, "operation"),
        when=reader.criterion(entry.when, (*tokens, "when")) if entry.when else None,
        for_each=reader.value(entry.for_each, each) if entry.for_each else None,
        for_each_tokens=each,
        max_pages=entry.max_pages,
        outputs={
            name: reader.value(text, (*outputs, name)) for name, text in entry.outputs.items()
        },
        outputs_tokens=outputs,
        on_failure=_read_retries(entry, reader, (*tokens, "retry")),
    )


def _read_retries(entry: StepEntry, reader: ExpressionReader, tokens: Tokens) -> tuple[Action, ...]:
    retry = entry.retry
    if retry is None:
        return ()
    criteria = (reader.criterion(retry.when, (*tokens, "when")),) if retry.when else ()
    return (
        Action("retry", criteria, tokens, limit=retry.limit, after_seconds=retry.after_seconds),
    )
