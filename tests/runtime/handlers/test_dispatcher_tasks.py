"""Tests that calls which arrive together share a task until one waits, without visible effect."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from mcpgen.contract.limits import Limits
from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.handlers.context import Context
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.tools.results import ToolOutcome
from tests.support.protocol_client import MODERN, Peer, definition

BOUND_SECONDS = 20.0
Handler = Callable[[], Awaitable[str]]
spoken: ContextVar[str] = ContextVar("spoken", default="nothing")


class Handlers:
    """Tools that are functions of the test."""

    def __init__(self, **handlers: Handler) -> None:
        self.handlers = handlers
        self.begun: list[str] = []

    async def call(self, name: str, _: dict[str, Any], __: Context) -> ToolResult:
        self.begun.append(name)
        return ToolResult((Text(await self.handlers[name]()),))

    async def run(
        self, name: str, _: dict[str, Any], __: Context, *, is_gathered: bool = False
    ) -> ToolOutcome:
        raise ToolError(name)

    async def aclose(self) -> None: ...


class Pipe:
    """A client whose messages all arrive in one read."""

    def __init__(self, *, max_in_flight: int = 100, **handlers: Handler) -> None:
        self.tools = Handlers(**handlers)
        self.dispatcher = Dispatcher(self.tools, limits=Limits({"max_calls": max_in_flight}))
        self.protocol = ServerProtocol(definition())
        self.answers: dict[str, str] = {}
        self._peer = Peer(MODERN, protocol=self.protocol)

    def call(self, *names: str) -> None:
        for name in names:
            self.send(self._peer.request("tools/call", id=name, name=name))

    def cancel(self, name: str) -> None:
        params = {"requestId": name}
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    def send(self, message: dict[str, Any]) -> None:
        self.dispatcher.dispatch(self.protocol, self.protocol.receive(message), self._flush)

    async def ended(self) -> None:
        assert await self.dispatcher.drain(BOUND_SECONDS)

    def _flush(self) -> None:
        for outgoing in self.protocol.messages_to_send():
            answer = json.loads(outgoing.data)
            result = answer.get("result")
            self.answers[answer["id"]] = result["content"][0]["text"] if result else "an error"


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), BOUND_SECONDS))


async def listen() -> str:
    return spoken.get()


async def speak() -> str:
    spoken.set("a word")
    return "done"


def test_context_variables_are_local_to_a_call() -> None:
    async def speak_after_a_while() -> str:
        spoken.set("a word")
        await asyncio.sleep(0)
        return spoken.get()

    async def scenario() -> None:
        pipe = Pipe(speak=speak, later=speak_after_a_while, listen=listen, again=listen)
        pipe.call("speak", "listen", "later", "again")
        await pipe.ended()
        assert pipe.answers == {
            "speak": "done",
            "listen": "nothing",
            "later": "a word",
            "again": "nothing",
        }
        assert spoken.get() == "nothing"

    run(scenario)


def test_a_cancelled_call_has_its_own_context_variables() -> None:
    async def scenario() -> None:
        found: list[str] = []

        async def speak_until_cancelled() -> str:
            spoken.set("a word")
            try:
                await asyncio.Event().wait()
            finally:
                found.append(spoken.get())
            return ""

        pipe = Pipe(speak=speak_until_cancelled)
        pipe.call("speak")
        await asyncio.sleep(0)
        pipe.cancel("speak")
        await pipe.ended()
        assert found == ["a word"]

    run(scenario)


def test_a_waiting_call_does_not_block_other_calls() -> None:
    async def scenario() -> None:
        go_on = asyncio.Event()

        async def wait() -> str:
            await go_on.wait()
            return "waited"

        async def let_go_on() -> str:
            go_on.set()
            return "let go on"

        pipe = Pipe(first=wait, second=wait, listen=listen, last=let_go_on)
        pipe.call("first", "second", "listen", "last")
        await pipe.ended()
        assert list(pipe.answers) == ["listen", "last", "first", "second"]
        assert not pipe.dispatcher.calls

    run(scenario)


def test_a_call_cancelled_before_it_starts_is_not_run() -> None:
    async def scenario() -> None:
        pipe = Pipe(a=listen, b=listen, c=asyncio.Event().wait, d=listen, e=listen)
        pipe.call("a", "b")
        pipe.cancel("b")
        pipe.call("c", "d", "e")  # what comes behind a call that waits begins in another way
        pipe.cancel("d")
        await asyncio.sleep(0)
        pipe.cancel("c")
        await pipe.ended()
        assert pipe.tools.begun == ["a", "c", "e"]
        assert list(pipe.answers) == ["a", "e"]

    run(scenario)


def test_a_timeout_ends_only_the_call_that_set_it() -> None:
    async def impatient() -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "too late"
        return "in time"

    async def scenario() -> None:
        pipe = Pipe(a=listen, b=impatient, c=impatient, d=listen)
        pipe.call("a", "b", "c", "d")
        await pipe.ended()
        assert pipe.answers == {"a": "nothing", "b": "too late", "c": "too late", "d": "nothing"}

    run(scenario)


def test_a_handler_that_cancels_its_own_task_cancels_no_other_call() -> None:
    async def end_itself() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "ended"

    async def wait() -> str:
        await asyncio.sleep(0)
        return "waited"

    async def scenario() -> None:
        pipe = Pipe(a=end_itself, b=wait, c=wait)
        pipe.call("a", "b", "c")
        await pipe.ended()
        assert pipe.answers == {"a": "ended", "b": "waited", "c": "waited"}

    run(scenario)


@pytest.mark.parametrize("waits", [False, True])
def test_a_call_counts_against_the_limit_when_it_is_accepted(waits: bool) -> None:
    async def scenario() -> None:
        pipe = Pipe(max_in_flight=2, a=listen, b=asyncio.Event().wait if waits else listen)
        pipe.call("a")
        assert not pipe.dispatcher.is_full
        pipe.call("b")
        assert pipe.dispatcher.is_full
        await asyncio.sleep(0)
        assert not pipe.dispatcher.is_full
        assert len(pipe.dispatcher.calls) == waits
        await pipe.dispatcher.aclose()

    run(scenario)


def test_a_call_is_not_run_if_the_dispatcher_closes_before_it_starts() -> None:
    async def scenario() -> None:
        pipe = Pipe(a=listen)
        pipe.call("a")
        await pipe.dispatcher.aclose()
        await asyncio.sleep(0)
        assert pipe.tools.begun == []

    run(scenario)


@pytest.mark.parametrize("fails", [False, True])
def test_calls_leave_no_reference_cycles(fails: bool) -> None:
    """A reference cycle per call would keep its response until the next garbage collection."""

    async def fail() -> str:
        raise ToolError("refused")

    async def scenario() -> None:
        pipe = Pipe(a=fail if fails else listen)

        async def call(times: int) -> None:
            for _ in range(times):
                pipe.call("a")
                await asyncio.sleep(0)
                await pipe.ended()

        await call(5)
        gc.collect()
        gc.disable()
        try:
            await call(20)
            assert gc.collect() < 20
        finally:
            gc.enable()

    run(scenario)
