"""Checks of HTTP+SSE, the transport of 2024-11-05."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcpgen.factory.validate.checks.http import FOREIGN_ORIGIN
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.posts import is_loopback
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import Outcome, fail, leave_untested, skip, succeed
from mcpgen.factory.wire.frames import Frame
from mcpgen.factory.wire.session import Session
from mcpgen.factory.wire.sse import SseConnection


def _sse(session: Session) -> SseConnection:
    if not isinstance(session.connection, SseConnection):
        raise TypeError("not a connection over HTTP+SSE")
    return session.connection


async def check_endpoint_event(probe: Probe) -> Outcome:
    """The first event of the stream names the endpoint."""
    async with probe.fresh(opens=False) as session:
        events = _sse(session).events
        if events and events[0].name == "endpoint" and events[0].data:
            return succeed()
        name = f"`{events[0].name}`" if events else "missing"
        return fail(f"the first event is {name}, expected `endpoint`")


async def check_post_accepted(probe: Probe) -> Outcome:
    """Messages that are posted to the endpoint are accepted."""
    async with probe.fresh(opens=False) as session:
        pending = await session.start("initialize", session.initialize_params())
        status = pending.head.status if pending.head is not None else 0
        if status // 100 != 2:
            return fail(
                f"a POST to the endpoint of the stream was answered with HTTP {status}",
                [pending.request],
            )
        if await pending.response(session.timeout_seconds) is None:
            return fail("the response to `initialize` is not on the stream", [pending.request])
    return succeed()


def check_message_events(_probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Messages are events with the name `message`."""
    named = [frame for frame in frames if frame.event is not None]
    for frame in named:
        if frame.event != "message" and frame.body.get("jsonrpc") is not None:
            return fail(f"a message is an event with the name `{frame.event}`", [frame])
    return succeed() if named else leave_untested("the server sent no message")


async def check_origin(probe: Probe) -> Outcome:
    """A page of another site can neither open the stream nor post."""
    if not is_loopback(probe.target.url):
        return skip("the server is not on this machine, and may allow any origin")
    async with probe.fresh() as session:
        connection = _sse(session)
        status = await connection.fetch_status({"Origin": FOREIGN_ORIGIN})
        if status < 400:
            return fail(f"a GET with `Origin: {FOREIGN_ORIGIN}` was answered with HTTP {status}")
        headers = {**connection.post_headers(), "Origin": FOREIGN_ORIGIN}
        message = session.message("ping", None, session.next_id())
        pending = await connection.start(message, headers)
        status = pending.head.status if pending.head is not None else 0
        if status < 400:
            return fail(
                f"a POST with `Origin: {FOREIGN_ORIGIN}` was answered with HTTP {status}",
                [pending.request],
            )
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {
    "sse-endpoint-event": check_endpoint_event,
    "sse-post-accepted": check_post_accepted,
    "sse-origin-validated": check_origin,
}
PASSIVE: Mapping[str, PassiveCheck] = {"sse-message-events": check_message_events}
