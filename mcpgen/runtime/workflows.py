"""Workflows: tools of several calls. A generated one is a function that says its steps to this."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from mcpgen.runtime.absent import ABSENT
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.context import Context, InputRequiredError
from mcpgen.runtime.errors import ClientCannotError, ConfigurationError, ToolError
from mcpgen.runtime.tools import Run
from mcpgen.runtime.workflow_values import value_at, without_absent

MAX_ITEMS: Final = 100  # for which one step runs
_SHOWN_CHARACTERS: Final = 500  # of what a step gave, in the report of a failure
_DONE_KEY: Final = "workflow"


@dataclass(frozen=True, slots=True)
class Step:
    """What came of a step: nothing where it was skipped, one run, or one for each of its items."""

    runs: tuple[Run, ...] = ()
    is_repeated: bool = False

    def get(self, pointer: str = "") -> Any:
        """Give what stands in the response at a JSON Pointer; ABSENT where nothing does.

        Of a step that ran for several items it is a list, without what is absent.
        """
        return self._each(value_at(run.value, pointer) for run in self.runs)

    def header(self, name: str) -> Any:
        """Give the text of a response's header, or ABSENT."""
        return self._each(run.header(name) for run in self.runs)

    @property
    def status(self) -> Any:
        """The status of the response; ABSENT where no request was sent."""
        return self._each(ABSENT if run.status is None else run.status for run in self.runs)

    def _each(self, values: Iterable[Any]) -> Any:
        found = [value for value in values if value is not ABSENT]
        if self.is_repeated:
            return found
        return found[0] if found else ABSENT


class Workflow:
    """The steps of one call of a workflow, in their order.

    A step that fails ends the call: the model is told which steps took effect, and what they
    gave, and which did not. Where a step asks the user something and the client calls again for
    that, the steps before it are not repeated.
    """

    def __init__(self, ctx: Context, *steps: str) -> None:
        """Begin; `steps` are the ids of all of them."""
        self._ctx = ctx
        self._steps = steps
        self._runs: list[tuple[str, Run]] = []  # with the step of each
        self._done = [msgspec.convert(run, Run) for run in ctx.state.get(_DONE_KEY, ())]

    async def call(self, step: str, tool: str, arguments: JsonObject, *, when: bool = True) -> Step:
        """Call a tool as a client would; what is ABSENT in its arguments is left out.

        Raises:
            ToolError: it failed; says what took effect before.
        """
        self._report_progress(step)
        return Step((await self._run(step, tool, arguments),)) if when else Step()

    async def call_each(
        self, step: str, tool: str, arguments: Sequence[JsonObject], *, when: bool = True
    ) -> Step:
        """Call a tool once for each of these arguments, one after the other.

        Raises:
            ToolError: as `call`; or they are more than 100.
        """
        self._report_progress(step)
        if not when:
            return Step(is_repeated=True)
        if len(arguments) > MAX_ITEMS:
            count = len(arguments)
            raise self._failed(step, f"it is for {MAX_ITEMS} items at most, and has {count:,}")
        runs = [await self._run(step, tool, one) for one in arguments]
        return Step(tuple(runs), is_repeated=True)

    def items(self, step: str, value: Any) -> list[Any]:
        """Give the list that a step goes through; an absent one is empty.

        Raises:
            ToolError: it is no list.
        """
        if value is ABSENT or value is None:
            return []
        if not isinstance(value, list):
            raise self._failed(step, f"it goes through a list, and has {_shown(value)}")
        return value

    def require(self, step: str, criterion: str, *, holds: bool) -> None:
        """Go on only where what was expected of a step is so.

        Raises:
            ToolError: it is not.
        """
        if not holds:
            raise self._failed(step, f"`{criterion}` does not hold")

    async def _run(self, step: str, tool: str, arguments: JsonObject) -> Run:
        number = len(self._runs)
        if number < len(self._done):
            run = self._done[number]
        else:
            try:
                run = await self._ctx.run_tool(tool, without_absent(arguments), f"{step}-{number}")
            except InputRequiredError:
                done = [_as_json(run) for _, run in self._runs]
                self._ctx.state = {**self._ctx.state, _DONE_KEY: done}
                raise
            except ClientCannotError as error:
                if not self._runs:
                    raise  # nothing took effect, so the client is told in its revision's way
                raise self._failed(step, str(error)) from error
            except (ToolError, ConfigurationError) as error:
                raise self._failed(step, str(error)) from error
        self._runs.append((step, run))
        return run

    def _report_progress(self, step: str) -> None:
        at, total = self._steps.index(step), len(self._steps)
        self._ctx.report_progress(at, total, f"step {at + 1} of {total}: {step}")

    def _failed(self, step: str, why: str) -> ToolError:
        """Say why a step failed, what took effect and what did not."""
        lines = [f"The step `{step}` failed: {why.rstrip('.')}."]
        done = [
            f"- `{name}` (`{run.operation}`) gave {_shown(run.value)}" for name, run in self._runs
        ]
        lines += ["These steps took effect:", *done] if done else ["No step took effect before it."]
        later = self._steps[self._steps.index(step) + 1 :]
        if later:
            lines.append(f"Not begun: {', '.join(f'`{name}`' for name in later)}.")
        return ToolError("\n".join(lines))


def _shown(value: Any) -> str:
    if value is None:
        return "no content"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return f"a value of type {type(value).__name__}"
    cut = len(text) - _SHOWN_CHARACTERS
    return text if cut <= 0 else f"{text[:_SHOWN_CHARACTERS]}… (cut: {cut:,} more characters)"


def _as_json(run: Run) -> JsonObject:
    """Give a run as what the client can bring back; a value that is no JSON is lost."""
    try:
        json.dumps(run.value)
    except (TypeError, ValueError):
        run = replace(run, value=None)
    plain: JsonObject = msgspec.to_builtins(run)
    return plain
