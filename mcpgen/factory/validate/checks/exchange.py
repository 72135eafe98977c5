"""Checks of JSON-RPC that send messages: ids, unknown methods, notifications, batches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import Outcome, cannot_decide, fail, succeed
from mcpgen.factory.wire.frames import Frame, iterate_messages
from mcpgen.factory.wire.session import Reply, Session

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
_PARSE_ERROR: Final = -32700
_UNKNOWN_METHOD: Final = "mcpgen/unknown-method"
_IDS: Final = ("mcpgen-1", "ключ é", 4242, 0)
_SETTLE_SECONDS: Final = 0.3
_BATCH_SECONDS: Final = 2.0


def harmless_request(probe: Probe) -> str:
    """Return a method that every server of the revision implements."""
    return "server/discover" if probe.is_modern else "ping"


async def is_alive(probe: Probe, session: Session) -> Reply:
    """Send a harmless request; when it is answered, the messages before it have been read."""
    return await session.request(harmless_request(probe))


def describe_reply(reply: Reply) -> str:
    """Describe an unexpected reply in a few words."""
    if reply.response is None:
        return f"HTTP {reply.status} without a response" if reply.status else "no response"
    if reply.error is not None:
        return f"the error {reply.code}"
    return "a result"


async def check_id_echo(probe: Probe) -> Outcome:
    """Responses repeat string ids, Unicode ids and integer ids unchanged."""
    session = await probe.get_session()
    for request_id in _IDS:
        reply = await session.request(harmless_request(probe), request_id=request_id)
        if reply.response is None:
            return fail(f"no response with the id {request_id!r}", reply.frames)
    return succeed()


async def _ask_unknown_method(probe: Probe) -> Reply:
    return await probe.request(_UNKNOWN_METHOD)


async def check_unknown_method_rejected(probe: Probe) -> Outcome:
    """A request with an unknown method is answered with an error."""
    reply = await probe.once(_ask_unknown_method)
    if reply.error is None:
        return fail(f"an unknown method was answered with {describe_reply(reply)}", reply.frames)
    return succeed()


async def check_unknown_method_code(probe: Probe) -> Outcome:
    """The error for an unknown method has the code -32601."""
    reply = await probe.once(_ask_unknown_method)
    if reply.error is None:
        return cannot_decide("an unknown method was not answered with an error", reply.frames)
    if reply.code != METHOD_NOT_FOUND:
        return fail(
            f"the error for an unknown method has the code {reply.code}, expected -32601",
            reply.frames,
        )
    return succeed()


async def check_notifications_unanswered(probe: Probe) -> Outcome:
    """Notifications are not answered, whether the server knows them or not."""
    session = await probe.get_session()
    since = len(session.connection.received)
    sent = await session.notify("notifications/mcpgen-unknown", {"value": 1})
    alive = await is_alive(probe, session)
    await asyncio.sleep(_SETTLE_SECONDS)
    known = alive.request.body.get("id")
    for frame in session.connection.received[since:]:
        for message in iterate_messages(frame):
            # Over HTTP, the body of a refusal (4xx) may be an error without an id.
            is_refusal = frame.http is not None and frame.http.status >= 400
            is_response = "method" not in message and bool(message.keys() & {"result", "error"})
            if is_response and message.get("id") != known and not is_refusal:
                return fail("a notification was answered", [sent.request, frame])
    if alive.response is None:
        return fail("the server stopped answering after a notification", alive.frames)
    return succeed()


async def check_parse_error(probe: Probe) -> Outcome:
    """What is not JSON is answered with the error -32700."""
    session = await probe.get_session()
    connection = session.connection
    since = len(connection.received)
    pending = await connection.start(b'{"jsonrpc": "2.0", "id": 77, "method": "pi')
    alive = await is_alive(probe, session)
    frame = await connection.wait_for(_has_error, _SETTLE_SECONDS, since)
    if alive.response is None:
        return fail("the server stopped answering after a line that is not JSON", alive.frames)
    if frame is None:
        return cannot_decide("a line that is not JSON was ignored", [pending.request])
    code = frame.body["error"].get("code")
    if code != _PARSE_ERROR:
        return fail(
            f"a line that is not JSON was answered with the code {code}, expected -32700",
            [pending.request, frame],
        )
    return succeed()


def _has_error(frame: Frame) -> bool:
    return isinstance(frame.body.get("error"), dict) and "method" not in frame.body


async def check_batch(probe: Probe) -> Outcome:
    """A batch of two requests gets a response for each (2025-03-26).

    It contains no unknown notification, which a server over HTTP may refuse.
    """
    session = await probe.get_session()
    first, second = session.next_id(), session.next_id()
    since = len(session.connection.received)
    pending = await session.connection.start(
        [session.message("ping", None, first), session.message("ping", None, second)]
    )
    found: dict[int, Frame] = {}

    def collect(frame: Frame) -> bool:
        for message in iterate_messages(frame):
            if message.get("id") in (first, second) and "result" in message:
                found[message["id"]] = frame
        return len(found) == 2

    # The responses may come after that of a later request, but not much.
    await is_alive(probe, session)
    await session.connection.wait_for(collect, _BATCH_SECONDS, since)
    if len(found) != 2:
        received = session.connection.received[since:]
        return fail(
            f"{len(found)} of the 2 requests of a batch were answered",
            [pending.request, *received[:3]],
        )
    return succeed()


async def check_concurrent_requests(probe: Probe) -> Outcome:
    """Requests that are sent without waiting for each other are all answered."""
    session = await probe.get_session()
    method = harmless_request(probe)
    pending = [await session.start(method) for _ in range(4)]
    replies = [await session.complete(each) for each in pending]
    missing = [reply for reply in replies if reply.response is None]
    if missing:
        return fail(
            f"{len(missing)} of 4 simultaneous requests were not answered", missing[0].frames
        )
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {
    "id-echo": check_id_echo,
    "unknown-method-rejected": check_unknown_method_rejected,
    "unknown-method-code": check_unknown_method_code,
    "notifications-unanswered": check_notifications_unanswered,
    "parse-error-code": check_parse_error,
    "batch-accepted": check_batch,
    "concurrent-requests": check_concurrent_requests,
}
PASSIVE: Mapping[str, PassiveCheck] = {}
