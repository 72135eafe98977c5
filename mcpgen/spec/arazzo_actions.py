"""The actions of Arazzo 1.0 that follow a step, as far as steps can be gone through in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import UNSET, Struct

from mcpgen.diagnostics import did_you_mean
from mcpgen.ir.workflow import Action, Criterion, Tokens
from mcpgen.spec import arazzo_document as arazzo
from mcpgen.spec.workflows import ExpressionReader

Refuse = Callable[[str, Tokens, str], None]
"""Tells a problem: its message and place, and what helps."""

_BY_HAND = "leave it out, and `mcpgen eject` the workflow to write it in `handlers/`"


class _Kind(Struct, frozen=True):
    """The actions of one outcome: what the document calls them, and what types they have."""

    key: str  # of a step
    group: str  # of a workflow, and of the components
    types: tuple[str, ...]
    reusable: Mapping[str, arazzo.Action]


class _Written(Struct, frozen=True):
    """An action as it stands somewhere, a reference followed."""

    action: arazzo.Action
    at: Tokens


class ActionReader:
    """Reads what follows the steps of one workflow."""

    def __init__(
        self,
        document: arazzo.ArazzoDocument,
        number: int,
        reader: ExpressionReader,
        refuse: Refuse,
    ) -> None:
        """Take the document, and which of its workflows is read."""
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
        """Give what follows the step's success, in the order in which it is tried."""
        shared = self._workflow.success_actions
        return self._actions(step, tokens, step.on_success, shared, self._success)

    def on_failure(self, step: arazzo.Step, tokens: Tokens) -> tuple[Action, ...]:
        """Give what follows the step's failure; that it ends the workflow need not be said."""
        shared = self._workflow.failure_actions
        found = self._actions(step, tokens, step.on_failure, shared, self._failure)
        while found and found[-1].kind == "end":
            found = found[:-1]
        return found

    def criteria(
        self, written: Sequence[arazzo.Criterion], tokens: Tokens
    ) -> tuple[Criterion, ...]:
        """Read conditions in the simple form, the one that there is."""
        return tuple(
            self._reader.criterion(criterion.condition, (*place, "condition"))
            for at, criterion in enumerate(written)
            if self._is_simple(criterion, place := (*tokens, str(at)))
        )

    def _is_simple(self, criterion: arazzo.Criterion, tokens: Tokens) -> bool:
        if criterion.type == "simple" and not criterion.context:
            return True
        self._refuse("a criterion of this type is not followed", tokens, "write a `simple` one")
        return False

    def _actions(
        self,
        step: arazzo.Step,
        tokens: Tokens,
        own: Sequence[arazzo.Action],
        shared: Sequence[arazzo.Action],
        kind: _Kind,
    ) -> tuple[Action, ...]:
        """The step's own, then those of the workflow whose names none of its own has."""
        written = list(self._written(own, (*tokens, kind.key), kind))
        names = {each.action.name for each in written}
        of_workflow = self._written(shared, (*self._tokens, kind.group), kind)
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
            if self._is_followed(action, at, step, kind)
            and (action.type != "retry" or action.retry_limit)
        )

    def _written(
        self, actions: Sequence[arazzo.Action], tokens: Tokens, kind: _Kind
    ) -> Iterator[_Written]:
        """The actions, and in the place of each Reusable Object what it stands for."""
        known = {f"$components.{kind.group}.{name}": name for name in kind.reusable}
        for at, action in enumerate(actions):
            if not action.reference:
                yield _Written(action, (*tokens, str(at)))
            elif name := known.get(action.reference):
                yield _Written(kind.reusable[name], ("components", kind.group, name))
            else:
                self._refuse(
                    f"`{action.reference}` is no reusable action of this document",
                    (*tokens, str(at), "reference"),
                    did_you_mean(
                        action.reference,
                        known,
                        f"write `$components.{kind.group}.NAME`, and it under `components`",
                    ),
                )

    def _is_followed(
        self, action: arazzo.Action, at: Tokens, step: arazzo.Step, kind: _Kind
    ) -> bool:
        """Whether the steps can be written out so; says why where they cannot."""
        if action.type is UNSET or action.type not in kind.types:
            named = "without a type" if action.type is UNSET else f"of type `{action.type}`"
            message = f"an action {named} says nothing under `{kind.key}`"
            self._refuse(message, at, f"its type is {' or '.join(map(_quoted, kind.types))}")
        elif action.workflow_id and action.type != "end":
            self._refuse(
                f"an action that runs the workflow `{action.workflow_id}` is not followed",
                (*at, "workflowId"),
                f"Arazzo 1.0 does not tell with which inputs; write its steps here, or {_BY_HAND}",
            )
        elif action.type == "retry" and action.step_id:
            self._refuse(
                f"a retry that runs the step `{action.step_id}` before is not followed",
                (*at, "stepId"),
                f"let the step itself be tried again, or {_BY_HAND}",
            )
        else:
            return action.type != "goto" or self._leads_forward(action, at, step)
        return False

    def _leads_forward(self, action: arazzo.Action, at: Tokens, step: arazzo.Step) -> bool:
        target, ids = action.step_id, self._ids
        if target not in ids:
            self._refuse(
                f"no step is called `{target}`" if target else "this `goto` names no step",
                (*at, "stepId") if target else at,
                did_you_mean(target, ids, f"the steps are {', '.join(map(_quoted, ids))}"),
            )
            return False
        if ids.index(target) > ids.index(step.step_id):
            return True
        self._refuse(
            f"`{step.step_id}` goes back to `{target}`, and nothing bounds how often",
            (*at, "stepId"),
            "a `retry` with a `retryLimit` repeats a step; an action of the workflow is kept from "
            f"a step by one of the same `name` there; else {_BY_HAND}",
        )
        return False


def _quoted(name: str) -> str:
    return f"`{name}`"
