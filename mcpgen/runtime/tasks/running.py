"""The task of a call whose handler runs in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from msgspec.structs import replace

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import StoreUnavailableError
from mcpgen.runtime.handlers.context import Task
from mcpgen.runtime.process.log import log
from mcpgen.runtime.tasks.record import INPUT_REQUIRED, TaskRecord, shape_task

if TYPE_CHECKING:
    from mcpgen.runtime.protocol.request import Request

POLL_SECONDS: Final = 1.0
"""Interval at which a client should poll, unless the handler sets another."""
_LOOK_SECONDS: Final = 5.0  # between two looks for answers that no message announced
MAX_MESSAGE: Final = 500  # characters of a status message


class TaskKeeper(Protocol):
    """Interface of the task service that a running task uses."""

    async def create(
        self, running: RunningTask, message: str, poll_seconds: float, job_state: JsonObject | None
    ) -> TaskRecord:
        """Store the record of a task, and keep its handler running."""

    async def change(
        self, task_id: str, change: Callable[[TaskRecord], TaskRecord | None]
    ) -> TaskRecord | None:
        """Change a record, and notify clients that listen."""

    async def find(self, task_id: str) -> TaskRecord | None:
        """Return a record; None if it does not exist any more."""


class RunningTask(Task):
    """`ctx.task` of a call whose client supports tasks."""

    is_supported = True

    def __init__(self, keeper: TaskKeeper, request: Request, flush: Callable[[], None]) -> None:
        self.request = request
        self.record: TaskRecord | None = None
        self.work: asyncio.Task[object]  # the handler; set when it starts
        self.announced = asyncio.get_running_loop().create_future()
        self.supervisor: asyncio.Task[None] | None = None
        self.is_cancelled = False
        self.resumed_state: JsonObject | None = None
        self._keeper = keeper
        self._flush = flush
        self._message = self._written = ""
        self._writing: asyncio.Task[None] | None = None
        self._used_keys: set[str] = set()
        self._is_changed = asyncio.Event()

    @property
    def is_begun(self) -> bool:
        """Whether the client got the task instead of a result."""
        return self.record is not None

    @property
    def id(self) -> str:
        """The task's id; "" before it begins."""
        return "" if self.record is None else self.record.id

    async def begin(
        self,
        message: str = "",
        *,
        poll_seconds: float = POLL_SECONDS,
        job_state: JsonObject | None = None,
    ) -> None:
        """Answer the call with a task; what follows belongs to the task."""
        if self.record is not None:
            return
        self._message = self._written = message[:MAX_MESSAGE]
        self.record = await self._keeper.create(self, self._message, poll_seconds, job_state)
        self.request.answer({"resultType": "task", **shape_task(self.record)})
        self._flush()
        self.announced.set_result(None)

    def report(self, message: str) -> None:
        """Set the status message; of several in quick succession the last one is stored."""
        self._message = message[:MAX_MESSAGE]
        if self.record is not None and (self._writing is None or self._writing.done()):
            self._writing = asyncio.create_task(self._write_message())

    async def ask(self, requests: dict[str, JsonObject]) -> dict[str, JsonObject]:
        """Show requests to the client with the task; return its answers by the same keys."""
        keys = {self._make_unique(key): key for key in requests}
        shown = {unique: requests[key] for unique, key in keys.items()}

        def add(record: TaskRecord) -> TaskRecord | None:
            if not record.is_active:
                return None
            waiting = {**record.requests, **shown}
            return replace(record, requests=waiting, status=INPUT_REQUIRED)

        await self._keeper.change(self.id, add)
        while True:
            record = await self._keeper.find(self.id)
            if record is None:
                raise asyncio.CancelledError  # its time to live is over
            if shown.keys() <= record.answers.keys():
                break
            self._is_changed.clear()
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._is_changed.wait()
            except TimeoutError:
                continue

        def take(record: TaskRecord) -> TaskRecord:
            kept = {key: it for key, it in record.answers.items() if key not in shown}
            return replace(record, answers=kept)

        await self._keeper.change(self.id, take)
        return {key: record.answers[unique] for unique, key in keys.items()}

    def notice(self, record: TaskRecord) -> None:
        """Process a change that a client made: an answer or a cancellation."""
        self._is_changed.set()
        if record.is_cancel_requested and not self.is_cancelled:
            self.is_cancelled = True
            self.work.cancel()

    async def finish_writing(self) -> None:
        """Wait until the last status message is stored."""
        if self._writing is not None:
            await asyncio.wait({self._writing})

    def _make_unique(self, key: str) -> str:
        unique, number = key, 1
        while unique in self._used_keys:
            number += 1
            unique = f"{key}-{number}"
        self._used_keys.add(unique)
        return unique

    async def _write_message(self) -> None:
        while self._message != self._written:
            message = self._message

            def change(record: TaskRecord, message: str = message) -> TaskRecord | None:
                return replace(record, message=message) if record.is_active else None

            try:
                await self._keeper.change(self.id, change)
            except StoreUnavailableError as error:
                log("warning", f"the message of a task was not stored: {error}")
                return
            self._written = message
