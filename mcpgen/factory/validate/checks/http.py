"""Checks of Streamable HTTP in all revisions: Origin, statuses, content types, event streams."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from mcpgen.factory.validate.checks.calls import CALL_SECONDS, call_tools
from mcpgen.factory.validate.checks.exchange import harmless_request
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.posts import (
    EVENT_STREAM,
    JSON,
    content_type,
    describe_status,
    http_connection,
    is_loopback,
    post,
)
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
from mcpgen.factory.wire.frames import Frame, iterate_messages
from mcpgen.factory.wire.session import Reply

FOREIGN_ORIGIN: Final = "http://mcpgen-foreign.example"
_CONNECT_SECONDS: Final = 2.0
_END_SECONDS: Final = 5.0
# A documentation address (RFC 5737): the system chooses the interface, nothing is sent.
_ELSEWHERE: Final = ("192.0.2.1", 9)


@dataclass(frozen=True, slots=True)
class _Origins:
    """Replies to a foreign `Origin`; with `rebound`, the Host header names the same site."""

    foreign: Reply
    rebound: Reply


async def _send_foreign_origins(probe: Probe) -> _Origins:
    session = await probe.get_session()
    port = urlsplit(probe.target.url).port
    host = urlsplit(FOREIGN_ORIGIN).netloc + (f":{port}" if port else "")
    replies = []
    for changes in (
        {"Origin": FOREIGN_ORIGIN},
        {"Origin": f"http://{host}", "Host": host},
    ):
        message = session.message(harmless_request(probe), None, session.next_id())
        replies.append(await post(session, message, changes))
    return _Origins(*replies)


async def check_origin(probe: Probe) -> Outcome:
    """Requests of a page of another site are refused."""
    if not is_loopback(probe.target.url):
        # A public server may allow every site; a local one is open to DNS rebinding then.
        return skip("the server is not on this machine, and may allow any origin")
    replies = await probe.once(_send_foreign_origins)
    if replies.foreign.status < 400:
        return fail(
            f"a request with `Origin: {FOREIGN_ORIGIN}` was answered with"
            f" {describe_status(replies.foreign)}",
            replies.foreign.frames,
        )
    if replies.rebound.status < 400:
        return fail(
            "a request whose `Origin` and `Host` name another site was answered with"
            f" {describe_status(replies.rebound)}",
            replies.rebound.frames,
        )
    return succeed()


async def check_origin_status(probe: Probe) -> Outcome:
    """A foreign `Origin` is refused with HTTP 403."""
    if not is_loopback(probe.target.url):
        return skip("the server is not on this machine, and may allow any origin")
    reply = (await probe.once(_send_foreign_origins)).foreign
    if reply.status < 400:
        return cannot_decide("the foreign origin was accepted", reply.frames)
    if reply.status != 403:
        return fail(f"a foreign `Origin` was refused with HTTP {reply.status}", reply.frames)
    return succeed()


async def check_loopback_only(probe: Probe) -> Outcome:
    """A local server listens on the loopback interface only."""
    address = urlsplit(probe.target.url)
    if not is_loopback(probe.target.url):
        return skip("the server is not on this machine")
    own = _find_own_address()
    if own is None:
        return leave_untested("this machine has no other interface")
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(own, address.port or 80)
    except (OSError, TimeoutError):
        return succeed()
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return fail("the server also listens on the other network interfaces of this machine")


def _find_own_address() -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
            found = str(probe.getsockname()[0])
        except OSError:
            return None
    return None if found.startswith("127.") or found == "0.0.0.0" else found  # noqa: S104  (compared only)


async def check_notification_status(probe: Probe) -> Outcome:
    """A posted notification is answered with 202 and no body, or with an error status."""
    session = await probe.get_session()
    connection = http_connection(session)
    messages = [session.message("notifications/mcpgen-unknown")]
    if not probe.is_modern:
        messages.append(session.message("notifications/cancelled", {"requestId": 987654}))
        messages.append({"jsonrpc": "2.0", "id": "mcpgen-no-request", "result": {}})
    for message in messages:
        pending = await connection.start(message)
        await pending.end(_END_SECONDS)
        pending.abandon()
        status = pending.head.status if pending.head is not None else 0
        received = [it for it in connection.received if it.request is pending.request]
        what = f"`{message['method']}`" if "method" in message else "a response"
        if status < 400 and status != 202:
            return fail(
                f"{what} was answered with HTTP {status}, expected 202",
                [pending.request, *received[:1]],
            )
        if status == 202 and (pending.body.strip() or pending.events):
            return fail(
                f"{what} was answered with HTTP 202 and a body", [pending.request, *received[:1]]
            )
    return succeed()


def check_initialized_status(probe: Probe, _frames: Sequence[Frame]) -> Outcome:
    """`notifications/initialized` is answered with 202 and no body."""
    found = [
        frame
        for frame in probe.frames
        if frame.is_received
        and frame.http is not None
        and frame.request is not None
        and frame.request.method == "notifications/initialized"
    ]
    for frame in found:
        status = frame.http.status if frame.http is not None else 0
        if status != 202:
            return fail(
                f"`notifications/initialized` was answered with HTTP {status}, expected 202",
                [frame.request, frame] if frame.request is not None else [frame],
            )
    return succeed() if found else leave_untested("no session was opened")


def check_content_types(_probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """The response to a request is JSON or an event stream."""
    seen = False
    for frame in frames:
        request, head = frame.request, frame.http
        if head is None or request is None or head.method != "POST" or head.status != 200:
            continue
        if not any("id" in it and "method" in it for it in iterate_messages(request)):
            continue
        seen = True
        kind = (head.header("content-type") or "").partition(";")[0].strip().lower()
        if kind not in {JSON, EVENT_STREAM}:
            return fail(
                f"the response to `{request.method}` has the content type {kind!r}",
                [request, frame],
            )
    return succeed() if seen else leave_untested("no request was answered with HTTP 200")


async def check_streams_respond(probe: Probe) -> Outcome:
    """An event stream ends with the response to its request, not before."""
    found = await probe.once(collect_streams)
    streams = [it for it in found.posts if content_type(it) == EVENT_STREAM]
    unanswered = [
        it
        for it in (await probe.once(call_tools)).made
        if it.reply.response is None and content_type(it.reply) == EVENT_STREAM
    ]
    if not streams and not unanswered:
        return skip("the server answers with JSON, not with event streams")
    for call in unanswered:
        if call.seconds < CALL_SECONDS / 2:  # the stream ended before the time was over
            return fail(
                f"the event stream of a call of `{call.name}` ended without the response",
                call.reply.frames,
            )
    for pending in streams:
        if await pending.response(0) is None and pending in found.ended:
            return fail(
                f"the event stream of `{pending.request.method}` ended without the response",
                [pending.request, *(it.frame for it in pending.events if it.frame)],
            )
    return succeed()


async def check_streams_end(probe: Probe) -> Outcome:
    """The response ends the event stream."""
    found = await probe.once(collect_streams)
    streams = [
        it
        for it in found.posts
        if content_type(it) == EVENT_STREAM and await it.response(0) is not None
        # A GET that resumes a stream may go on to carry other messages.
        if not it.resumed
    ]
    if not streams:
        return skip("the server answers with JSON, not with event streams")
    for pending in streams:
        if pending not in found.ended:
            return fail(
                f"the event stream of `{pending.request.method}` is still open"
                " some seconds after the response",
                [pending.request],
            )
    return succeed()


def check_stream_data(_probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """The data of each event is one JSON message."""
    seen = False
    for frame in frames:
        kind = (frame.http.header("content-type") if frame.http is not None else None) or ""
        # The whole body of a stream that a check read as bytes is not one event.
        if not kind.startswith(EVENT_STREAM) or frame.raw.startswith((b"data:", b"event:", b"id:")):
            continue
        seen = True
        if frame.fault:
            return fail(f"the data of an event is {frame.fault}", [frame])
    return succeed() if seen else skip("the server sent no event with data")


ACTIVE: Mapping[str, ActiveCheck] = {
    "origin-validated": check_origin,
    "origin-refused-with-403": check_origin_status,
    "loopback-only": check_loopback_only,
    "notification-status": check_notification_status,
    "streams-respond": check_streams_respond,
    "streams-end": check_streams_end,
}
PASSIVE: Mapping[str, PassiveCheck] = {
    "initialized-status": check_initialized_status,
    "content-types": check_content_types,
    "event-data": check_stream_data,
}
