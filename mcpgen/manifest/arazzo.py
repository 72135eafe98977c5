"""Reading of workflows from Arazzo 1.0 documents into the IR, like those of the manifest."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import NoReturn

from msgspec import UNSET, Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError, did_you_mean
from mcpgen.ir.manifest_entries import WorkflowEntry
from mcpgen.ir.workflow import Action, Criterion, ObjectOf, Step, StepArgument, Tokens, Workflow
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.manifest import arazzo_document as arazzo
from mcpgen.manifest.typed_file import TypedFile, read_typed
from mcpgen.manifest.workflows import ExpressionReader, read_hints
from mcpgen.openapi.source.source_file import read_bytes
from mcpgen.openapi.source.source_text import DEFAULT_LIMITS
from mcpgen.text.json_pointer import pointer_tokens

Refuse = Callable[[str, Tokens, str], None]
"""Reports a problem: message, place and help."""

_BY_HAND = "remove it, and `mcpgen eject` the workflow to write it in `handlers/`"


class _Kind(Struct, frozen=True):
    """The keys and allowed types of success actions, or of failure actions."""

    key: str  # of a step
    group: str  # of a workflow, and of the components
    types: tuple[str, ...]
    reusable: Mapping[str, arazzo.Action]


class ActionReader:
    """Reader of the actions and criteria of one workflow's steps."""

    def __init__(
        self,
        document: arazzo.ArazzoDocument,
        number: int,
        reader: ExpressionReader,
        refuse: Refuse,
    ) -> None:
        """`number` is the index of the workflow in the document."""
        components = document.components
        self._success = _Kind(
            "onSuccess", "successActions", ("end", "goto"), components.success_actions
        )
        self._failure = _Kind(
            "onFailure", "failureActions", ("end", "goto", "retry"), components.failure_actions
        )
        self._workflow = document.workflows[number]
        self._tokens: Tokens = ("workflows", str(number))
        self._ids = [step.step_id for step in self._workflow.steps]
        self._reader = reader
        self._refuse = refuse

    def on_success(self, step: arazzo.Step, tokens: Tokens) -> tuple[Action, ...]:
        """Return the actions after the step's success, in order of priority."""
        shared = self._workflow.success_actions
        return self._list_actions(step, tokens, step.on_success, shared, self._success)

    def on_failure(self, step: arazzo.Step, tokens: Tokens) -> tuple[Action, ...]:
        """Return the actions after the step's failure, without a final "end", the default."""
        shared = self._workflow.failure_actions
        found = self._list_actions(step, tokens, step.on_failure, shared, self._failure)
        while found and found[-1].kind == "end":
            found = found[:-1]
        return found

    def criteria(
        self, written: Sequence[arazzo.Criterion], tokens: Tokens
    ) -> tuple[Criterion, ...]:
        """Read criteria of the type "simple"; report others."""
        return tuple(
            self._reader.criterion(criterion.condition, (*place, "condition"))
            for at, criterion in enumerate(written)
            if self._is_simple(criterion, place := (*tokens, str(at)))
        )

    def _is_simple(self, criterion: arazzo.Criterion, tokens: Tokens) -> bool:
        if criterion.type == "simple" and not criterion.context:
            return True
        self._refuse("unsupported type of a criterion", tokens, "write a `simple` criterion")
        return False

    def _list_actions(
        self,
        step: arazzo.Step,
        tokens: Tokens,
        own: Sequence[arazzo.Action],
        shared: Sequence[arazzo.Action],
        kind: _Kind,
    ) -> tuple[Action, ...]:
        """Return the step's actions, then those of the workflow with other names."""
        written = list(self._resolve(own, (*tokens, kind.key), kind))
        names = {action.name for action, _ in written}
        of_workflow = self._resolve(shared, (*self._tokens, kind.group), kind)
        written += [(action, at) for action, at in of_workflow if action.name not in names]
        return tuple(
            Action(
                str(action.type),
                self.criteria(action.criteria, (*at, "criteria")),
                at,
                target=action.step_id,
                limit=action.retry_limit,
                after_seconds=action.retry_after,
            )
            for action, at in written
            if self._is_supported(action, at, step, kind)
            and (action.type != "retry" or action.retry_limit)
        )

    def _resolve(
        self, actions: Sequence[arazzo.Action], tokens: Tokens, kind: _Kind
    ) -> Iterator[tuple[arazzo.Action, Tokens]]:
        """Yield the actions and their places; replace Reusable Objects by their targets."""
        known = {f"$components.{kind.group}.{name}": name for name in kind.reusable}
        for at, action in enumerate(actions):
            if not action.reference:
                yield action, (*tokens, str(at))
            elif name := known.get(action.reference):
                yield kind.reusable[name], ("components", kind.group, name)
            else:
                self._refuse(
                    f"unknown reusable action `{action.reference}`",
                    (*tokens, str(at), "reference"),
                    did_you_mean(
                        action.reference,
                        known,
                        f"write `$components.{kind.group}.NAME`, and define it in `components`",
                    ),
                )

    def _is_supported(
        self, action: arazzo.Action, at: Tokens, step: arazzo.Step, kind: _Kind
    ) -> bool:
        """Return whether the action is supported; report why not."""
        if action.type is UNSET or action.type not in kind.types:
            fault = "missing type" if action.type is UNSET else f"invalid type `{action.type}`"
            expected = " or ".join(map(_quote, kind.types))
            self._refuse(f"{fault} of an action in `{kind.key}`", at, f"write {expected}")
        elif action.workflow_id and action.type != "end":
            self._refuse(
                f"unsupported action: it runs the workflow `{action.workflow_id}`",
                (*at, "workflowId"),
                f"Arazzo 1.0 does not define its inputs; write its steps here, or {_BY_HAND}",
            )
        elif action.type == "retry" and action.step_id:
            self._refuse(
                f"unsupported retry: it runs the step `{action.step_id}` first",
                (*at, "stepId"),
                f"retry only the step itself, or {_BY_HAND}",
            )
        else:
            return action.type != "goto" or self._is_forward(action, at, step)
        return False

    def _is_forward(self, action: arazzo.Action, at: Tokens, step: arazzo.Step) -> bool:
        target, ids = action.step_id, self._ids
        if target not in ids:
            self._refuse(
                f"unknown step `{target}`" if target else "missing `stepId` of a `goto`",
                (*at, "stepId") if target else at,
                did_you_mean(target, ids, f"the steps are {', '.join(map(_quote, ids))}"),
            )
            return False
        if ids.index(target) > ids.index(step.step_id):
            return True
        self._refuse(
            f"unsupported jump back from `{step.step_id}` to `{target}`: it has no limit",
            (*at, "stepId"),
            "to repeat a step, write a `retry` with a `retryLimit`; to override an action of the"
            f" workflow, write one with the same `name` in the step; else {_BY_HAND}",
        )
        return False


def _quote(name: str) -> str:
    return f"`{name}`"


_CODE = "arazzo"
_WHY = "the workflow cannot be generated as its document describes it"
_OPERATION_PATH = re.compile(
    r"\{\$sourceDescriptions\.(?P<source>[A-Za-z0-9_\-]+)\.url\}#/paths/(?P<path>[^/]+)/(?P<method>[a-z]+)\Z"
)
_OPERATION_ID = re.compile(r"\$sourceDescriptions\.(?P<source>[A-Za-z0-9_\-]+)\.(?P<id>.+)\Z")


class ArazzoDocuments:
    """Workflows of the Arazzo documents of a project; each document is read once."""

    def __init__(self, project: Path, sources: Mapping[str, str], problems: Problems) -> None:
        """`sources` maps the path of each API description to the name of its source, or ""."""
        self._project = project
        self._sources = sources
        self._problems = problems
        self._read: dict[str, TypedFile[arazzo.ArazzoDocument]] = {}

    def read(self, name: str, entry: WorkflowEntry, path: str, at: Location) -> Workflow:
        """Read the workflow `name` from the document `path`, which the manifest names at `at`.

        Raises:
            RejectedError: the document cannot be read, or does not contain the workflow.
        """
        if Path(path).is_absolute() or ".." in Path(path).parts:
            self._refuse(f"`{path}` is outside the project", at, "write a path inside the project")
        if path not in self._read:
            if not (self._project / path).is_file():
                self._refuse(f"missing file `{path}`", at, "write the path of an Arazzo document")
            content = read_bytes(
                self._project / path, path, DEFAULT_LIMITS.max_document_bytes, self._problems
            )
            self._read[path] = read_typed(
                content, path, arazzo.ArazzoDocument, _CODE, self._problems
            )
        file = self._read[path]
        found = {_fold(each.workflow_id): at for at, each in enumerate(file.value.workflows)}
        number = found.get(_fold(name))
        if number is None:
            ids = [each.workflow_id for each in file.value.workflows]
            hint = did_you_mean(name, ids, f"its workflows are {', '.join(ids)}")
            self._refuse(f"unknown workflow `{name}` in `{path}`", at, hint)
        before = len(self._problems)
        reader = _WorkflowReader(file, number, self._sources, path, self._problems)
        workflow = reader.read(name, entry)
        if len(self._problems) > before:
            raise RejectedError
        return workflow

    def _refuse(self, message: str, at: Location, help: str) -> NoReturn:
        self._problems.error(_CODE, message, at=at, why=_WHY, help=help)
        raise RejectedError


def _fold(name: str) -> str:
    """Fold a workflow's id, so that `buyBook` and `buy_book` are equal."""
    return re.sub("[_-]", "", name).lower()


class _WorkflowReader:
    """Reader of one workflow."""

    def __init__(
        self,
        file: TypedFile[arazzo.ArazzoDocument],
        number: int,
        sources: Mapping[str, str],
        path: str,
        problems: Problems,
    ) -> None:
        self._file = file
        self._written = file.value.workflows[number]
        self._tokens: Tokens = ("workflows", str(number))
        self._sources = sources
        self._path = path
        self._problems = problems
        self._reader = ExpressionReader(file.at, problems)
        self._actions = ActionReader(file.value, number, self._reader, self._refuse)

    def read(self, name: str, entry: WorkflowEntry) -> Workflow:
        """Return the workflow with its name and texts of the manifest, else of the document."""
        written, tokens, outputs = self._written, self._tokens, (*self._tokens, "outputs")
        if written.depends_on:
            self._refuse(
                "unsupported `dependsOn` of a workflow",
                (*tokens, "dependsOn"),
                "write the steps of the other workflow here",
            )
        return Workflow(
            name=name,
            title=entry.title or written.summary,
            description=entry.description or written.description or written.summary,
            inputs=self._read_inputs(),
            steps=tuple(
                self._step(step, (*tokens, "steps", str(at)))
                for at, step in enumerate(written.steps)
            ),
            output=ObjectOf(
                tuple(
                    (output, self._reader.value(text, (*outputs, output)))
                    for output, text in written.outputs.items()
                )
            )
            if written.outputs
            else None,
            hints=read_hints(entry),
            locate=self._reader.locate,
            tokens=tokens,
            inputs_tokens=(*tokens, "inputs"),
            output_tokens=outputs,
        )

    def _read_inputs(self) -> JsonSchema:
        """Return the inputs, or those of `components` if they are a reference."""
        written = self._written.inputs
        if not isinstance(written, dict) or "$ref" not in written:
            return written
        place, name = (*self._tokens, "inputs"), str(written["$ref"])
        found = self._file.value.components.inputs.get(name.removeprefix("#/components/inputs/"))
        if found is None or not name.startswith("#/components/inputs/") or len(written) > 1:
            self._refuse(
                f"unsupported reference `{name}` for inputs",
                place,
                "write the inputs here, or only a reference to `#/components/inputs/NAME`",
            )
            return {}
        return found

    def _step(self, step: arazzo.Step, tokens: Tokens) -> Step:
        operation, operation_tokens = self._find_operation(step, tokens)
        arguments = self._list_parameters(step, tokens)
        if step.request_body is not None:
            arguments += self._read_body(step.request_body, (*tokens, "requestBody"))
        return Step(
            id=step.step_id,
            operation=operation,
            arguments=tuple(arguments),
            tokens=tokens,
            operation_tokens=operation_tokens,
            outputs={
                name: self._reader.value(text, (*tokens, "outputs", name))
                for name, text in step.outputs.items()
            },
            outputs_tokens=(*tokens, "outputs"),
            criteria=self._actions.criteria(step.success_criteria, (*tokens, "successCriteria")),
            on_success=self._actions.on_success(step, tokens),
            on_failure=self._actions.on_failure(step, tokens),
        )

    def _find_operation(self, step: arazzo.Step, tokens: Tokens) -> tuple[str, Tokens]:
        named = {
            "operationId": step.operation_id,
            "operationPath": step.operation_path,
            "workflowId": step.workflow_id,
        }
        present = [key for key, text in named.items() if text]
        if present == ["operationId"]:
            place = (*tokens, "operationId")
            found = _OPERATION_ID.match(step.operation_id)
            if found is None:
                return step.operation_id, place
            return self._prefix(found["source"], place) + found["id"], place
        if present == ["operationPath"]:
            place = (*tokens, "operationPath")
            found = _OPERATION_PATH.match(step.operation_path)
            if found is not None:
                path = pointer_tokens(f"/{found['path']}")[0]
                prefix = self._prefix(found["source"], place)
                return f"{prefix}{found['method'].upper()} {path}", place
            self._refuse(
                f"invalid operation path `{step.operation_path}`",
                place,
                "write `{$sourceDescriptions.NAME.url}#/paths/~1pets/get`",
            )
            return "", place
        self._refuse(
            "unsupported `workflowId` of a step"
            if present == ["workflowId"]
            else f"{'several operations' if present else 'missing operation'} of the step"
            f" `{step.step_id}`",
            tokens,
            "name one operation with `operationId` or `operationPath`",
        )
        return "", tokens

    def _prefix(self, source: str, tokens: Tokens) -> str:
        """Return the prefix of the keys of a source's operations."""
        for at, description in enumerate(self._file.value.source_descriptions):
            if description.name == source:
                return self._find_prefix(description.url, ("sourceDescriptions", str(at), "url"))
        names = ", ".join(f"`{each.name}`" for each in self._file.value.source_descriptions)
        self._refuse(f"unknown source `{source}`", tokens, f"the sources are {names}")
        return ""

    def _find_prefix(self, url: str, tokens: Tokens) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self._path), url))
        for document, name in self._sources.items():
            if posixpath.normpath(document) == path:
                return f"{name}:" if name else ""
        documents = ", ".join(f"`{document}`" for document in self._sources)
        self._refuse(
            f"`{url}` is not a document of this server",
            tokens,
            f"write a path relative to this file; the documents are {documents}",
        )
        return ""

    def _list_parameters(self, step: arazzo.Step, tokens: Tokens) -> list[StepArgument]:
        """Return the parameters of the step, and those of the workflow for all steps."""
        found: dict[tuple[str, str], StepArgument] = {}
        for written, place in (
            (self._written.parameters, (*self._tokens, "parameters")),
            (step.parameters, (*tokens, "parameters")),
        ):
            for at, parameter in enumerate(written):
                argument = self._read_argument(parameter, (*place, str(at)))
                found[argument.location, argument.name] = argument
        return list(found.values())

    def _read_argument(self, parameter: arazzo.Parameter, tokens: Tokens) -> StepArgument:
        if parameter.reference:
            name = parameter.reference.removeprefix("$components.parameters.")
            reusable = self._file.value.components.parameters.get(name)
            if reusable is not None and name != parameter.reference:
                place = ("components", "parameters", name)
                if parameter.value is None:
                    return self._read_argument(reusable, place)
                return self._read_argument(replace(reusable, value=parameter.value), tokens)
        if parameter.reference or not parameter.name or parameter.in_ is UNSET:
            self._refuse(
                f"unknown reusable parameter `{parameter.reference}`"
                if parameter.reference
                else "incomplete parameter",
                tokens,
                "write `name`, `in` and `value` here",
            )
        value = self._reader.value(parameter.value, (*tokens, "value"))
        return StepArgument(parameter.name, str(parameter.in_), value, (*tokens, "value"))

    def _read_body(self, body: arazzo.RequestBody, tokens: Tokens) -> list[StepArgument]:
        payload = deepcopy(body.payload)
        for at, replacement in enumerate(body.replacements):
            place = (*tokens, "replacements", str(at), "target")
            payload = self._replace(payload, replacement, place)
        at_payload = (*tokens, "payload")
        value = self._reader.value(payload, at_payload)
        arguments = [StepArgument("", "body", value, at_payload)]
        if body.content_type:
            kind = self._reader.value(body.content_type, (*tokens, "contentType"))
            arguments.append(StepArgument("", "content_type", kind, (*tokens, "contentType")))
        return arguments

    def _replace(
        self, payload: JsonValue, replacement: arazzo.Replacement, tokens: Tokens
    ) -> JsonValue:
        """Return the payload with the value at the replacement's target replaced."""
        path = self._read_pointer(replacement.target, tokens)
        if not path:
            return replacement.value
        holder = payload
        for token in path[:-1]:
            holder = _find_member(holder, token)
        last = path[-1]
        if isinstance(holder, dict):
            holder[last] = replacement.value
        elif isinstance(holder, list) and last.isdecimal() and int(last) < len(holder):
            holder[int(last)] = replacement.value
        else:
            self._refuse(
                f"unknown target `{replacement.target}` in the payload",
                tokens,
                "write the JSON Pointer of a value in the payload",
            )
        return payload

    def _read_pointer(self, target: str, tokens: Tokens) -> tuple[str, ...]:
        try:
            return pointer_tokens(target)
        except ValueError:
            self._refuse(
                f"invalid JSON Pointer `{target}`", tokens, "write for example `/items/0/isbn`"
            )
            return ()

    def _refuse(self, message: str, tokens: Tokens, help: str) -> None:
        self._problems.error(_CODE, message, at=self._file.at(tokens), why=_WHY, help=help)


def _find_member(value: JsonValue, token: str) -> JsonValue:
    if isinstance(value, dict):
        return value.get(token)
    if isinstance(value, list) and token.isdecimal() and int(token) < len(value):
        return value[int(token)]
    return None
