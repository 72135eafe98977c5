"""How a call runs in the task of its own HTTP request, and when it needs another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from mcpgen.runtime.calls import CallRunner
from mcpgen.runtime.protocol.call import Call
from mcpgen.runtime.protocol.messages import Event
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.transports.reply_stream import ReplyStream

UNWATCHED_SECONDS: Final = 0.05
"""How long a call takes, once or twice, before somebody looks whether its client is there."""


class PostedCalls:
    """Runs the calls of POSTs, and looks after those that take long: one timer serves them all."""

    def __init__(self, runner: CallRunner) -> None:
        self._runner = runner
        self._new: set[Callable[[], None]] = set()  # how to begin to answer what just started,
        self._due: set[Callable[[], None]] = set()  # and what the timer has seen before
        self._timer: asyncio.TimerHandle | None = None

    async def run(
        self,
        protocol: ServerProtocol,
        events: Sequence[Event],
        stream: ReplyStream,
        flush: Callable[[], None],
        answer_later: Callable[[], Coroutine[Any, Any, None]],
    ) -> asyncio.Task[None] | None:
        """Act on what the core gave for one POST, and flush.

        A single call runs in this very task. If it takes long, or has something to say before its
        result, `answer_later` is started beside it; whoever awaits this then awaits that, and
        answers at once otherwise.
        """
        if len(events) != 1 or type(call := events[0]) is not Call:
            if events:
                self._runner.take(protocol, events, flush)
                await asyncio.sleep(0)  # a handler that waits for nothing has answered by then
            flush()
            return None
        later: asyncio.Task[None] | None = None

        def start() -> None:
            nonlocal later
            if later is None:
                later = asyncio.create_task(answer_later())

        stream.on_sse = start
        self._new.add(start)
        if self._timer is None:
            self._set_timer()
        try:
            await self._runner.run(call, flush)
        finally:
            self._new.discard(start)
            self._due.discard(start)
            stream.on_sse = None
        return later

    def _set_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(UNWATCHED_SECONDS, self._look_around)

    def _look_around(self) -> None:
        for start in self._due:
            start()
        self._due, self._new = self._new, set()
        self._timer = None
        if self._due:
            self._set_timer()
