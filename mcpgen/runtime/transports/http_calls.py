"""How a call runs in the task of its own HTTP request, and when it needs another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from mcpgen.runtime.calls import CallRunner
from mcpgen.runtime.protocol.call import Call
from mcpgen.runtime.protocol.messages import Event
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.transports.reply_stream import AnswerLater, ReplyStream

UNWATCHED_SECONDS: Final = 0.05
"""How long a call takes, once or twice, before somebody looks whether its client is there."""


class PostedCalls:
    """Runs the calls of POSTs, and looks after those that take long: one timer serves them all."""

    def __init__(self, runner: CallRunner) -> None:
        self._runner = runner
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
        """Act on what the core gave for one POST, and flush.

        A single call runs in the task of whoever awaits this. If it takes long, or has something
        to say before its result, `answer_later` is started beside it. Whoever awaits this then
        stops the stream's watch, and awaits what that gives.
        """
        if len(events) != 1 or type(call := events[0]) is not Call:
            return self._take(protocol, events, flush)
        stream.watch(answer_later, self._round)
        if not self._is_timed:
            self._set_timer()
        return self._runner.run(call, flush)

    async def _take(
        self, protocol: ServerProtocol, events: Sequence[Event], flush: Callable[[], None]
    ) -> None:
        if events:
            self._runner.take(protocol, events, flush)
            await asyncio.sleep(0)  # a handler that waits for nothing has answered by then
        flush()

    def _set_timer(self) -> None:
        self._is_timed = True
        asyncio.get_running_loop().call_later(UNWATCHED_SECONDS, self._look_around)

    def _look_around(self) -> None:
        streams = [call.stream for call in self._runner.calls]
        watched = [it for it in streams if isinstance(it, ReplyStream) and it.is_watched]
        for stream in watched:
            if stream.watched_since < self._round:
                stream.start_answer()
        self._round += 1
        self._is_timed = False
        if any(stream.is_watched for stream in watched):
            self._set_timer()
