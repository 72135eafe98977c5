"""The check of types: in a worker process of Monty that is kept between runs, and runs no code.

Most of the time of a check is that for reading the types of the standard library, which a session
does once. Therefore one session checks the snippets of all runs, one after the other. It must not
run them, or one could see another: each snippet follows a line whose types are wrong, so that no
check passes, and the problem of that line is removed from the report.
"""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from mcpgen.runtime.code.sandbox import (
    CheckFailedError,
    CodeFailedError,
    describe_failure,
    open_session,
)

if TYPE_CHECKING:
    from pydantic_monty import AsyncMontySession

    from mcpgen.contract.code_mode import CodeBounds

IDLE_SECONDS: Final = 300.0
"""After this time without a run the worker ends: it takes about 30 MB."""
_MAX_CHECKS: Final = 200  # by one session, which keeps the stubs of each and becomes slower
_MAX_IMPORTS: Final = 1_000  # that snippets ask for, besides the stubs
_SLOW_SECONDS: Final = 1.0  # a check of this time leaves a large worker
_EXIT_SECONDS: Final = 0.05
_FIRST_LINE: Final = 'from {} import *; 1 + ""\n'
_WRONG_LINE: Final = re.compile(r"code\.py:1:\d+: error\[unsupported-operator\]")
_LINE: Final = re.compile(r"^code\.py:(\d+):")


class TypeChecker:
    """Checks the types of snippets in a worker process that is kept between runs.

    A check that comes while another one is under way has a worker of its own.
    """

    def __init__(self, bounds: CodeBounds) -> None:
        self._bounds = bounds
        self._kept: _Worker | None = None
        self._starting: asyncio.Task[None] | None = None
        self._end_of_idling: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._is_used = False
        self._is_closed = False

    async def check(self, code: str, stubs: str) -> None:
        """Check the types of a snippet that calls the functions of `stubs`.

        Raises:
            CheckFailedError: the types are wrong; the message is a report of `code.py`.
            CodeFailedError: the snippet cannot be checked, or not within the time of a run.
        """
        if self._starting is not None:
            await asyncio.wait([self._starting])
        worker, self._kept = self._kept, None
        if worker is None:
            worker = await _Worker.start(self._bounds)
        self._is_used = True
        begun = time.monotonic()
        try:
            report = await worker.check(code, stubs)
        except BaseException:
            await worker.aclose()
            raise
        is_slow = time.monotonic() - begun > _SLOW_SECONDS
        await self._give_back(worker, is_good=not is_slow and worker.may_check)
        if report:
            raise CheckFailedError(report)

    def prepare(self) -> None:
        """Start a worker in the background, unless there is one: a run probably follows."""
        if self._kept is None and self._starting is None and not self._is_closed:
            self._starting = asyncio.create_task(self._prepare())

    async def aclose(self) -> None:
        """End the worker."""
        self._is_closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        await self._end_worker()
        if self._ending:
            await asyncio.wait(self._ending)
        if self._is_used:
            # A process that ends while a thread of Monty releases an object is aborted.
            await asyncio.sleep(_EXIT_SECONDS)

    async def _prepare(self) -> None:
        worker = None
        try:
            worker = await _Worker.start(self._bounds)
            self._is_used = True
            await worker.check("", "")
        except CodeFailedError:  # the run will report it
            if worker is not None:
                await worker.aclose()
        except asyncio.CancelledError:
            if worker is not None:
                await worker.aclose()
            raise
        else:
            await self._give_back(worker, is_good=True)
        finally:
            self._starting = None

    async def _give_back(self, worker: _Worker, *, is_good: bool) -> None:
        """Keep a worker for the next run, or end it."""
        if is_good and self._kept is None and not self._is_closed:
            self._kept = worker
        else:
            await worker.aclose()
            if not is_good:
                self.prepare()
        if self._end_of_idling is not None:
            self._end_of_idling.cancel()
        loop = asyncio.get_running_loop()
        self._end_of_idling = loop.call_later(IDLE_SECONDS, self._end_idling)

    def _end_idling(self) -> None:
        task = asyncio.create_task(self._end_worker())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end_worker(self) -> None:
        if self._end_of_idling is not None:
            self._end_of_idling.cancel()
        worker, self._kept = self._kept, None
        if worker is not None:
            await worker.aclose()


class _Worker:
    """One process with one session that checks."""

    def __init__(self, session: AsyncMontySession, stack: AsyncExitStack) -> None:
        self._session = session
        self._stack = stack
        self._modules: dict[str, str] = {}  # stubs that the session has: their modules
        self._checks = 0
        self._imports = 0

    @classmethod
    async def start(cls, bounds: CodeBounds) -> _Worker:
        """Start the process; raise CodeFailedError if that fails."""
        most = _MAX_CHECKS + 2 * _MAX_IMPORTS
        async with AsyncExitStack() as stack:
            session = await open_session(stack, bounds, max_suspensions=most, type_check=True)
            return cls(session, stack.pop_all())

    @property
    def may_check(self) -> bool:
        """Whether the session may be used again."""
        return self._checks < _MAX_CHECKS and self._imports < _MAX_IMPORTS

    async def check(self, code: str, stubs: str) -> str:
        """Return the report of the problems of a snippet; "" if there are none.

        Raises:
            CodeFailedError: it cannot be checked.
        """
        module = self._modules.get(stubs)
        if module is None:
            module = self._modules[stubs] = f"functions_{len(self._modules)}"
            if code:  # a snippet with wrong syntax would not load the stubs
                await self._feed("", module, stubs)
        return await self._feed(code.removeprefix("\ufeff"), module, stubs)

    async def _feed(self, code: str, module: str, stubs: str) -> str:
        import pydantic_monty as monty

        self._checks += 1
        text = _FIRST_LINE.format(module) + code
        try:
            snapshot = await self._session.feed_start(text, print_callback=_ignore)
            while (
                isinstance(snapshot, monty.AsyncFunctionSnapshot)
                and snapshot.function_name == "import_stubs"
            ):
                self._imports += 1
                known = {module: stubs} if module in snapshot.args[0] else {}
                snapshot = await snapshot.resume({"return_value": known})
        except monty.MontyTypingError as error:
            return _read_report(error.display())
        except monty.MontyError as error:
            raise describe_failure(error) from None
        raise CodeFailedError("Nothing was run: the types of the code cannot be checked.")

    async def aclose(self) -> None:
        """End the process."""
        await self._stack.aclose()


def _ignore(_: str, __: str) -> None:
    pass


def _read_report(report: str) -> str:
    """Remove the first line's problem from a report, and count lines from the one after it.

    Raises:
        CodeFailedError: the first line has not exactly the problem that it should have.
    """
    lines = report.strip().split("\n")
    first = [line for line in lines if line.startswith("code.py:1:")]
    if len(first) != 1 or not _WRONG_LINE.match(first[0]):
        raise CodeFailedError("Nothing was run: the types of the code cannot be checked.")
    lines.remove(first[0])
    return "\n".join(
        _LINE.sub(lambda number: f"code.py:{int(number[1]) - 1}:", line) for line in lines
    )
