"""Runs the handlers of calls, and carries what they say between client and protocol."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from mcpgen.runtime.content import (
    Completion,
    JsonObject,
    PromptResult,
    ResourceResult,
    Text,
    ToolResult,
)
from mcpgen.runtime.context import Context, InputRequiredError, UrlRequiredError
from mcpgen.runtime.errors import (
    InvalidArgumentsError,
    ProtocolError,
    ResourceNotFoundError,
    ToolError,
    UnknownToolError,
)
from mcpgen.runtime.extras import MissingExtraError
from mcpgen.runtime.log import describe_error, log
from mcpgen.runtime.own_context import InOwnContext
from mcpgen.runtime.protocol.call import Call
from mcpgen.runtime.protocol.jsonrpc import METHOD_NOT_FOUND
from mcpgen.runtime.protocol.messages import CallCancelled, Change, ClientAnswer, Event
from mcpgen.runtime.protocol.server import ServerProtocol

if TYPE_CHECKING:
    from mcpgen.runtime.sealing import StateSealer
    from mcpgen.runtime.tools import Run

MAX_IN_FLIGHT: Final = 1000
CLIENT_TIMEOUT_SECONDS: Final = 60.0
STOP_SECONDS: Final = 5.0  # for a handler that was told to stop
_TOLD: Final = (
    InvalidArgumentsError,
    ProtocolError,
    ResourceNotFoundError,
    ToolError,
    UnknownToolError,
)

Flush = Callable[[], None]


class Tools(Protocol):
    """What runs tools: `mcpgen.runtime.tools.Toolbox`, or a test's own."""

    async def call(self, name: str, arguments: JsonObject, context: Context) -> ToolResult:
        """Run a tool; raise `UnknownToolError` or `InvalidArgumentsError` where that is so."""
        ...

    async def run(self, name: str, arguments: JsonObject, context: Context) -> Run:
        """Run a tool for another one; raise `ToolError` where it fails."""
        ...

    async def aclose(self) -> None:
        """Release what calls used."""
        ...


class Offered(Protocol):
    """What answers for all but the generated tools: `Features`, or `DeclaredFeatures`."""

    def has_tool(self, name: str) -> bool:
        """Tell whether this tool is one of them."""
        ...

    async def call_tool(self, name: str, arguments: JsonObject, context: Context) -> ToolResult:
        """Run a tool of theirs."""
        ...

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], context: Context
    ) -> PromptResult:
        """Give the messages of a prompt."""
        ...

    async def read_resource(self, uri: str, context: Context) -> ResourceResult:
        """Give the contents of a resource."""
        ...

    async def complete(self, params: JsonObject, context: Context) -> Completion:
        """Suggest values for an argument of a prompt or a template."""
        ...


class CallRunner:
    """The handlers at work, for all connections of a process."""

    def __init__(
        self,
        tools: Tools,
        features: Offered | None = None,
        *,
        sealer: StateSealer | None = None,
        client_timeout_seconds: float = CLIENT_TIMEOUT_SECONDS,
        max_in_flight: int = MAX_IN_FLIGHT,
    ) -> None:
        self.tools = tools
        self._features = features
        self._sealer = sealer
        self._peers: dict[ServerProtocol, Flush] = {}
        self.publish: Callable[[Change], None] = self.announce  # or a store's, for all processes
        self._client_timeout_seconds = client_timeout_seconds
        self._max_in_flight = max_in_flight
        self._tasks: dict[Call, asyncio.Task[None]] = {}
        self._ready: deque[tuple[Call, Flush]] = deque()  # calls that are about to begin
        self._starter: asyncio.Task[None] | None = None  # of them; a loop keeps no task alive
        self._asked: dict[tuple[ServerProtocol, object], asyncio.Future[JsonObject]] = {}

    @property
    def calls(self) -> Collection[Call]:
        """The calls whose handlers are at work."""
        return self._tasks.keys()

    @property
    def is_full(self) -> bool:
        """Tell whether a transport should hold further requests back, or refuse them."""
        return len(self._tasks) + len(self._ready) >= self._max_in_flight

    def take(self, protocol: ServerProtocol, events: Iterable[Event], flush: Flush) -> None:
        """Act on what `ServerProtocol.receive` gave.

        `flush` is called whenever the protocol may have something to send.
        """
        for event in events:
            if type(event) is Call:
                if not self._ready:
                    self._starter = asyncio.create_task(self._run_ready())
                self._ready.append((event, flush))
            elif type(event) is CallCancelled:
                self._cancel(event)
            elif type(event) is ClientAnswer:
                self._answer(protocol, event)

    def run(self, call: Call, flush: Flush) -> Awaitable[None]:
        """Run the handler of a call in the task of whoever awaits this, and answer the call.

        A transport that has a task for each request saves one so. Cancelling the call cancels
        what its handler waits for, and not the task.
        """
        task = asyncio.current_task()
        if task is not None:
            self._tasks[call] = task
        return self._run(call, flush)

    def attach(self, protocol: ServerProtocol, flush: Flush) -> None:
        """Tell this peer of changes from now on, as far as it listens."""
        self._peers[protocol] = flush

    def detach(self, protocol: ServerProtocol) -> None:
        """Tell this peer of nothing more."""
        self._peers.pop(protocol, None)

    def announce(self, change: Change) -> None:
        """Tell every attached peer that listens of a change."""
        for protocol, flush in list(self._peers.items()):
            protocol.announce(change)
            flush()

    def forget_client(self, protocol: ServerProtocol) -> None:
        """Fail what waits for an answer of this client, who is gone."""
        for (asked_protocol, _), answer in list(self._asked.items()):
            if asked_protocol is protocol and not answer.done():
                answer.set_exception(ToolError("the client left before it answered"))

    async def drain(self, timeout_seconds: float) -> bool:
        """Wait until no handler is at work; False if some still are after the timeout."""
        if self._ready:
            await asyncio.sleep(0)  # they begin, and each that has to wait has its task
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=timeout_seconds)
        return not self._tasks

    def cancel_all(self) -> None:
        """Stop every handler; their calls must have been answered."""
        self._ready.clear()
        for call, task in self._tasks.items():
            self._stop(call, task)

    async def aclose(self) -> None:
        """Stop every handler, wait for its end (not for ever), and release what calls used."""
        self.cancel_all()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=STOP_SECONDS)
        await self.tools.aclose()

    async def _run_ready(self) -> None:
        """Run the calls that are ready, all in this task until one has to wait for something.

        Most of what a handler costs that never waits would be a task of its own. The first one
        that does wait keeps this task, and each call behind it gets another.
        """
        task = asyncio.current_task()
        try:
            while self._ready and task is not None and not task.cancelling():
                call, flush = self._ready.popleft()
                if call.is_open:  # nobody has cancelled it before it began
                    self._tasks[call] = task
                    work = InOwnContext(self._run(call, flush), self._start_ready)
                    await work
                    if work.has_waited:
                        return
        finally:
            self._start_ready()  # what a handler does to its own task concerns no other call

    def _start_ready(self) -> None:
        """Give each call that is ready a task of its own."""
        for call, flush in self._ready:
            if call.is_open:
                self._tasks[call] = asyncio.create_task(self._run(call, flush))
        self._ready.clear()

    async def _run(self, call: Call, flush: Flush) -> None:
        try:
            state = self._sealing.open(call.request_state, call) if call.request_state else None
            context = Context(call, self, flush, state)
            try:
                result = await self._handler_of(call, context)
            except InputRequiredError as needed:
                self._require_input(call, needed, context)
            except UrlRequiredError as needed:
                call.require_url(needed.elicitation)
            else:
                if call.is_open:
                    call.succeed(result)
        except _TOLD as error:
            _tell(call, error)
        except asyncio.CancelledError as error:
            if call.is_open:  # nobody cancelled the call: the handler's own work was cancelled
                _fail_inside(call, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the boundary: a handler may raise anything)
            _fail_inside(call, error)
        finally:
            self._tasks.pop(call, None)
            flush()

    def _require_input(self, call: Call, needed: InputRequiredError, context: Context) -> None:
        """Answer that the client has to give input, with the handler's state encrypted."""
        try:
            state = self._sealing.seal(context.to_json(), call)
        except MissingExtraError as error:
            log("error", f"{call.method}: {error}")
            failure = ToolError(
                f"This server cannot ask a client of MCP 2026-07-28 for input: {error}."
            )
            if call.method != "tools/call":
                raise failure from None
            call.succeed(ToolResult((Text(str(failure)),), is_error=True))
        else:
            call.require_input(needed.requests, state)

    def _handler_of(self, call: Call, context: Context) -> Awaitable[object]:
        params, features = call.params, self._features
        if call.method == "tools/call":
            name, arguments = params["name"], params.get("arguments", {})
            if features is not None and features.has_tool(name):
                return features.call_tool(name, arguments, context)
            return self.tools.call(name, arguments, context)
        if features is None:
            raise ProtocolError(METHOD_NOT_FOUND, f"nothing here answers {call.method}")
        if call.method == "prompts/get":
            return features.get_prompt(params["name"], params.get("arguments", {}), context)
        if call.method == "resources/read":
            return features.read_resource(params["uri"], context)
        return features.complete(params, context)

    @property
    def _sealing(self) -> StateSealer:
        if self._sealer is None:
            from mcpgen.runtime.sealing import KeyRingSealer  # for the few servers that ask

            self._sealer = KeyRingSealer.from_environment("", {})
        return self._sealer

    def ask_client(
        self, call: Call, method: str, params: JsonObject, timeout_seconds: float | None
    ) -> asyncio.Future[JsonObject]:
        """Send a request to a legacy client; the future gives its result, or a ToolError."""
        loop = asyncio.get_running_loop()
        seconds = self._client_timeout_seconds if timeout_seconds is None else timeout_seconds
        protocol = call.protocol
        request_id = call.ask_client(method, params)
        answer: asyncio.Future[JsonObject] = loop.create_future()
        self._asked[protocol, request_id] = answer

        def give_up() -> None:
            if not answer.done():
                answer.set_exception(ToolError(f"the client did not answer within {seconds:g} s"))

        timer = loop.call_later(seconds, give_up)

        def settle(_: asyncio.Future[JsonObject]) -> None:
            timer.cancel()
            del self._asked[protocol, request_id]
            # Does nothing if the client has answered.
            protocol.cancel_client_request(request_id, "the answer is no longer needed")

        answer.add_done_callback(settle)
        return answer

    def _answer(self, protocol: ServerProtocol, event: ClientAnswer) -> None:
        answer = self._asked.get((protocol, event.request_id))
        if answer is None or answer.done():
            return
        if event.result is not None:
            answer.set_result(event.result)
        else:
            answer.set_exception(ToolError("the client refused to answer"))

    def _cancel(self, event: CallCancelled) -> None:
        task = self._tasks.get(event.call)
        if task is not None:
            log("info", f"{event.call.method} {event.call.id!r} cancelled: {event.reason or '-'}")
            self._stop(event.call, task)

    def _stop(self, call: Call, task: asyncio.Task[None]) -> None:
        # A task that has not begun ends without running any of its `finally`.
        task.add_done_callback(lambda _: self._tasks.pop(call, None))
        task.cancel()


def _tell(call: Call, error: Exception) -> None:
    try:
        call.fail(error)
    except (TypeError, ValueError, OverflowError, RecursionError) as unspeakable:
        _fail_inside(call, unspeakable)  # what a handler put into the error has no form in JSON


def _fail_inside(call: Call, error: BaseException) -> None:
    correlation_id = secrets.token_hex(4)
    log("error", f"{correlation_id} {call.method}: {describe_error(error)}")
    call.fail(error, correlation_id)
