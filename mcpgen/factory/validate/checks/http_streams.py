"""Checks of event streams before 2026-07-28: GET, event ids, resuming, messages per stream."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

from mcpgen.factory.validate.checks.calls import call_tools, explain_no_slow_call
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.posts import EVENT_STREAM, content_type, http_connection
from mcpgen.factory.validate.checks.streams import collect_streams
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import (
    Outcome,
    cannot_decide,
    fail,
    leave_untested,
    skip,
    succeed,
)
from mcpgen.factory.wire.connection import Pending
from mcpgen.factory.wire.frames import Frame, iterate_messages
from mcpgen.jsonschema.types import JsonObject

_SLOW_SECONDS: Final = 0.25
_REPLAY_SECONDS: Final = 12.0
_NO_GET: Final = "the server offers no stream for GET"


def _messages(pending: Pending) -> Iterator[tuple[Frame, JsonObject]]:
    for event in pending.events:
        if event.frame is not None:
            for message in iterate_messages(event.frame):
                yield event.frame, message


def _is_response(message: JsonObject) -> bool:
    return "method" not in message and bool(message.keys() & {"result", "error"})


def _progress_token(message: JsonObject) -> str | None:
    params = message.get("params")
    if message.get("method") != "notifications/progress" or not isinstance(params, dict):
        return None
    token = params.get("progressToken")
    return token if isinstance(token, str) else None


def _identity(message: JsonObject) -> str | None:
    """Return a text that no two messages of a session share; None if they may share it."""
    token = _progress_token(message)
    if token is not None:
        return f"progress {token} {message['params'].get('progress')!r}"
    if "id" in message:
        return f"{message.get('method', 'response')} {message['id']!r}"
    return None


async def check_get(probe: Probe) -> Outcome:
    """A GET is answered with an event stream or with HTTP 405."""
    first = (await probe.once(collect_streams)).gets[0]
    if first.head is None:
        return cannot_decide("a GET was not answered at once", [first.request])
    if first.head.status == 405 or (
        first.head.status == 200 and content_type(first) == EVENT_STREAM
    ):
        return succeed()
    return fail(
        f"a GET was answered with HTTP {first.head.status} and the content type"
        f" {content_type(first)!r}, expected an event stream or HTTP 405",
        [first.request],
    )


async def check_get_without_responses(probe: Probe) -> Outcome:
    """A GET stream carries no responses."""
    found = await probe.once(collect_streams)
    streams = [it for it in found.gets if content_type(it) == EVENT_STREAM]
    if not streams:
        return skip(_NO_GET)
    for stream in streams:
        for frame, message in _messages(stream):
            if _is_response(message):
                return fail("a response arrived on a GET stream", [stream.request, frame])
    return succeed()


async def check_get_unrelated(probe: Probe) -> Outcome:
    """The progress of a request is not sent on a GET stream."""
    found = await probe.once(collect_streams)
    if found.own is None:
        return skip(_NO_GET)
    seen = False
    for stream in found.all:
        for frame, message in _messages(stream):
            seen = seen or _progress_token(message) is not None
            if stream in found.gets and _progress_token(message) is not None:
                return fail(
                    "the progress of a request arrived on a GET stream", [stream.request, frame]
                )
    return succeed() if seen else skip("the server sent no progress")


async def check_one_stream(probe: Probe) -> Outcome:
    """Each message is sent on one stream, of the session that it belongs to."""
    found = await probe.once(collect_streams)
    if len(found.all) < 2:
        return skip("the server opened less than two streams")
    seen: dict[tuple[int, str], tuple[Pending, Frame]] = {}
    for stream in found.all:
        for frame, message in _messages(stream):
            identity = _identity(message)
            if identity is None:
                continue
            # Tokens of progress name a session; ids are used by every session.
            number = 0 if _progress_token(message) is not None else frame.connection
            earlier = seen.setdefault((number, identity), (stream, frame))
            if earlier[0] is not stream:
                return fail(
                    "the same message was sent on two streams",
                    [earlier[0].request, earlier[1], stream.request, frame],
                )
    other = found.gets[1:2]
    for stream in other:
        for frame, message in _messages(stream):
            if _progress_token(message) is not None:
                return fail("a message was sent to another session", [stream.request, frame])
    return succeed()


async def check_event_ids(probe: Probe) -> Outcome:
    """The ids of events are unique in a session."""
    found = await probe.once(collect_streams)
    seen: dict[tuple[int, str], Pending] = {}
    for stream in found.all:
        for event in stream.events:
            if not event.id:
                continue
            key = (stream.request.connection, event.id)
            if key in seen:
                return fail(
                    f"the event id {event.id!r} occurs twice in a session",
                    [seen[key].request, stream.request],
                )
            seen[key] = stream
    return succeed() if seen else skip("the events of the server have no ids")


async def check_replay(probe: Probe) -> Outcome:
    """Resuming a stream replays messages of this stream only."""
    found = await probe.once(collect_streams)
    if found.replay is None or found.replayed is None:
        return skip("the events of the server have no ids")
    if content_type(found.replay) != EVENT_STREAM:
        return skip("the server does not resume streams")
    others = [stream for stream in found.posts if stream is not found.replayed]
    foreign = {_identity(message) for stream in others for _, message in _messages(stream)}
    foreign |= {f"response {stream.request.body['id']!r}" for stream in others}
    foreign.discard(None)
    for frame, message in _messages(found.replay):
        if _identity(message) in foreign:
            return fail(
                "a resumed stream replays messages of another stream",
                [found.replayed.request, found.replay.request, frame],
            )
    return succeed()


async def check_priming(probe: Probe) -> Outcome:
    """The first event of a stream has an id and empty data."""
    found = await probe.once(collect_streams)
    streams = [it for it in found.posts if content_type(it) == EVENT_STREAM and it.events]
    if not streams:
        return skip("the server answers with JSON, not with event streams")
    for stream in streams:
        first = stream.events[0]
        if not first.id or first.data:
            return fail(
                "an event stream does not begin with an event that has an id and empty data",
                [stream.request, *([first.frame] if first.frame else [])],
            )
    return succeed()


async def check_retry(probe: Probe) -> Outcome:
    """A connection that is closed before the response names the time to reconnect."""
    found = await probe.once(collect_streams)
    for stream in found.posts:
        names = [event for event in stream.events if event.retry]
        if content_type(stream) == EVENT_STREAM and stream.resumed and not names:
            return fail(
                "a connection was closed before the response, without a `retry` field",
                [stream.request],
            )
    if any(stream.resumed for stream in found.posts):
        return succeed()
    return skip("the server closed no connection before the response")


async def check_disconnect(probe: Probe) -> Outcome:
    """A call whose connection is closed goes on; resuming its stream returns the response."""
    calls = await probe.once(call_tools)
    slow = [it for it in calls.made if it.is_complete and it.seconds >= _SLOW_SECONDS]
    if not slow:
        return leave_untested(explain_no_slow_call(probe, calls, "disconnect while it runs"))
    call = max(slow, key=lambda it: it.seconds)
    async with probe.fresh() as session:
        connection = http_connection(session)
        params = call.params
        pending = await session.start("tools/call", params)
        await asyncio.sleep(call.seconds * 0.2)
        ids = [event.id for event in pending.events if event.id]
        if pending.is_answered or not ids:
            return leave_untested("the stream of a slow call cannot be resumed")
        pending.abandon()
        await pending.end(1.0)
        resumed = await connection.open_stream(ids[-1])
        request_id = pending.request.body["id"]
        response = await connection.wait_for(
            lambda frame: frame.is_response and frame.body.get("id") == request_id,
            min(call.seconds * 3 + 2, _REPLAY_SECONDS),
        )
        resumed.abandon()
    if response is None:
        return cannot_decide("the resumed stream has no response", [pending.request])
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {
    "get-answered": check_get,
    "get-without-responses": check_get_without_responses,
    "get-unrelated": check_get_unrelated,
    "message-on-one-stream": check_one_stream,
    "event-ids-unique": check_event_ids,
    "replay-of-own-stream": check_replay,
    "priming-event": check_priming,
    "retry-before-close": check_retry,
    "disconnect-without-cancellation": check_disconnect,
}
PASSIVE: Mapping[str, PassiveCheck] = {}
