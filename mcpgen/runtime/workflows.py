"""Workflows: tools that call several other tools, step by step."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from mcpgen.absent import ABSENT
from mcpgen.jsonschema.values import value_at, without_absent
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import CallRefusedError, ClientCannotError, ConfigurationError, ToolError
from mcpgen.runtime.handlers.context import Context, InputRequiredError
from mcpgen.runtime.tools.results import ToolOutcome
from mcpgen.runtime.upstream.errors import UpstreamStatusError


@dataclass(frozen=True, slots=True)
class Step:
    """Outcome of a step: no run if skipped, one run, or one run for each item."""

    runs: tuple[ToolOutcome, ...] = ()
    is_repeated: bool = False

    def get(self, pointer: str = "") -> Any:
        """Return the value at a JSON Pointer of the response; ABSENT if there is none.

        Of a step that ran for several items it is a list, without what is absent.
        """
        return self._each(value_at(run.value, pointer) for run in self.runs)

    def header(self, name: str) -> Any:
        """Return a header of the response, or ABSENT."""
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


def always(_: Step) -> bool:
    """Match every outcome of a step."""
    return True


StepCondition: TypeAlias = Callable[[Step], bool]


@dataclass(frozen=True, slots=True)
class End:
    """End the workflow: with the results so far or, if the step failed, with its error."""

    when: StepCondition = always


@dataclass(frozen=True, slots=True)
class GoTo:
    """Continue with a later step; the steps before it are skipped."""

    step: str
    when: StepCondition = always


@dataclass(frozen=True, slots=True)
class Retry:
    """Repeat the call, up to `limit` times; `Retry-After` of the response overrides the delay.

    A call that was refused before anything was sent is not repeated.
    """

    limit: int
    after_seconds: float = 0.0
    when: StepCondition = always


SuccessAction: TypeAlias = End | GoTo
FailureAction: TypeAlias = End | GoTo | Retry


MAX_ITEMS: Final = 100  # for which one step runs
MAX_WAIT_SECONDS: Final = 60.0  # before a step is tried again, whatever `Retry-After` says
_SHOWN_CHARACTERS: Final = 500  # of what a step gave, in the report of a failure
_DONE_KEY: Final = "workflow"
_NO_CONDITIONS: Final[Mapping[str, StepCondition]] = MappingProxyType({})
_NO_STEP: Final = ""  # where a workflow goes that has ended


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One call of a tool: its outcome, and the reason if it failed."""

    run: ToolOutcome
    failure: str = ""
    is_refused: bool = False  # nothing was sent, and the same call would be refused again
    retry_after_seconds: float | None = None

    @classmethod
    def from_error(cls, tool: str, error: ToolError | ConfigurationError) -> _Attempt:
        """Create an attempt from the error of a failed call."""
        is_refused = isinstance(error, CallRefusedError | ConfigurationError)
        if not isinstance(error, UpstreamStatusError):
            return cls(ToolOutcome(tool, None), str(error), is_refused)
        answered = ToolOutcome(tool, error.problem, error.status, error.headers)
        return cls(answered, str(error), retry_after_seconds=error.retry_after_seconds)

    @property
    def step(self) -> Step:
        """The step that conditions are evaluated on; empty without a response."""
        return Step() if self.failure and self.run.status is None else Step((self.run,))

    def find_failure(self, expect: Mapping[str, StepCondition]) -> str:
        """Return why the attempt failed; "" if it succeeded.

        If there was a response, only `expect` decides, as in Arazzo: an error status that a step
        expects is a success.
        """
        if self.failure and (not expect or self.run.status is None):
            return self.failure
        unmet = next((text for text, condition in expect.items() if not condition(self.step)), "")
        return unmet and (self.failure or f"`{unmet}` does not hold")


class Workflow:
    """The steps of one call of a workflow, in their order.

    A failed step ends the call, unless one of its actions continues it. The error lists the steps
    that took effect with their results, and those that did not begin. If a step asks the user and
    the client calls again with the answer, the steps before it are not repeated.
    """

    def __init__(self, ctx: Context, *steps: str) -> None:
        """Begin the workflow; `steps` are the ids of all steps."""
        self._ctx = ctx
        self._steps = steps
        self._attempts: list[_Attempt] = []
        self._effects: list[tuple[str, ToolOutcome]] = []  # with the step of each
        self._target: str | None = None  # the step to go to; None for the one that follows
        self._done = [msgspec.convert(one, _Attempt) for one in ctx.state.get(_DONE_KEY, ())]

    async def call(
        self,
        step: str,
        tool: str,
        arguments: JsonObject,
        *,
        when: bool = True,
        expect: Mapping[str, StepCondition] = _NO_CONDITIONS,
        on_success: Sequence[SuccessAction] = (),
        on_failure: Sequence[FailureAction] = (),
    ) -> Step:
        """Call a tool as a client would, without the ABSENT members of its arguments.

        The step succeeds if all conditions of `expect` hold or, without conditions, if the API
        returned no error. Then the first action whose condition holds is taken. The result is
        empty for a step that was skipped, or that failed while the workflow continues.

        Raises:
            ToolError: the step failed; the text lists the steps that took effect.
        """
        if not self._begin(step, when):
            return Step()
        run = await self._repeat_until_settled(step, tool, arguments, expect, on_failure)
        if run is None:
            return Step()
        found = Step((run,))
        match next((action for action in on_success if action.when(found)), None):
            case GoTo(step=target):
                self._target = target
            case End():
                self._target = _NO_STEP
        return found

    async def call_each(
        self,
        step: str,
        tool: str,
        arguments: Sequence[JsonObject],
        *,
        when: bool = True,
        on_failure: Sequence[Retry] = (),
    ) -> Step:
        """Call a tool once for each of these arguments, one after the other.

        Raises:
            ToolError: as `call`, or there are more than 100 arguments.
        """
        if not self._begin(step, when):
            return Step(is_repeated=True)
        if len(arguments) > MAX_ITEMS:
            why = f"it is for {MAX_ITEMS} items at most, and has {len(arguments):,}"
            raise self._make_failure(step, why)
        runs = [
            await self._repeat_until_settled(step, tool, one, _NO_CONDITIONS, on_failure)
            for one in arguments
        ]
        return Step(tuple(run for run in runs if run is not None), is_repeated=True)

    def items(self, step: str, value: Any) -> list[Any]:
        """Return the list that a step iterates over; empty if absent.

        Raises:
            ToolError: the value is not a list.
        """
        if value is ABSENT or value is None:
            return []
        if not isinstance(value, list):
            raise self._make_failure(step, f"it goes through a list, and has {_shorten(value)}")
        return value

    def _begin(self, step: str, when: bool) -> bool:
        """Report progress; return whether the step runs: no condition and no `GoTo` skips it."""
        self._report_progress(step)
        if self._target == step:
            self._target = None
        return when and self._target is None

    async def _repeat_until_settled(
        self,
        step: str,
        tool: str,
        arguments: JsonObject,
        expect: Mapping[str, StepCondition],
        on_failure: Sequence[FailureAction],
    ) -> ToolOutcome | None:
        """Call until it succeeds or no action repeats it; None if an action continues elsewhere."""
        repeats: Counter[int] = Counter()  # of the actions, by their number
        own_retries = any(isinstance(action, Retry) for action in on_failure)
        while True:
            attempt = await self._attempt(step, tool, arguments, own_retries=own_retries)
            why = attempt.find_failure(expect)
            if not why or not attempt.failure:
                self._effects.append((step, attempt.run))
            if not why:
                return attempt.run
            match _choose_action(attempt, on_failure, repeats):
                case Retry(after_seconds=seconds):
                    await self._pause(step, attempt, seconds, repeats.total())
                case GoTo(step=target):
                    self._target = target
                    return None
                case End():
                    raise self._make_failure(step, why, repeats.total() + 1)

    async def _attempt(
        self, step: str, tool: str, arguments: JsonObject, *, own_retries: bool
    ) -> _Attempt:
        """Call once, unless an earlier round of the same call did."""
        number = len(self._attempts)
        if number < len(self._done):
            attempt = self._done[number]
        else:
            try:
                present, attempts = without_absent(arguments), 1 if own_retries else None
                run = await self._ctx.run_tool(tool, present, f"{step}-{number}", attempts=attempts)
                attempt = _Attempt(run)
            except InputRequiredError:
                done = [_to_json(attempt) for attempt in self._attempts]
                self._ctx.state = {**self._ctx.state, _DONE_KEY: done}
                raise
            except ClientCannotError as error:
                if not self._effects:
                    raise  # nothing took effect, so the client is informed as usual
                raise self._make_failure(step, str(error)) from error
            except (ToolError, ConfigurationError) as error:
                attempt = _Attempt.from_error(tool, error)
        self._attempts.append(attempt)
        return attempt

    async def _pause(self, step: str, attempt: _Attempt, seconds: float, repeats: int) -> None:
        """Wait until a step may be tried again, unless an earlier round of the call did."""
        if len(self._attempts) < len(self._done):
            return
        requested = attempt.retry_after_seconds
        seconds = seconds if requested is None else requested
        self._report_progress(step, repeats, f", again in {seconds:g} seconds")
        await asyncio.sleep(seconds)

    def _report_progress(self, step: str, repeats: int = 0, more: str = "") -> None:
        at, total = self._steps.index(step), len(self._steps)
        part = repeats / (repeats + 1)  # each report shows more than the one before
        self._ctx.report_progress(at + part, total, f"step {at + 1} of {total}: {step}{more}")

    def _make_failure(self, step: str, why: str, times: int = 1) -> ToolError:
        """Create the error for a failed step, with the steps that took effect."""
        often = f" {times} times, at last" if times > 1 else ""
        lines = [f"The step `{step}` failed{often}: {why.rstrip('.')}."]
        done = [
            f"- `{name}` (`{run.operation}`) gave {_shorten(run.value)}"
            for name, run in self._effects
        ]
        lines += ["These steps took effect:", *done] if done else ["No step took effect before it."]
        if later := self._steps[self._steps.index(step) + 1 :]:
            lines.append(f"Not begun: {', '.join(f'`{name}`' for name in later)}.")
        return ToolError("\n".join(lines))


def _choose_action(
    attempt: _Attempt, actions: Sequence[FailureAction], repeats: Counter[int]
) -> FailureAction:
    """Return the first action whose condition holds and whose limit is not reached; count it."""
    for number, action in enumerate(actions):
        if not action.when(attempt.step):
            continue
        if isinstance(action, Retry):
            is_too_long = (attempt.retry_after_seconds or 0.0) > MAX_WAIT_SECONDS
            if attempt.is_refused or is_too_long or repeats[number] >= action.limit:
                continue
            repeats[number] += 1
        return action
    return End()


def _shorten(value: Any) -> str:
    if value is None:
        return "no content"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return f"a value of type {type(value).__name__}"
    cut = len(text) - _SHOWN_CHARACTERS
    return text if cut <= 0 else f"{text[:_SHOWN_CHARACTERS]}… (cut: {cut:,} more characters)"


def _to_json(attempt: _Attempt) -> JsonObject:
    """Convert an attempt to JSON for the request state; drop a value that is not JSON."""
    try:
        json.dumps(attempt.run.value)
    except (TypeError, ValueError):
        attempt = replace(attempt, run=replace(attempt.run, value=None))
    plain: JsonObject = msgspec.to_builtins(attempt)
    return plain
