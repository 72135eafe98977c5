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

UNWATCHED_SECONDS: Final = 0.02
"""How long a call may take before somebody looks whether its client is still there."""


async def run_events(
    runner: CallRunner,
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
            runner.take(protocol, events, flush)
            await asyncio.sleep(0)  # a handler that waits for nothing has answered by then
        flush()
        return None
    later: asyncio.Task[None] | None = None

    def start() -> None:
        nonlocal later
        if later is None:
            later = asyncio.create_task(answer_later())

    stream.on_sse = start
    timer = asyncio.get_running_loop().call_later(UNWATCHED_SECONDS, start)
    try:
        await runner.run(call, flush)
    finally:
        timer.cancel()
        stream.on_sse = None
    return later
