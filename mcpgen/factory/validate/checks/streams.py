"""Event streams of several requests, with and without GET streams beside them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from mcpgen.factory.validate.checks.calls import Call, call_tools
from mcpgen.factory.validate.checks.exchange import harmless_request
from mcpgen.factory.validate.checks.posts import (
    EVENT_STREAM,
    content_type,
    http_connection,
)
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.wire.connection import Pending
from mcpgen.factory.wire.session import META_PREFIX, Session

_CALLS: Final = 3
_CALL_SECONDS: Final = 8.0
_SETTLE_SECONDS: Final = 0.4
_REPLAY_SECONDS: Final = 1.5
_END_SECONDS: Final = 3.0


@dataclass(slots=True)
class Streams:
    """Messages by stream. `gets` are GET streams: of the session and of another one.

    `ended` are posts whose HTTP response had ended. `replay` is a GET that resumed `replayed`, one
    of the posts.
    """

    posts: list[Pending] = field(default_factory=list)
    gets: list[Pending] = field(default_factory=list)
    ended: list[Pending] = field(default_factory=list)
    replayed: Pending | None = None
    replay: Pending | None = None

    @property
    def own(self) -> Pending | None:
        """The GET stream of the session, if the server offers one."""
        found = [it for it in self.gets[:1] if content_type(it) == EVENT_STREAM]
        return found[0] if found else None

    @property
    def all(self) -> list[Pending]:
        """All event streams except the resumed one."""
        return [it for it in (*self.posts, *self.gets) if content_type(it) == EVENT_STREAM]


async def collect_streams(probe: Probe) -> Streams:
    """Send some requests at once; in sessions, with GET streams of two sessions open."""
    found = Streams()
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(probe.fresh())
        if not probe.is_modern:
            other = await stack.enter_async_context(probe.fresh())
            for each in (session, other):
                found.gets.append(await http_connection(each).open_stream())
        found.posts.append(await session.start(harmless_request(probe)))
        calls = await _choose_calls(probe)
        wants_logs = probe.is_modern and probe.declares("logging")
        for call in calls:
            found.posts.append(await _start_call(session, call, wants_logs=wants_logs))
        if probe.declares("tools"):
            found.posts.append(await session.start("tools/list"))
        for pending in found.posts:
            await pending.response(_CALL_SECONDS)
        await asyncio.sleep(_SETTLE_SECONDS)
        if not probe.is_modern:
            await _replay(session, found)
        await asyncio.gather(*(pending.end(_END_SECONDS) for pending in found.posts))
        found.ended = [it for it in found.posts if await it.end(0)]
    return found


async def _choose_calls(probe: Probe) -> list[Call]:
    """Return calls that succeeded before, those with notifications first."""
    made = (await probe.once(call_tools)).made
    busy = {
        id(frame.request)
        for frame in probe.frames
        if frame.is_received and frame.method.startswith("notifications/")
    }
    complete = [call for call in made if call.is_complete and call.seconds < _CALL_SECONDS / 2]
    complete.sort(key=lambda call: id(call.reply.request) not in busy)
    return complete[:_CALLS]


async def _start_call(session: Session, call: Call, *, wants_logs: bool) -> Pending:
    params = call.params
    number = session.connection.number
    meta = {"progressToken": f"stream-{number}-{session.last_id + 1}"}
    if wants_logs:
        meta[f"{META_PREFIX}logLevel"] = "debug"
    return await session.start("tools/call", params, meta=meta)


async def _replay(session: Session, found: Streams) -> None:
    """Resume the first stream with an event id, after its first event."""
    for pending in found.posts:
        ids = [event.id for event in pending.events if event.id]
        if ids:
            found.replayed = pending
            found.replay = await http_connection(session).open_stream(ids[0], is_replay=True)
            await found.replay.end(_REPLAY_SECONDS)
            found.replay.abandon()
            return
