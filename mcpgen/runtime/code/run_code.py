"""The tool that runs code: each call in it is a call of a tool, as if the client had made it."""

from __future__ import annotations

import asyncio
import time
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, NoReturn

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from mcpgen.contract.code_mode import CodeBounds, name_function, name_parameter
from mcpgen.contract.limits import BYTES_PER_TOKEN
from mcpgen.runtime.code.checker import TypeChecker
from mcpgen.runtime.code.hints import describe_problems
from mcpgen.runtime.code.sandbox import (
    Call,
    CheckFailedError,
    CodeFailedError,
    Finished,
    Outcome,
    Pause,
    Sandbox,
    Step,
)
from mcpgen.runtime.code.stubs import START, StubFile
from mcpgen.runtime.code.values import to_json, unwrap
from mcpgen.runtime.content import JsonObject, Text, ToolResult
from mcpgen.runtime.errors import (
    ClientCannotError,
    InvalidArgumentsError,
    ProtocolError,
    ToolError,
    UnknownToolError,
)
from mcpgen.runtime.handlers.context import (
    Context,
    InputRequiredError,
    Questions,
    UrlRequiredError,
)
from mcpgen.runtime.process.memory_budget import response_budget, run_in_worker
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools.projection import shorten
from mcpgen.runtime.tools.results import RETRY_AFTER_KEY, TRUNCATED_KEY

if TYPE_CHECKING:
    from mcpgen.runtime.tools.registry import ToolRegistry

MAX_VALUE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of one result of a tool that code receives."""
MAX_STATE_BYTES: Final = 512 * 1024
"""Bytes of the saved run that a client gets while it asks the user, and sends back."""
MAX_TOGETHER: Final = 8
"""The most calls of one run at a time, of those that its code began with `start`."""
_MAX_DUMP_BYTES: Final = 32 * 1024 * 1024  # of that state before it is compressed
_MAX_PRINTED: Final = 10_000  # characters
_TASK_AFTER_SECONDS: Final = 5.0  # a client with tasks then gets one
_STATE_KEY: Final = "code"
_ROOM_FOR_LEDGER: Final = 200  # bytes of each call in a result


class CallRecord(Struct, frozen=True, omit_defaults=True):
    """One call in the ledger, or several in a row that ended alike."""

    name: str
    status: Literal["ok", "error", "refused"]  # refused: nothing was sent
    ms: int  # of all of them
    times: int = 1
    cut: bool = False  # the result is not the whole one


class StartedCall(Struct):
    """A call that the code began with `start`, and whose result it does not have yet."""

    call: Call
    number: int  # of the call in the run
    outcome: Outcome | None = None  # None before it was made


class RunState(Struct, frozen=True):
    """State of a run that waits for its user, which the client stores encrypted."""

    version: str  # of the sandbox
    snapshot: str  # compressed, in Base64
    calls: list[CallRecord]
    printed: str
    seconds: float
    started: list[StartedCall] = []  # calls whose results the code does not have yet


class _Slot(NamedTuple):
    """The place that a run takes."""

    caller: str  # as `Request.caller`
    begun: float


class CodeMode:
    """Runs snippets for the clients of one process."""

    def __init__(
        self,
        registry: ToolRegistry,
        bounds: CodeBounds,
        read_stubs: Callable[[], bytes],
        *,
        describe: str,
    ) -> None:
        """`describe` is the name of the tool that shows functions."""
        self.registry = registry
        self.bounds = bounds
        self.describe_name = describe
        self.max_result_bytes = registry.limits.max_result_tokens * BYTES_PER_TOKEN
        self.checker = TypeChecker(bounds)
        self._read_stubs = read_stubs
        self._running: list[_Slot] = []

    @cached_property
    def stubs(self) -> StubFile:
        """The stubs of the tools that clients may call; no others."""
        functions = {name_function(name): name for name in self.registry.listed}
        return StubFile(self._read_stubs().decode(), functions)

    async def run(self, ctx: Context, *, code: str) -> ToolResult:
        """Run a snippet, or continue it after its user was asked."""
        caller = ctx.owner.caller
        if refusal := self._find_refusal(caller):
            return refusal
        slot = _Slot(caller, time.monotonic())
        self._running.append(slot)
        try:
            return await _Run(self, ctx).execute(code)
        finally:
            self._running.remove(slot)

    def _find_refusal(self, caller: str) -> ToolResult | None:
        """Return the refusal of a run beyond the bounds of the process or of its caller."""
        bounds, runs = self.bounds, self._running
        own = [slot for slot in runs if slot.caller == caller]
        # Over stdio all runs are those of the one client ("").
        if caller and len(own) >= bounds.runs_per_caller:
            runs, subject = own, "you already run"
        elif len(runs) >= bounds.max_runs:
            subject = "this server already runs"
        else:
            return None
        number = len(runs)
        passed = time.monotonic() - min(slot.begun for slot in runs)
        seconds = max(1, ceil(bounds.max_seconds - passed))
        text = (
            f"Nothing was run: {subject} {number} snippet{'s' * (number != 1)}, the most at a time."
            f" Try again when one has ended, or in {seconds} seconds."
        )
        return ToolResult((Text(text),), is_error=True, meta={RETRY_AFTER_KEY: seconds * 1000})

    def describe(self, names: str) -> str:
        """Return the stubs of functions and types, named with commas between them.

        Raises:
            ToolError: one of them is unknown.
        """
        self.checker.prepare()
        functions = [name for name in map(str.strip, names.split(",")) if name]
        functions = [name_function(name) for name in dict.fromkeys(functions)]
        if not functions:
            raise ToolError("Name the tools to describe.")
        try:
            return self.stubs.describe(functions)
        except KeyError as unknown:
            name = str(unknown.args[0])
            close = " or ".join(f"`{it}`" for it in self.stubs.suggest(name))
            hint = f" Did you mean {close}?" if close else ""
            raise ToolError(f"Unknown function or type `{name[:100]}`.{hint}") from None

    async def aclose(self) -> None:
        """End the processes that wait for runs."""
        await self.checker.aclose()


class _RunStoppedError(ToolError):
    """The run ends with an error that code cannot catch."""


class _Run:
    """One run, or one round of a run that asked its user."""

    def __init__(self, mode: CodeMode, ctx: Context) -> None:
        self._mode = mode
        self._ctx = ctx
        self._earlier: list[CallRecord] = []  # calls of earlier rounds
        self._calls: dict[int, CallRecord] = {}  # of this round, by their numbers
        self._started: dict[int, StartedCall] = {}  # by the sandbox's numbers
        self._made = 0  # calls, with those of earlier rounds
        self._printed = ""
        self._is_cut = False  # more was printed
        self._before = 0.0  # seconds of earlier rounds
        self._begun = time.monotonic()
        self._waited = 0.0  # seconds in which the user was asked

    async def execute(self, code: str) -> ToolResult:
        """Run to the end; an error is a result as well, with the ledger."""
        mode = self._mode
        try:
            functions, start = mode.stubs.functions, START if mode.stubs.has_start else ""
            async with Sandbox(mode.bounds, functions, self._print, start) as sandbox:
                step = await self._begin(sandbox, code)
                while not isinstance(step, Finished):
                    step = await self._answer(sandbox, step)
            # A large result takes long.
            return await run_in_worker(self._make_result, step)
        except CheckFailedError as error:
            problems = describe_problems(str(error), mode.stubs, mode.describe_name)
            text = f"Nothing was run, because the types are wrong (LINE:COLUMN):\n{problems}"
            return ToolResult((Text(text),), is_error=True)
        except ClientCannotError:
            raise
        except ToolError as error:
            return self._make_error(str(error))

    async def _begin(self, sandbox: Sandbox, code: str) -> Step:
        entry = self._ctx.state.get(_STATE_KEY)
        if entry is None:
            await self._mode.checker.check(code, self._mode.stubs.select(code))
            return await sandbox.start(code)
        state = convert(entry, RunState)
        if state.version != _find_version():
            raise _RunStoppedError("The code cannot go on: the server was updated meanwhile.")
        self._earlier, self._printed, self._before = state.calls, state.printed, state.seconds
        self._made = sum(call.times for call in state.calls)
        self._made = max([self._made, *(it.number for it in state.started)])
        self._started = {it.call.started or 0: it for it in state.started}
        snapshot = await run_in_worker(zlib.decompress, b64decode(state.snapshot))
        return await sandbox.restore(snapshot)

    async def _answer(self, sandbox: Sandbox, step: Call | Pause) -> Step:
        """Make the call, or the calls of a pause, that the code waits for; continue the code."""
        if isinstance(step, Pause):
            return await self._answer_pause(sandbox, step)
        self._check_number()
        self._check_time()
        refusal = _refuse_arguments(step)
        if step.started is not None:
            kept = step if refusal is None else replace(step, arguments={})
            self._started[step.started] = StartedCall(kept, 0, refusal)
            return await sandbox.defer()
        if refusal is not None:
            return await sandbox.answer(refusal)
        await self._begin_task()
        return await sandbox.answer(await self._make_alone(sandbox, step, self._made + 1))

    async def _answer_pause(self, sandbox: Sandbox, pause: Pause) -> Step:
        """Make the calls that the code has started: together, then those that may ask the user."""
        if not set(pause.calls) <= self._started.keys():
            raise CodeFailedError("The code waits for something that never comes.")
        started = sorted(
            (self._started[number] for number in pause.calls),
            key=lambda it: self._may_ask(it.call),
        )
        for number, it in enumerate(started, self._made + 1):
            it.number = it.number or number
        await self._begin_task()
        left = [it for it in started if it.outcome is None]
        # A task that holds memory for a large response must not wait for one that needs some.
        if not response_budget.is_reserved:
            await self._make_together([it for it in left if not self._may_ask(it.call)])
        for it in left:
            if it.outcome is None:
                self._check_time()
                it.outcome = await self._make_alone(sandbox, it.call, it.number)
        outcomes = {it.call.started or 0: it.outcome for it in started if it.outcome is not None}
        for number in outcomes:
            del self._started[number]
        return await sandbox.settle(outcomes)

    async def _make_alone(self, sandbox: Sandbox, call: Call, number: int) -> Outcome:
        """Make a call while no other one is under way; save the run if the user must answer."""
        try:
            return await self._make_call(call, number)
        except InputRequiredError:
            await self._save(sandbox)
            raise

    async def _make_together(self, calls: list[StartedCall]) -> None:
        """Make calls, several at a time. After one that ends the run, no further one begins."""
        places = asyncio.Semaphore(MAX_TOGETHER)
        errors: list[Exception] = []

        async def make(it: StartedCall) -> None:
            async with places:
                if errors:
                    return
                try:
                    self._check_time()
                    it.outcome = await self._make_call(it.call, it.number)
                except (ToolError, ProtocolError) as error:
                    errors.append(error)
                except InputRequiredError:
                    self._record(it.number, it.call.function, "refused", time.monotonic())
                    errors.append(
                        _RunStoppedError(
                            f"The code was stopped at {it.call.function}, which asks the user: call"
                            f" it without `{START}`. Other calls of the same time may have been"
                            " made; see `calls`."
                        )
                    )

        async with asyncio.TaskGroup() as group:
            for it in calls:
                group.create_task(make(it))
        if errors:
            raise errors[0]

    def _may_ask(self, call: Call) -> bool:
        registry = self._mode.registry
        return registry.may_ask(registry.find(self._mode.stubs.functions[call.function]))

    async def _make_call(self, call: Call, number: int) -> Outcome:
        """Make a call as if the client had made it; return the value for the code.

        Raises:
            _RunStoppedError, ClientCannotError, ProtocolError: the run ends.
            InputRequiredError, UrlRequiredError: the client must answer, and call again.
        """
        self._made = max(self._made, number)
        mode, ctx = self._mode, self._ctx
        tool = mode.registry.find(mode.stubs.functions[call.function])
        keywords = {name_parameter(name): name for name in tool.listed_schema.get("properties", {})}
        arguments = {keywords.get(name, name): value for name, value in call.arguments.items()}
        ctx.report_progress(number, None, f"call {number}: {tool.name}")
        questions = Questions(mode.registry.limits.question_timeout_seconds)
        begun = time.monotonic()
        try:
            result = await ctx.call_by_name(
                tool.name,
                arguments,
                f"call-{number}",
                lambda inner: mode.registry.call(
                    tool.name, arguments, inner, max_bytes=MAX_VALUE_BYTES
                ),
                questions,
            )
        except UrlRequiredError as needed:
            if number == 1 and call.started is None:
                raise  # nothing is repeated when the client calls again
            self._record(number, tool.name, "refused", begun)
            raise _RunStoppedError(
                f"The code was stopped at {tool.name}: {needed.elicitation['message']} The user"
                f" must visit {needed.elicitation['url']}. After that, make the other calls."
            ) from None
        except (InvalidArgumentsError, UnknownToolError) as error:
            self._record(number, tool.name, "refused", begun)
            return Outcome(error=f"{tool.name} was not called: {error}")
        except (ClientCannotError, ProtocolError) as error:
            self._record(number, tool.name, "refused", begun)
            self._stop(error)
        if questions.asked and (call.started is None or self._may_ask(call)):
            self._waited += time.monotonic() - begun
        if questions.declined and result.is_error:
            self._record(number, tool.name, "refused", begun)
            raise _RunStoppedError(f"The code was stopped at {tool.name}: {_read_text(result)}")
        if result.is_error:
            self._record(number, tool.name, "error", begun)
            return Outcome(error=f"{tool.name} failed: {_read_text(result)}")
        try:
            value = unwrap(result, tool.contract.get("result_key", ""))
        except ToolError as error:
            self._record(number, tool.name, "error", begun)
            return Outcome(error=f"{tool.name}: {error}")
        self._record(number, tool.name, "ok", begun, is_cut=TRUNCATED_KEY in result.meta)
        return Outcome(value)

    def _check_number(self) -> None:
        """Raise _RunStoppedError if the run may make no call besides those that it has started."""
        most = self._mode.bounds.max_calls
        if self._made + len(self._started) >= most:
            if not self._started:
                did = f"made {most:,} calls"
            else:
                did = f"made {self._made:,} calls and started {len(self._started):,} more"
            raise _RunStoppedError(f"The code was stopped: it {did}, the most of one run.")

    def _check_time(self) -> None:
        """Raise _RunStoppedError if the run has taken too long to make a further call."""
        most = self._mode.bounds.max_seconds
        if self._seconds > most:
            raise _RunStoppedError(
                f"The code was stopped: it took the {most:g} seconds of one run."
            )

    @property
    def _seconds(self) -> float:
        """Duration of the run, without the time in which it waited for the user."""
        return self._before + time.monotonic() - self._begun - self._waited

    async def _begin_task(self) -> None:
        """Begin a task if the run takes long and the client supports tasks."""
        task = self._ctx.task
        if task.is_supported and not task.is_begun and self._seconds > _TASK_AFTER_SECONDS:
            await task.begin(f"{self._made} calls made")

    async def _save(self, sandbox: Sandbox) -> None:
        """Store the state of the run for the round in which the client answers.

        Raises:
            _RunStoppedError: it is too large for the client to carry.
        """
        dump = sandbox.save()
        if len(dump) <= _MAX_DUMP_BYTES:
            packed = b64encode(await run_in_worker(zlib.compress, dump)).decode()
            started = list(self._started.values())
            if len(packed) + len(encode_json(to_builtins(started))) <= MAX_STATE_BYTES:
                state = RunState(
                    _find_version(),
                    packed,
                    self._list_calls(),
                    self._printed,
                    self._seconds,
                    started,
                )
                self._ctx.state = {**self._ctx.state, _STATE_KEY: to_builtins(state)}
                return
        raise _RunStoppedError(
            "The code was stopped at a call that asks the user: it holds too much data to wait"
            f" ({len(dump) / 1e6:.1f} MB). Nothing of that call was sent. Keep only what is needed,"
            " or make this call in a run of its own."
        )

    def _stop(self, error: ToolError | ProtocolError) -> NoReturn:
        """End the run with an error; as the error of a direct call if nothing was called before."""
        if self._made == 1:
            raise error
        raise _RunStoppedError(f"The code was stopped: {error}") from None

    def _record(
        self,
        number: int,
        name: str,
        status: Literal["ok", "error", "refused"],
        begun: float,
        *,
        is_cut: bool = False,
    ) -> None:
        ms = round((time.monotonic() - begun) * 1000)
        self._calls[number] = CallRecord(name, status, ms, 1, is_cut)

    def _list_calls(self) -> list[CallRecord]:
        """Return the ledger: all calls in their order, one record for calls that ended alike."""
        listed: list[CallRecord] = []
        for call in [*self._earlier, *(call for _, call in sorted(self._calls.items()))]:
            last = listed[-1] if listed else None
            if last and (last.name, last.status, last.cut) == (call.name, call.status, call.cut):
                ms, times = last.ms + call.ms, last.times + call.times
                listed[-1] = replace(last, ms=ms, times=times)
            else:
                listed.append(call)
        return listed

    def _print(self, text: str) -> None:
        room = _MAX_PRINTED - len(self._printed)
        self._is_cut |= len(text) > room
        self._printed += text[:room]

    def _make_result(self, end: Finished) -> ToolResult:
        return self._finish({"result": to_json(end.value)}, is_error=False)

    def _make_error(self, message: str) -> ToolResult:
        return self._finish({"error": message}, is_error=True)

    def _finish(self, answer: JsonObject, *, is_error: bool) -> ToolResult:
        """Return the result with what was printed and the ledger, within the limit of results."""
        ledger = to_builtins(self._list_calls())
        if self._printed:
            answer["output"] = self._printed + ("…" if self._is_cut else "")
        room = self._mode.max_result_bytes - len(encode_json(ledger)) - _ROOM_FOR_LEDGER
        short = shorten(answer, max(room, _ROOM_FOR_LEDGER))
        content = [Text(encode_json({**short.value, "calls": ledger}).decode())]
        meta: JsonObject = {}
        if short.cuts:
            meta[TRUNCATED_KEY] = True
            cuts = "; ".join(cut.describe() for cut in short.cuts)
            content.append(
                Text(
                    f"Cut: {cuts}. Let the code return less: count, filter or pick members. What"
                    " it has changed stays changed, so do not repeat those calls."
                )
            )
        return ToolResult(tuple(content), is_error=is_error, meta=meta)


def _refuse_arguments(call: Call) -> Outcome | None:
    """Return why a call cannot be made whose arguments have no form in JSON; else None."""
    try:
        encode_json(call.arguments)
    except (TypeError, ValueError, RecursionError):
        return Outcome(error=f"{call.function} was not called: an argument is no JSON value.")
    return None


def _read_text(result: ToolResult) -> str:
    return " ".join(block.text for block in result.content if isinstance(block, Text))


def _find_version() -> str:
    import pydantic_monty

    return str(pydantic_monty.__version__)
