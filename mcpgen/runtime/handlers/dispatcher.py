"""Dispatcher: run the handlers of requests, and pass answers between client and handler."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Iterable
from contextvars import Context as Variables
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final

from mcpgen.contract.extras import MissingExtraError
from mcpgen.contract.limits import DEFAULT_LIMITS, Limits
from mcpgen.runtime.content import JsonObject, Text, ToolResult
from mcpgen.runtime.errors import (
    InvalidArgumentsError,
    ProtocolError,
    ResourceNotFoundError,
    ToolError,
    UnknownToolError,
)
from mcpgen.runtime.handlers.context import (
    Context,
    InputRequiredError,
    ToolProvider,
    UrlRequiredError,
)
from mcpgen.runtime.process.caller_secrets import mask_secrets_of
from mcpgen.runtime.process.log import describe_error, log
from mcpgen.runtime.process.memory_budget import decoding_budget
from mcpgen.runtime.process.output_screen import OutputScreen
from mcpgen.runtime.protocol.client_requests import find_extension
from mcpgen.runtime.protocol.connection import ClientConnection
from mcpgen.runtime.protocol.events import ClientAnswer, Event, RequestCancelled
from mcpgen.runtime.protocol.jsonrpc import METHOD_NOT_FOUND, TASKS_EXTENSION
from mcpgen.runtime.protocol.messages import Change
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.protocol.shapes import shape
from mcpgen.runtime.state.request_state import KeyRingCipher
from mcpgen.runtime.upstream.response.redaction import NO_SECRETS, Redactor

if TYPE_CHECKING:
    from mcpgen.runtime.handlers.features import Features
    from mcpgen.runtime.handlers.rate_limit import RateLimiter
    from mcpgen.runtime.state.store import Store
    from mcpgen.runtime.stored_results.service import StoredResults
    from mcpgen.runtime.tasks.service import TaskService


class BegunWork:
    """Awaits the rest of a coroutine that has begun in `context` and waits for `awaited`.

    `steps` is the iterator of the coroutine.
    """

    __slots__ = ("_awaited", "_run", "_steps")

    def __init__(self, steps: Generator[Any, None, None], context: Variables, awaited: Any) -> None:
        self._awaited = [awaited]
        self._steps = steps
        self._run = context.run

    def __await__(self) -> Any:
        return self

    def __iter__(self) -> BegunWork:
        return self

    def __next__(self) -> Any:
        return self._awaited.pop() if self._awaited else self._run(next, self._steps)

    def throw(self, error: BaseException) -> Any:
        """Raise an error in the coroutine; return the next awaitable."""
        return self._run(self._steps.throw, error)

    def close(self) -> None:
        """Close the coroutine."""
        self._run(self._steps.close)


_HAS_ENDED: Final = object()  # instead of what a coroutine waits for
STOP_SECONDS: Final = 5.0  # for a handler that was cancelled
_REPORTED_ERRORS: Final = (
    InvalidArgumentsError,
    ProtocolError,
    ResourceNotFoundError,
    ToolError,
    UnknownToolError,
)

_TASK_METHODS: Final = frozenset(
    {"subscriptions/listen", "tasks/cancel", "tasks/get", "tasks/update"}
)

Flush = Callable[[], None]


class Dispatcher:
    """Runs the handlers of all connections of a process."""

    def __init__(
        self,
        tools: ToolProvider,
        features: Features | None = None,
        *,
        state_cipher: KeyRingCipher | None = None,
        limits: Limits = DEFAULT_LIMITS,
        rate_limiter: RateLimiter | None = None,
        redactor: Callable[[], Redactor] | None = None,
        store: Store | None = None,
    ) -> None:
        """Create a dispatcher; `redactor` masks secrets in messages to clients.

        `store` is that of the replicas, if there are several. The dispatcher closes it.
        """
        self.store = store
        self.rate_limiter = rate_limiter
        self.tools = tools
        self._features = features
        self._cipher = state_cipher or KeyRingCipher.from_environment("", {})
        self.screen = OutputScreen(redactor or (lambda: NO_SECRETS))
        self.task_service: TaskService | None = None  # of a server that declares the extension
        self.results: StoredResults | None = None  # of a server with handles for long results
        self._peers: dict[ServerProtocol, Flush] = {}
        self.announce_elsewhere: Callable[[Change], None] | None = None  # to other processes
        self.limits = limits
        self.max_in_flight = limits.max_calls
        self._tasks: dict[Request, asyncio.Task[None]] = {}
        self._ready: deque[tuple[Request, Flush]] = deque()  # calls that are about to begin
        self._starter: asyncio.Task[None] | None = None  # of them; a loop keeps no task alive
        self._client_answers: dict[tuple[ClientConnection, object], asyncio.Future[JsonObject]] = {}

    @property
    def calls(self) -> Collection[Request]:
        """The requests whose handlers are running."""
        return self._tasks.keys()

    @property
    def room(self) -> int:
        """How many more requests a transport may dispatch; it must delay or refuse others."""
        return self.max_in_flight - len(self._tasks) - len(self._ready)

    @property
    def is_full(self) -> bool:
        """Whether a transport must delay or refuse further requests."""
        return self.room <= 0

    def dispatch(self, protocol: ServerProtocol, events: Iterable[Event], flush: Flush) -> None:
        """Handle the events that `ServerProtocol.receive` returned.

        `flush` is called whenever the protocol may have something to send.
        """
        for event in events:
            if type(event) is Request:
                if not self._ready:
                    self._starter = asyncio.create_task(self._run_ready())
                self._ready.append((event, flush))
            elif type(event) is RequestCancelled:
                self._cancel(event)
            elif type(event) is ClientAnswer:
                self._answer(protocol, event)

    def run(self, request: Request, flush: Flush) -> Awaitable[None]:
        """Run the handler of a request in the caller's task, and answer the request.

        This saves a task for a transport that has one for each request. Cancelling the request
        cancels what its handler waits for, not the task.
        """
        task = asyncio.current_task()
        if task is not None:
            self._tasks[request] = task
        return self._run(request, flush)

    def attach(self, protocol: ServerProtocol, flush: Flush) -> None:
        """Notify this connection of changes from now on."""
        self._peers[protocol] = flush

    def detach(self, protocol: ServerProtocol) -> None:
        """Stop notifying this connection of changes."""
        self._peers.pop(protocol, None)

    def announce(self, change: Change) -> None:
        """Notify every attached connection of a change, in every replica of the server."""
        self.announce_here(change)
        if self.announce_elsewhere is not None:
            self.announce_elsewhere(change)

    def announce_here(self, change: Change) -> None:
        """Notify every attached connection of this process of a change."""
        for protocol, flush in list(self._peers.items()):
            protocol.announce(change)
            flush()

    def announce_task(self, task: JsonObject) -> None:
        """Notify the connections of this process that listen to a task of its present state."""
        for protocol, flush in list(self._peers.items()):
            if protocol.announce_task(task):
                flush()

    @property
    def has_task_listeners(self) -> bool:
        """Whether a connection of this process listens to tasks."""
        return any(protocol.listens_to_tasks for protocol in self._peers)

    def finish_elicitation(self, elicitation_id: str) -> None:
        """Notify clients that the user has finished an elicitation at a URL (2025-11-25)."""
        self.announce(Change("elicitation", elicitation_id))

    def forget_client(self, protocol: ServerProtocol) -> None:
        """Fail the requests to a client that has disconnected."""
        for (client, _), answer in list(self._client_answers.items()):
            if client is protocol and not answer.done():
                answer.set_exception(ToolError("the client disconnected before it answered"))

    async def drain(self, timeout_seconds: float) -> bool:
        """Wait until no handler is running; return False after the timeout."""
        if self._ready:
            await asyncio.sleep(0)  # they begin, and each one that waits has its task
        begun = time.monotonic()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=timeout_seconds)
        if self.task_service is not None:
            remaining = max(timeout_seconds - (time.monotonic() - begun), 0.0)
            return await self.task_service.drain(remaining) and not self._tasks
        return not self._tasks

    async def aclose(self) -> None:
        """Cancel every handler, wait a limited time for its end, and release all resources.

        The requests must be answered before.
        """
        self._ready.clear()
        for request, task in self._tasks.items():
            self._stop(request, task)
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=STOP_SECONDS)
        if self.task_service is not None:
            await self.task_service.aclose()
        await self.tools.aclose()
        if self.store is not None:
            await self.store.aclose()

    async def _run_ready(self) -> None:
        """Run the requests that are ready, all in this task until one of them waits.

        For a handler that never waits, a separate task would be most of the cost. The first
        handler that waits keeps this task, and each request behind it gets another one.
        """
        task = asyncio.current_task()
        try:
            while self._ready and task is not None and not task.cancelling():
                request, flush = self._ready.popleft()
                if not request.is_open:  # cancelled before it began
                    continue
                steps, variables = self._run(request, flush).__await__(), copy_context()
                awaited = variables.run(next, steps, _HAS_ENDED)
                if awaited is not _HAS_ENDED:
                    self._tasks[request] = task
                    self._start_ready()
                    await BegunWork(steps, variables, awaited)
                    return
        finally:
            self._start_ready()  # a handler that cancels its own task must not affect others

    def _start_ready(self) -> None:
        """Start a separate task for each request that is ready."""
        for request, flush in self._ready:
            if request.is_open:
                self._tasks[request] = asyncio.create_task(self._run(request, flush))
        self._ready.clear()

    async def _run(self, request: Request, flush: Flush) -> None:
        request.screen = self.screen
        if request.access is not None:
            mask_secrets_of(request.access)
        try:
            sealed = request.request_state
            state = await self._open_state(sealed, request) if sealed else None
            context = Context(request, self, flush, state)
            try:
                refusal = None
                if self.rate_limiter is not None and request.method not in _TASK_METHODS:
                    refusal = await self.find_refusal(request)
                # Most requests are such calls, for which `_find_handler` has nothing to decide.
                if request.method == "tools/call" and self.task_service is None:
                    result: object = refusal or await self.call_tool(request, context)
                else:
                    result = refusal or await self._find_handler(request, context, flush)
            except InputRequiredError as needed:
                self._require_input(request, needed, context)
            except UrlRequiredError as needed:
                request.require_url(needed.elicitation)
            else:
                if request.is_open:
                    request.answer(shape(result, request.revision))
        except _REPORTED_ERRORS as error:
            _fail(request, error)
        except asyncio.CancelledError as error:
            if request.is_open:  # the handler cancelled its own work, not the client
                _fail_internally(request, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the boundary: a handler may raise anything)
            _fail_internally(request, error)
        finally:
            self._tasks.pop(request, None)
            if decoding_budget.taken:
                decoding_budget.release(request)
            flush()

    async def find_refusal(self, request: Request) -> ToolResult | None:
        """Count a request for the rate limit; return the refusal if the request exceeds the limit.

        Raises:
            ProtocolError: the request exceeds the limit, and is not a call of a tool.
        """
        return None if self.rate_limiter is None else await self.rate_limiter.find_refusal(request)

    async def _open_state(self, sealed: str, request: Request) -> JsonObject:
        """Decrypt the state that a client has returned; each one is accepted once."""
        if self._cipher.is_shared:
            return await self._cipher.open_shared(sealed, request)
        return self._cipher.open(sealed, request)

    def _require_input(
        self, request: Request, needed: InputRequiredError, context: Context
    ) -> None:
        """Respond that the client must give input; encrypt the handler's state."""
        try:
            state = self._cipher.seal(context.to_json(), request)
        except MissingExtraError as error:
            log("error", f"{request.method}: {error}")
            failure = ToolError(
                f"This server cannot ask a client of MCP 2026-07-28 for input: {error}."
            )
            if request.method != "tools/call":
                raise failure from None
            request.succeed(ToolResult((Text(str(failure)),), is_error=True))
        else:
            request.require_input(needed.requests, state)

    def call_tool(self, request: Request, context: Context) -> Coroutine[Any, Any, ToolResult]:
        """Run the tool that a `tools/call` names."""
        params, features = request.params, self._features
        name, arguments = params["name"], params.get("arguments") or {}
        if features is not None and features.has_tool(name):
            return features.call_tool(name, arguments, context)
        return self.tools.call(name, arguments, context)

    def respond(self, request: Request, ended: asyncio.Task[object]) -> None:
        """Respond with the outcome of a handler that ran as a task."""
        error = asyncio.CancelledError() if ended.cancelled() else ended.exception()
        if error is None or isinstance(error, InputRequiredError):
            text = "This call requires input of the user that cannot be given to a task."
            refusal = ToolResult((Text(text),), is_error=True)
            try:
                request.succeed(ended.result() if error is None else refusal)
            except (TypeError, ValueError, OverflowError, RecursionError) as unspeakable:
                _fail_internally(request, unspeakable)
        elif isinstance(error, _REPORTED_ERRORS):
            _fail(request, error)
        else:
            _fail_internally(request, error)

    def _find_handler(self, request: Request, context: Context, flush: Flush) -> Awaitable[object]:
        params, features, tasks = request.params, self._features, self.task_service
        if tasks is not None and request.method == "tools/call":
            call = self.call_tool(request, context)
            if (
                request.revision.is_modern
                and find_extension(request.client_capabilities, TASKS_EXTENSION) is not None
            ):
                return tasks.run_call(request, context, flush, call)
            return call
        if tasks is not None and request.method in _TASK_METHODS:
            return tasks.answer(request, flush)
        if (
            self.results is not None
            and request.method == "resources/read"
            and self.results.has(params["uri"])
        ):
            return self.results.read_resource(params["uri"], context)
        if features is None:
            if request.method == "resources/read":  # a server with no other resources than skills
                raise ResourceNotFoundError(params["uri"])
            raise ProtocolError(METHOD_NOT_FOUND, f"no handler for {request.method}")
        if request.method == "prompts/get":
            return features.get_prompt(params["name"], params.get("arguments", {}), context)
        if request.method == "resources/read":
            return features.read_resource(params["uri"], context)
        return features.complete(params, context)

    def ask_client(
        self, request: Request, method: str, params: JsonObject, timeout_seconds: float | None
    ) -> asyncio.Future[JsonObject]:
        """Send a request to a legacy client; the future receives its result or a ToolError."""
        loop = asyncio.get_running_loop()
        seconds = self.limits.client_timeout_seconds if timeout_seconds is None else timeout_seconds
        connection = request.connection
        request_id = request.ask_client(method, params)
        answer: asyncio.Future[JsonObject] = loop.create_future()
        self._client_answers[connection, request_id] = answer

        def give_up() -> None:
            if not answer.done():
                answer.set_exception(ToolError(f"the client did not answer within {seconds:g} s"))

        timer = loop.call_later(seconds, give_up)

        def settle(_: asyncio.Future[JsonObject]) -> None:
            timer.cancel()
            del self._client_answers[connection, request_id]
            # Does nothing if the client has answered.
            connection.cancel_client_request(request_id, "the answer is no longer needed")

        answer.add_done_callback(settle)
        return answer

    def _answer(self, protocol: ServerProtocol, event: ClientAnswer) -> None:
        answer = self._client_answers.get((protocol, event.request_id))
        if answer is None or answer.done():
            return
        if event.result is not None:
            answer.set_result(event.result)
        else:
            answer.set_exception(ToolError("the client refused to answer"))

    def _cancel(self, event: RequestCancelled) -> None:
        task = self._tasks.get(event.request)
        if task is not None:
            log(
                "info",
                f"{event.request.method} {event.request.id!r} cancelled: {event.reason or '-'}",
            )
            self._stop(event.request, task)

    def _stop(self, request: Request, task: asyncio.Task[None]) -> None:
        # A task that has not begun ends without running any of its `finally`.
        task.add_done_callback(lambda _: self._tasks.pop(request, None))
        task.cancel()


def _fail(request: Request, error: Exception) -> None:
    try:
        request.fail(error)
    except (TypeError, ValueError, OverflowError, RecursionError) as unspeakable:
        _fail_internally(request, unspeakable)  # JSON cannot represent its data


def _fail_internally(request: Request, error: BaseException) -> None:
    correlation_id = os.urandom(4).hex()
    log("error", f"{correlation_id} {request.method}: {describe_error(error)}")
    request.fail(error, correlation_id)
