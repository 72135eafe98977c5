"""Execution of a posted call in the task of its HTTP request, with a second task if it is slow."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.protocol.events import Event
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.transports.http.reply_stream import AnswerLater, ReplyStream

SLOW_CALL_SECONDS: Final = 0.05
"""Time after which a task watches for a disconnect; it starts after at most twice this time."""


class PostedCalls:
    """Runner for the calls of POST requests. One timer detects all slow calls."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._round = 0
        self._is_timed = False

    def run(
        self,
        protocol: ServerProtocol,
        events: Sequence[Event],
        stream: ReplyStream,
        flush: Callable[[], None],
        answer_later: AnswerLater,
    ) -> Awaitable[None]:
        """Process the core's events for one POST, then flush.

        A single call runs in the caller's task. If it is slow, or sends a message before its
        result, `answer_later` is started in a second task. Afterwards the caller must call
        `stream.stop_watch` and await the task that it returns.
        """
        if len(events) != 1 or type(call := events[0]) is not Request:
            return self._take(protocol, events, flush)
        stream.watch(answer_later, self._round)
        if not self._is_timed:
            self._set_timer()
        return self._dispatcher.run(call, flush)

    async def _take(
        self, protocol: ServerProtocol, events: Sequence[Event], flush: Callable[[], None]
    ) -> None:
        if events:
            self._dispatcher.dispatch(protocol, events, flush)
            await asyncio.sleep(0)  # enough for a handler that never waits
        flush()

    def _set_timer(self) -> None:
        self._is_timed = True
        asyncio.get_running_loop().call_later(SLOW_CALL_SECONDS, self._answer_slow_calls)

    def _answer_slow_calls(self) -> None:
        streams = [call.stream for call in self._dispatcher.calls]
        watched = [it for it in streams if isinstance(it, ReplyStream) and it.is_watched]
        for stream in watched:
            if stream.watched_since < self._round:
                stream.start_answer()
        self._round += 1
        self._is_timed = False
        if any(stream.is_watched for stream in watched):
            self._set_timer()
