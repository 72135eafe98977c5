"""The tasks of a server: their creation, `tasks/*` requests, and what becomes of the handlers.

A task is stored before it is announced. The process that runs its handler owns it and renews a
lease. If the lease ends, a job is continued by the next process that starts or is asked about it,
and any other task fails, since what its handler did is unknown.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import Callable, Coroutine
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec.json import Encoder
from msgspec.structs import replace

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ProtocolError, StoreUnavailableError, ToolError
from mcpgen.runtime.handlers.client_answers import check_answer
from mcpgen.runtime.handlers.context import Context, Host
from mcpgen.runtime.process.log import describe_error, log
from mcpgen.runtime.process.memory_budget import decoding_budget
from mcpgen.runtime.protocol.connection import ClientConnection
from mcpgen.runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.versions import REVISION_2026_07_28
from mcpgen.runtime.tasks.record import (
    CANCELLED,
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    WORKING,
    Job,
    TaskRecord,
    shape_detailed_task,
)
from mcpgen.runtime.tasks.running import MAX_MESSAGE, RunningTask
from mcpgen.runtime.tasks.table import RENEWAL_SECONDS, TaskTable

if TYPE_CHECKING:
    from mcpgen.contract.limits import Limits
    from mcpgen.runtime.auth.access import Access
    from mcpgen.runtime.process.output_screen import OutputScreen
    from mcpgen.runtime.protocol.server_definition import ServerDefinition
    from mcpgen.runtime.state.store import Store

MAX_RESULT_BYTES: Final = 4 * 1024 * 1024
STOP_SECONDS: Final = 5.0  # for a handler that was cancelled
_RETRY_SECONDS: Final = 0.5  # of a store that did not answer
_STORE_SECONDS: Final = 300.0  # within which a result is stored
_INTERRUPTED: Final = "the server ended while the tool was running, and what it did is unknown"
_SHUT_DOWN: Final = "the server was shut down while the tool was running"
_EXPIRED: Final = "the task was not finished within its time to live"


class TaskHost(Host, Protocol):
    """Interface of the dispatcher that the service uses."""

    store: Store | None
    screen: OutputScreen

    @property
    def has_task_listeners(self) -> bool:
        """Whether a connection of this process listens to tasks."""

    def announce_task(self, task: JsonObject) -> None:
        """Notify the connections of this process that listen to a task."""

    def call_tool(self, request: Request, context: Context) -> Coroutine[Any, Any, object]:
        """Run the tool that a `tools/call` names."""

    def respond(self, request: Request, ended: asyncio.Task[object]) -> None:
        """Respond with the outcome of a handler that ran as a task."""


class TaskService:
    """The tasks of one process, and of its clients."""

    def __init__(
        self,
        host: TaskHost,
        definition: ServerDefinition,
        open_store: Callable[[], Store],
        *,
        limits: Limits,
        has_caller_credentials: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`open_store` is called once there is something to store, or by `start`.

        `has_caller_credentials` states that the API gets credentials of the caller, which nothing
        stores: only a request of that caller lets its jobs continue.
        """
        self._host = host
        self._definition = definition
        self._open_store = open_store
        self._limits = limits
        self._has_caller_credentials = has_caller_credentials
        self._clock = clock
        self._encode = Encoder().encode
        self._table: TaskTable | None = None
        self._store: Store | None = None
        self._running: dict[str, RunningTask] = {}
        self._background: set[asyncio.Task[None]] = set()  # an event loop keeps no task alive
        self._keeping: asyncio.Task[None] | None = None
        self._is_closing = False

    # -- what the dispatcher uses --------------------------------------------------------------

    def start(self) -> None:
        """Open the store, and continue jobs of processes that have ended."""
        self._open()

    async def run_call(
        self,
        request: Request,
        context: Context,
        flush: Callable[[], None],
        handler: Coroutine[Any, Any, object],
    ) -> object:
        """Run a handler that may begin a task.

        Return its result; None once the request was answered with a task.
        """
        running = RunningTask(self, request, flush)
        context.task = running
        running.work = asyncio.create_task(_contain(handler))
        try:
            await asyncio.wait(
                {running.work, running.announced}, return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            if not running.announced.done():
                running.work.cancel()
                await asyncio.wait({running.work}, timeout=STOP_SECONDS)
            raise
        return None if running.announced.done() else running.work.result()

    async def answer(self, request: Request, flush: Callable[[], None]) -> None:
        """Answer a `tasks/*` request, or a `subscriptions/listen` that names tasks.

        Raises:
            ProtocolError: the task is unknown, or an answer of the client is invalid.
            StoreUnavailableError: the store does not answer.
        """
        if request.method == "subscriptions/listen":
            await self._listen(request, flush)
            return
        record = await self._find_of_caller(request.params["taskId"], request.principal)
        if record is None:
            task_id = request.params["taskId"][:100]
            raise ProtocolError(
                INVALID_PARAMS, f"unknown task {task_id!r}: it does not exist, or has expired"
            )
        if request.method == "tasks/update":
            await self._update(record, request.input_responses)
            request.answer({})
        elif request.method == "tasks/cancel":
            await self._cancel(record, request.access)
            request.answer({})
        else:
            record = await self._settle(record, request.access)
            request.answer(shape_detailed_task(record))

    async def drain(self, timeout_seconds: float) -> bool:
        """Wait until no handler is running, except for those that another process continues."""
        waiting = [
            it.supervisor
            for it in self._running.values()
            if it.supervisor is not None and it.record is not None and it.record.job is None
        ]
        if waiting:
            _, pending = await asyncio.wait(waiting, timeout=timeout_seconds)
            return not pending
        return True

    async def aclose(self) -> None:
        """Stop every handler: its task fails, unless another process can continue it."""
        self._is_closing = True
        for running in self._running.values():
            running.work.cancel()
        ending = [it.supervisor for it in self._running.values() if it.supervisor is not None]
        if ending:
            await asyncio.wait(ending, timeout=2 * STOP_SECONDS)
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        if self._table is not None:
            with contextlib.suppress(StoreUnavailableError):
                await self._table.drop_lease()
        if self._store is not None and self._store is not self._host.store:
            await self._store.aclose()

    # -- what a running task uses --------------------------------------------------------------

    async def create(
        self, running: RunningTask, message: str, poll_seconds: float, job_state: JsonObject | None
    ) -> TaskRecord:
        """Store the record of a task, and keep its handler running.

        Raises:
            ToolError: there are too many tasks.
            StoreUnavailableError: the store does not answer.
        """
        table, request, limits = self._open(), running.request, self._limits
        caller = _hash_principal(request.principal)
        ttl = limits.task_ttl_seconds
        if len(self._running) >= limits.max_tasks:
            raise ToolError(
                f"This server runs {limits.max_tasks:,} tasks already: try again later."
            )
        if await table.count_new(caller, ttl) > limits.max_tasks:
            raise ToolError(
                f"This server keeps {limits.max_tasks:,} tasks of a caller, each for {ttl:g}"
                " seconds: try again later."
            )
        now = self._clock()
        record = TaskRecord(
            id=secrets.token_urlsafe(24),
            caller=caller,
            owner=table.owner,
            created_at=now,
            updated_at=now,
            ttl_seconds=ttl,
            poll_seconds=poll_seconds,
            message=message,
            job=None if job_state is None else self._make_job(request, job_state),
        )
        try:
            await table.add(record)
        except asyncio.CancelledError:
            self._begin(table.delete(record.id))
            raise
        self._supervise(running, record)
        return record

    async def change(
        self, task_id: str, change: Callable[[TaskRecord], TaskRecord | None]
    ) -> TaskRecord | None:
        """Change a record, and notify clients that listen."""
        table = self._open()
        changed = await table.change(task_id, change)
        if changed is not None:
            self._host.announce_task(shape_detailed_task(changed))
            await table.announce(task_id)
        return changed

    async def find(self, task_id: str) -> TaskRecord | None:
        """Return a record; None if it does not exist any more."""
        return await self._open().find(task_id)

    # -- requests ------------------------------------------------------------------------------

    async def _find_of_caller(self, task_id: str, principal: str) -> TaskRecord | None:
        record = await self._open().find(task_id)
        if record is None or record.caller != _hash_principal(principal):
            return None
        return record

    async def _listen(self, request: Request, flush: Callable[[], None]) -> None:
        """Acknowledge the tasks of this client, and send the state that each one has now."""
        requested = request.requested_notifications
        ids = [
            task_id
            for task_id in dict.fromkeys(requested["taskIds"])
            if await self._find_of_caller(task_id, request.principal) is not None
        ]
        request.listen({**requested, "taskIds": ids})
        flush()
        await asyncio.sleep(0)  # a transport that writes a stream now passes changes on, too
        self._start_renewal()
        for task_id in ids:
            record = await self.find(task_id)
            if record is not None:
                record = await self._settle(record, request.access)
                request.connection.announce_task(shape_detailed_task(record))

    async def _update(self, record: TaskRecord, responses: JsonObject) -> None:
        """Store the client's answers to requests that wait for one; ignore all others.

        Raises:
            ProtocolError: an answer does not match its request; none was stored.
        """
        for key, answer in responses.items():
            if key in record.requests:
                check_answer(record.requests[key], answer)

        def take(record: TaskRecord) -> TaskRecord | None:
            answered = {key: it for key, it in responses.items() if key in record.requests}
            if not answered or not record.is_active:
                return None
            waiting = {key: it for key, it in record.requests.items() if key not in answered}
            return replace(
                record,
                requests=waiting,
                answers={**record.answers, **answered},
                status=INPUT_REQUIRED if waiting else WORKING,
            )

        changed = await self.change(record.id, take)
        if changed is not None and changed.id in self._running:
            self._running[changed.id].notice(changed)

    async def _cancel(self, record: TaskRecord, access: Access | None) -> None:
        """Store that the client requested the cancellation of a task; its owner cancels it."""

        def request_cancellation(record: TaskRecord) -> TaskRecord | None:
            if not record.is_active or record.is_cancel_requested:
                return None
            return replace(record, is_cancel_requested=True)

        changed = await self.change(record.id, request_cancellation)
        if changed is None:
            return
        if changed.id in self._running:
            self._running[changed.id].notice(changed)
        else:
            await self._settle(changed, access)

    async def _settle(self, record: TaskRecord, access: Access | None) -> TaskRecord:
        """Return a task as it is; if its owner has ended, continue it or end it before."""
        table = self._open()
        if not record.is_active or await table.is_alive(record.owner):
            return record
        former = record.owner

        def take_over(record: TaskRecord) -> TaskRecord | None:
            if not record.is_active or record.owner != former:
                return None
            if record.job is not None:
                return replace(record, owner=table.owner, requests={}, status=WORKING)
            return _end_interrupted(record, _INTERRUPTED)

        if record.job is not None:
            await table.renew_lease()
        changed = await self.change(record.id, take_over)
        if changed is None:
            return await table.find(record.id) or record
        if changed.is_active:
            self._resume(changed, access)
        return changed

    # -- handlers ------------------------------------------------------------------------------

    def _make_job(self, request: Request, state: JsonObject) -> Job:
        params = request.params
        has_own = self._has_caller_credentials and request.access is not None
        return Job(params["name"], params.get("arguments", {}), state, has_own)

    def _resume(self, record: TaskRecord, access: Access | None) -> None:
        """Continue the job of a process that has ended."""
        job = record.job
        if job is None:
            return
        connection = ClientConnection(self._definition, encode=self._encode)
        params = {"name": job.tool, "arguments": job.arguments}
        request = Request(
            connection, REVISION_2026_07_28, record.id, "tools/call", params, access=access
        )
        request.is_open = False  # it was answered with the task
        request.screen = self._host.screen
        running = RunningTask(self, request, _do_nothing)
        running.record, running.resumed_state = record, job.state
        running.announced.set_result(None)
        context = Context(request, self._host, _do_nothing)
        context.task = running
        running.work = asyncio.create_task(
            _contain(self._host.call_tool(request, context)),
        )
        self._supervise(running, record)
        running.notice(record)

    def _supervise(self, running: RunningTask, record: TaskRecord) -> None:
        self._running[record.id] = running
        running.supervisor = self._begin(self._store_outcome(running, record))
        self._start_renewal()

    async def _store_outcome(self, running: RunningTask, record: TaskRecord) -> None:
        """Wait for the end of a handler, and store its outcome."""
        work = running.work
        try:
            await asyncio.wait({work}, timeout=max(record.ends_at - self._clock(), 0.0))
            has_expired = not work.done()
            if has_expired:
                work.cancel()
                await asyncio.wait({work}, timeout=STOP_SECONDS)
            await running.finish_writing()
            change: Callable[[TaskRecord], TaskRecord | None]
            if has_expired or not work.done():
                change = partial(_end_interrupted, reason=_EXPIRED)
            elif work.cancelled() and running.is_cancelled:
                change = _end_cancelled
            elif work.cancelled() and self._is_closing:
                if record.job is not None:
                    return  # another process continues it
                change = partial(_end_interrupted, reason=_SHUT_DOWN)
            else:
                change = partial(_end, message=self._make_message(running.request, work))
            await self._insist(record.id, self._limit_to_owner(change))
        finally:
            self._running.pop(record.id, None)
            decoding_budget.release(running.request)

    def _limit_to_owner(
        self, change: Callable[[TaskRecord], TaskRecord | None]
    ) -> Callable[[TaskRecord], TaskRecord | None]:
        """Return a change that does nothing if another process has taken over or ended the task."""
        owner = self._open().owner
        return lambda it: change(it) if it.is_active and it.owner == owner else None

    async def _insist(
        self, task_id: str, change: Callable[[TaskRecord], TaskRecord | None]
    ) -> None:
        """Store the end of a task, however long the store does not answer."""
        until = self._clock() + _STORE_SECONDS
        while True:
            try:
                await self.change(task_id, change)
            except StoreUnavailableError as error:
                if self._is_closing or self._clock() > until:
                    log("error", f"the result of a task is lost: {error}")
                    return
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    def _make_message(self, request: Request, work: asyncio.Task[object]) -> JsonObject:
        """Return the response that the request would have got: with `result` or `error`."""
        connection = ClientConnection(self._definition, encode=self._encode)
        copy = Request(connection, request.revision, 0, request.method, request.params)
        copy.screen = request.screen
        self._host.respond(copy, work)
        (outgoing,) = connection.messages_to_send()
        if len(outgoing.data) > MAX_RESULT_BYTES:
            text = (
                f"The result is too large to be stored: it has {len(outgoing.data):,} bytes, and"
                f" {MAX_RESULT_BYTES:,} are allowed."
            )
            return {"result": {"content": [{"type": "text", "text": text}], "isError": True}}
        message: JsonObject = json.loads(outgoing.data)
        return message

    # -- in the background ---------------------------------------------------------------------

    def _open(self) -> TaskTable:
        if self._table is None:
            self._store = self._open_store()
            self._table = TaskTable(self._store, clock=self._clock)
            self._begin(self._continue_jobs(self._table))
        return self._table

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log("error", f"tasks: {describe_error(error)}")

    def _start_renewal(self) -> None:
        """Renew the lease and follow changes, as long as there are tasks or listeners."""
        if (self._keeping is None or self._keeping.done()) and not self._is_closing:
            self._keeping = self._begin(self._renew_and_follow(self._open()))

    async def _renew_and_follow(self, table: TaskTable) -> None:
        following = self._begin(self._follow(table))
        try:
            while self._running or self._host.has_task_listeners:
                try:
                    if self._running:
                        await table.renew_lease()
                    await asyncio.sleep(RENEWAL_SECONDS)
                except StoreUnavailableError as error:
                    log("error", f"the state store is unavailable: {error}; tasks wait for it")
                    await asyncio.sleep(_RETRY_SECONDS)
        finally:
            following.cancel()

    async def _follow(self, table: TaskTable) -> None:
        """Process changes that other processes make."""
        while True:
            self._begin(self._check_again(table))  # for what was changed before
            try:
                async with contextlib.aclosing(table.follow()) as changes:
                    async for task_id in changes:
                        await self._notice(table, task_id)
            except StoreUnavailableError:
                await asyncio.sleep(_RETRY_SECONDS)

    async def _check_again(self, table: TaskTable) -> None:
        await asyncio.sleep(_RETRY_SECONDS)
        for task_id in list(self._running):
            await self._notice(table, task_id)

    async def _notice(self, table: TaskTable, task_id: str) -> None:
        running = self._running.get(task_id)
        if running is None and not self._host.has_task_listeners:
            return
        record = await table.find(task_id)
        if record is None:
            return
        if running is not None:
            running.notice(record)
        self._host.announce_task(shape_detailed_task(record))

    async def _continue_jobs(self, table: TaskTable) -> None:
        """Continue the jobs of processes that have ended, if that needs no caller.

        The lease of a process that was killed just now is still valid, so look again.
        """
        waiting = await table.list_jobs()
        while waiting and not self._is_closing:
            waiting = [it for it in waiting if await self._has_other_owner(table, it)]
            await asyncio.sleep(RENEWAL_SECONDS)

    async def _has_other_owner(self, table: TaskTable, task_id: str) -> bool:
        """Continue a job if its owner has ended; return whether it has an owner besides us."""
        record = await table.find(task_id)
        if record is None or record.job is None or record.job.has_own_credentials:
            return False
        if record.is_active:
            record = await self._settle(record, None)
        return record.is_active and record.owner != table.owner


async def _contain(handler: Coroutine[Any, Any, object]) -> object:
    """Run a handler so that it cannot end the event loop."""
    try:
        return await handler
    except SystemExit as error:
        raise RuntimeError("the handler called `sys.exit`") from error


def _do_nothing() -> None:
    """Do nothing: the flush of a request that was answered."""


def _hash_principal(principal: str) -> str:
    """Return the name under which tasks of a principal are stored: keys do not name users."""
    return sha256(principal.encode()).hexdigest()[:32] if principal else ""


def _end(record: TaskRecord, message: JsonObject) -> TaskRecord:
    """Return the record of a task whose handler has ended with this response."""
    ended = replace(record, requests={}, answers={}, job=None)
    if "result" in message:
        return replace(ended, status=COMPLETED, result=message["result"])
    error = message["error"]
    return replace(ended, status=FAILED, error=error, message=error["message"][:MAX_MESSAGE])


def _end_interrupted(record: TaskRecord, reason: str) -> TaskRecord:
    """Return the record of a task whose handler did not end: cancelled if that was asked."""
    if record.is_cancel_requested:
        return _end_cancelled(record)
    return _end(record, {"error": {"code": INTERNAL_ERROR, "message": reason}})


def _end_cancelled(record: TaskRecord) -> TaskRecord:
    return replace(record, status=CANCELLED, requests={}, answers={}, job=None)
