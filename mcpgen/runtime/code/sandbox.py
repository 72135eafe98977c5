"""The sandbox that runs a snippet: one worker process of Monty for each run.

The worker interprets Python by itself. It has no files, no network and an empty environment; what
it needs from outside it asks of this process, which answers calls of tools and nothing else. The
process is started for one run and is killed at its end, so that no run sees another one. Another
process has checked the types before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.process.memory_budget import run_in_worker

if TYPE_CHECKING:
    from types import TracebackType

    from pydantic_monty import (
        AsyncFunctionSnapshot,
        AsyncFutureSnapshot,
        AsyncMontySession,
        AsyncSnapshot,
        ExternalResult,
        ExternalSettledResult,
        MontyError,
    )

    from mcpgen.contract.code_mode import CodeBounds

_MIB: Final = 1024 * 1024
_MAX_RECURSION: Final = 200
_MAX_LOOK_UPS: Final = 1000  # of unknown names and denied features, besides the calls
_START_SECONDS: Final = 10.0  # for a worker on a busy machine
_GRACE_SECONDS: Final = 2.0  # after which a worker that does not stop by itself is killed


class CheckFailedError(ToolError):
    """The types of the snippet are wrong, so nothing was run; one line for each problem."""


class CodeFailedError(ToolError):
    """The snippet raised an exception, or exceeded a bound."""


class Call(Struct, frozen=True):
    """A function call of the snippet, which pauses until `answer`, or `defer` if it is started."""

    function: str
    arguments: dict[str, Any]
    started: int | None = None  # its number, if the code waits for the result only later


class Outcome(Struct, frozen=True):
    """Outcome of a call: a value, or the message of a RuntimeError."""

    value: Any = None
    error: str | None = None


class Pause(Struct, frozen=True):
    """All parts of the snippet wait for calls that it has started, until `settle`."""

    calls: tuple[int, ...]


class Finished(Struct, frozen=True):
    """The end of a snippet, with the value of its last expression."""

    value: Any


Step: TypeAlias = Call | Pause | Finished


class Sandbox:
    """One run of a snippet. `functions` are the names that it may call."""

    def __init__(
        self,
        bounds: CodeBounds,
        functions: Mapping[str, str],
        write: Callable[[str], None],
        start: str = "",
    ) -> None:
        """`write` receives what the snippet prints; `start` is the function that starts calls."""
        self._bounds = bounds
        self._start = start
        self._functions = functions
        self._write = write
        self._stack = AsyncExitStack()
        self._waiting: AsyncFunctionSnapshot | AsyncFutureSnapshot | None = None

    async def __aenter__(self) -> Sandbox:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def start(self, code: str) -> Step:
        """Run a snippet, whose types were checked, until its first call or its end.

        Raises:
            CodeFailedError: it failed.
        """
        session = await self._open()
        return await self._follow(lambda: session.feed_start(code, print_callback=self._print))

    async def restore(self, state: bytes) -> Step:
        """Continue a snippet from the state that `save` returned: with the call that waited.

        Raises:
            CodeFailedError: the state is of another version of the sandbox.
        """
        session = await self._open()
        return await self._follow(lambda: session.load_snapshot(state, print_callback=self._print))

    def save(self) -> bytes:
        """Return the state of the snippet, which waits for the answer to a call."""
        if self._waiting is None:
            raise CodeFailedError("The code does not wait for a call.")
        return self._waiting.dump()

    async def answer(self, outcome: Outcome) -> Step:
        """Return the value of the call that waits from it, or raise RuntimeError in it.

        Raises:
            CodeFailedError: as `start`.
        """
        return await self._resume(_settle(outcome))

    async def defer(self) -> Step:
        """Let the snippet go on, without the result of the call that it has just started.

        Raises:
            CodeFailedError: as `start`.
        """
        return await self._resume({"future": ...})

    async def settle(self, outcomes: Mapping[int, Outcome]) -> Step:
        """Pass the outcomes of the calls of a pause, by their numbers, and resume the snippet.

        Raises:
            CodeFailedError: as `start`.
        """
        return await self._resume({number: _settle(it) for number, it in outcomes.items()})

    async def _resume(self, result: Any) -> Step:
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            raise CodeFailedError("The code does not wait for a call.")
        return await self._follow(lambda: waiting.resume(result))

    async def _open(self) -> AsyncMontySession:
        most = self._bounds.max_calls + _MAX_LOOK_UPS
        return await open_session(self._stack, self._bounds, max_suspensions=most)

    async def _follow(self, begin: Callable[[], Any]) -> Step:
        """Run until a call of a tool or the end; deny everything else."""
        import pydantic_monty as monty

        try:
            snapshot: AsyncSnapshot = await begin()
            while True:
                if isinstance(snapshot, monty.MontyComplete):
                    return Finished(await run_in_worker(getattr, snapshot, "output"))
                if isinstance(snapshot, monty.AsyncNameLookupSnapshot):
                    name = snapshot.variable_name
                    if snapshot.object_id is None and self._is_known(name):
                        snapshot = await snapshot.resume(value=_make_reference(name))
                    else:
                        snapshot = await snapshot.resume()
                elif isinstance(snapshot, monty.AsyncFutureSnapshot):
                    self._waiting = snapshot
                    return Pause(tuple(sorted(snapshot.pending_call_ids)))
                elif snapshot.is_os_function:
                    snapshot = await snapshot.resume_not_handled()
                elif denied := self._find_denial(snapshot):
                    snapshot = await snapshot.resume(denied)
                else:
                    self._waiting = snapshot
                    return self._read_call(snapshot)
        except monty.MontyError as error:
            raise describe_failure(error) from None

    def _read_call(self, snapshot: AsyncFunctionSnapshot) -> Call:
        arguments = dict(snapshot.kwargs)
        if snapshot.function_name == self._start:
            return Call(snapshot.args[0], arguments, snapshot.call_id)
        return Call(str(snapshot.function_name), arguments)

    def _is_known(self, name: str) -> bool:
        return name in self._functions or name == self._start

    def _find_denial(self, call: AsyncFunctionSnapshot) -> ExternalResult | None:
        """Return the exception for a request that is not a call of a tool; None for a call."""
        name = str(call.function_name)
        if call.object_id is not None or not self._is_known(name):
            return {"exc_type": "NameError", "message": f"name '{name}' is not defined"}
        if name == self._start:
            # A function arrives as its name.
            function = call.args[0] if len(call.args) == 1 else None
            if isinstance(function, str) and function in self._functions:
                return None
            message = f"{name}() takes a function and its keyword arguments"
            return {"exc_type": "TypeError", "message": message}
        if call.args:
            return {"exc_type": "TypeError", "message": f"{name}() takes keyword arguments only"}
        return None

    def _print(self, _: str, text: str) -> None:
        self._write(text)


async def open_session(
    stack: AsyncExitStack, bounds: CodeBounds, *, max_suspensions: int, type_check: bool = False
) -> AsyncMontySession:
    """Start a worker process, which ends with `stack`, and return its session.

    Raises:
        CodeFailedError: it does not start.
    """
    import pydantic_monty  # 30 ms, of a server that runs code

    try:
        pool = pydantic_monty.AsyncMonty(
            min_processes=0,
            max_processes=1,
            checkout_timeout=_START_SECONDS,
            request_timeout=bounds.max_compute_seconds + _START_SECONDS,
            feed_duration_limit_grace=_GRACE_SECONDS,
        )
        await stack.enter_async_context(pool)
        session = pool.checkout(
            script_name="code.py",
            limits={
                "max_feed_duration_secs": bounds.max_compute_seconds,
                "max_memory": bounds.max_memory_mb * _MIB,
                "max_recursion_depth": _MAX_RECURSION,
                "max_suspensions": max_suspensions,
            },
            type_check=type_check,
            type_check_format="concise",
            os_policy={"sleep": "zero", "process_time": "zero"},
        )
        return await stack.enter_async_context(session)
    except (OSError, RuntimeError, pydantic_monty.MontyError) as error:
        log("error", f"the sandbox of `run_code` does not start: {error}")
        raise CodeFailedError("The sandbox does not start; see the server log.") from None


def describe_failure(error: MontyError) -> CodeFailedError:
    """Return the error that explains why a snippet failed."""
    import pydantic_monty as monty

    if isinstance(error, monty.MontyCrashedError):
        why = "took too long" if error.timed_out else "crashed"
        return CodeFailedError(f"The sandbox {why}, and was stopped.")
    if isinstance(error, monty.MontyRuntimeError | monty.MontySyntaxError):
        return CodeFailedError(_describe(error))
    return CodeFailedError(str(error))


def _settle(outcome: Outcome) -> ExternalSettledResult:
    if outcome.error is not None:
        return {"exc_type": "RuntimeError", "message": outcome.error}
    return {"return_value": outcome.value}


def _make_reference(name: str) -> Callable[[], None]:
    """Return a placeholder for a function that code passes on; it is called by its name."""

    def refer() -> None:
        raise NotImplementedError

    refer.__name__ = name
    return refer


def _describe(error: Any) -> str:
    """Return the exception of a snippet with the place in it."""
    frames = [frame for frame in error.traceback() if frame.filename.startswith("<python-input")]
    message = error.display("type-msg")
    if not frames:
        return f"{message}."
    return f"{frames[-1].line}:{frames[-1].column}: {message}"
