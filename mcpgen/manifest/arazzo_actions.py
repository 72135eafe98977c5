"""Reading of success and failure actions of Arazzo 1.0; only jumps to later steps are supported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import UNSET, Struct

from mcpgen.diagnostics import did_you_mean
from mcpgen.ir.workflow import Action, Criterion, Tokens
from mcpgen.manifest import arazzo_document as arazzo
from mcpgen.manifest.workflows import ExpressionReader

Refuse = Callable[[str, Tokens, str], None]
"""Reports a problem: message, place and help."""

_BY_HAND = "remove it, and `mcpgen eject` the workflow to write it in `handlers/`"


class _Kind(Struct, frozen=True):
    """The keys and allowed types of success actions, or of failure actions."""

    key: str  # of a step
    group: str  # of a workflow, and of the components
    types: tuple[str, ...]
    reusable: Mapping[str, arazzo.Action]


class _Written(Struct, frozen=True):
    """An action and its place, after following a reference."""

    action: arazzo.Action
    at: Tokens


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
        names = {each.action.name for each in written}
        of_workflow = self._resolve(shared, (*self._tokens, kind.group), kind)
        written += [each for each in of_workflow if each.action.name not in names]
        return tuple(
            Action(
                str(action.type),
                self.criteria(action.criteria, (*at, "criteria")),
                at,
                target=action.step_id,
                limit=action.retry_limit,
                after_seconds=action.retry_after,
            )
            for action, at in ((each.action, each.at) for each in written)
            if self._is_supported(action, at, step, kind)
            and (action.type != "retry" or action.retry_limit)
        )

    def _resolve(
        self, actions: Sequence[arazzo.Action], tokens: Tokens, kind: _Kind
    ) -> Iterator[_Written]:
        """Yield the actions; replace Reusable Objects by their targets."""
        known = {f"$components.{kind.group}.{name}": name for name in kind.reusable}
        for at, action in enumerate(actions):
            if not action.reference:
                yield _Written(action, (*tokens, str(at)))
            elif name := known.get(action.reference):
                yield _Written(kind.reusable[name], ("components", kind.group, name))
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
            return action.type != "goto" or self._leads_forward(action, at, step)
        return False

    def _leads_forward(self, action: arazzo.Action, at: Tokens, step: arazzo.Step) -> bool:
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
