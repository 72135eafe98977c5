"""Checks of Streamable HTTP of 2026-07-28: statuses, streams, and what the revision removed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mcpgen.factory.validate.checks.calls import call_tools
from mcpgen.factory.validate.checks.exchange import METHOD_NOT_FOUND, describe_reply
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.messages import check_each
from mcpgen.factory.validate.checks.modern import NAMED, send_with_meta
from mcpgen.factory.validate.checks.posts import (
    EVENT_STREAM,
    describe_status,
    http_connection,
    post,
)
from mcpgen.factory.validate.checks.utilities import find_tokens
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import (
    Outcome,
    cannot_decide,
    fail,
    leave_untested,
    skip,
    succeed,
)
from mcpgen.factory.wire.connection import ConnectionLostError
from mcpgen.factory.wire.frames import Frame
from mcpgen.factory.wire.session import LEGACY_REVISIONS, META_PREFIX, MODERN, Reply
from mcpgen.jsonschema.types import JsonObject

_MISSING_CAPABILITY: Final = -32021
_UNKNOWN_VERSION: Final = "2099-12-31"
_REMOVED: Final[Mapping[str, JsonObject]] = {
    "ping": {},
    "logging/setLevel": {"level": "info"},
    "resources/subscribe": {"uri": "mcpgen://none"},
}
_LISTEN: Final = "subscriptions/listen"
_CHANGES: Final = frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
    }
)
_OF_REQUESTS: Final = frozenset({"notifications/progress", "notifications/message"})


def _supports_legacy(probe: Probe) -> bool:
    return any(revision in probe.known.supported for revision in LEGACY_REVISIONS)


async def check_unknown_method_status(probe: Probe) -> Outcome:
    """An unknown method is answered with HTTP 404 and the error -32601."""
    reply = await probe.request("mcpgen/unknown-http-method")
    if reply.status == 404 and reply.code == METHOD_NOT_FOUND:
        return succeed()
    return fail(
        f"an unknown method was answered with {describe_status(reply)},"
        " expected HTTP 404 with the error -32601",
        reply.frames,
    )


async def check_removed_methods(probe: Probe) -> Outcome:
    """Methods that the revision removed are answered like unknown ones."""
    for method, params in _REMOVED.items():
        reply = await probe.request(method, params)
        if reply.result is not None:
            return fail(f"`{method}`, which was removed, was answered with a result", reply.frames)
        if reply.status != 404 or reply.code != METHOD_NOT_FOUND:
            return fail(
                f"`{method}`, which was removed, was answered with {describe_status(reply)},"
                " expected HTTP 404 with the error -32601",
                reply.frames,
            )
    return succeed()


async def check_meta_status(probe: Probe) -> Outcome:
    """A request without `clientCapabilities` is refused with HTTP 400."""
    meta: JsonObject = {f"{META_PREFIX}protocolVersion": MODERN, **NAMED}
    return _expect_400(await send_with_meta(await probe.get_session(), "server/discover", meta))


async def check_version_status(probe: Probe) -> Outcome:
    """An unsupported version is refused with HTTP 400."""
    meta: JsonObject = {
        f"{META_PREFIX}protocolVersion": _UNKNOWN_VERSION,
        f"{META_PREFIX}clientCapabilities": {},
        **NAMED,
    }
    return _expect_400(await send_with_meta(await probe.get_session(), "server/discover", meta))


def _expect_400(reply: Reply) -> Outcome:
    if reply.result is not None:
        return cannot_decide("the request was not refused", reply.frames)
    if reply.status != 400:
        return fail(f"the status is {reply.status}, expected 400", reply.frames)
    return succeed()


def check_capability_status(_probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """The error -32021 has the status 400."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        error = message.get("error")
        if not isinstance(error, dict) or error.get("code") != _MISSING_CAPABILITY:
            return None
        status = frame.http.status if frame.http is not None else 0
        return "" if status == 400 else f"the error -32021 has HTTP {status}, expected 400"

    return check_each(frames, check, "no request needed a capability of the client")


def check_related_notifications(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Notifications on a stream belong to its request."""
    tokens = find_tokens(probe)

    def check(frame: Frame, message: JsonObject) -> str | None:
        method = message.get("method")
        request = frame.request
        if request is None or "id" in message or not isinstance(method, str):
            return None
        if request.method == _LISTEN:
            on_listen = method in _OF_REQUESTS
            return f"`{method}` was sent on the stream of `{_LISTEN}`" if on_listen else ""
        if method in _CHANGES:
            return f"`{method}` was sent on the stream of `{request.method}`"
        if method == "notifications/progress":
            owner = tokens.get((frame.connection, repr(_token_of(message))))
            if owner is not None and owner is not request:  # else `progress-tokens` reports it
                return f"the stream of `{request.method}` has progress of another request"
        return ""

    return check_each(frames, check, "the server sent no notification")


def _token_of(message: JsonObject) -> Any:
    """Return the token of a progress notification."""
    params = message.get("params")
    return params.get("progressToken") if isinstance(params, dict) else None


def check_buffering(_probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Event streams have the header `X-Accel-Buffering: no`."""
    streams = [
        frame
        for frame in frames
        if frame.http is not None
        and frame.http.status == 200
        and (frame.http.header("content-type") or "").startswith(EVENT_STREAM)
    ]
    for frame in streams:
        value = (frame.http.header("x-accel-buffering") if frame.http is not None else None) or ""
        if value.strip().lower() != "no":
            evidence = [frame.request, frame] if frame.request is not None else [frame]
            return fail("an event stream lacks `X-Accel-Buffering: no`", evidence)
    return succeed() if streams else skip("the server answers with JSON, not with event streams")


async def check_closed_stream(probe: Probe) -> Outcome:
    """A client that closes the connection of a call disturbs no other request."""
    calls = await probe.once(call_tools)
    complete = [it for it in calls.made if it.is_complete]
    if not complete:
        return leave_untested(calls.reason)
    call = max(complete, key=lambda it: it.seconds)
    params = call.params
    async with probe.fresh() as session:
        started = asyncio.create_task(session.start("tools/call", params))
        await asyncio.sleep(call.seconds * 0.3)
        started.cancel()
        with contextlib.suppress(asyncio.CancelledError, ConnectionLostError):
            await started
    reply = await probe.request("server/discover")
    if reply.result is None:
        return fail(
            "after a client closed the connection of a call, `server/discover` was answered with"
            f" {describe_reply(reply)}",
            reply.frames,
        )
    return succeed()


def check_no_sessions(_probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Responses carry no session id."""
    seen = False
    for frame in frames:
        if frame.http is None or frame.http.status != 200 or frame.request is None:
            continue
        if f"{META_PREFIX}protocolVersion" not in frame.request.raw.decode(errors="replace"):
            continue
        seen = True
        if frame.http.header("mcp-session-id"):
            return fail("a response has the header `Mcp-Session-Id`", [frame.request, frame])
    return succeed() if seen else leave_untested("no request was answered with HTTP 200")


async def check_legacy_headers_ignored(probe: Probe) -> Outcome:
    """`Mcp-Session-Id` and `Last-Event-ID` are ignored."""
    if _supports_legacy(probe):
        return skip("the server also supports revisions with sessions")
    session = await probe.get_session()
    message = session.message("server/discover", None, session.next_id())
    reply = await post(
        session, message, {"Mcp-Session-Id": "mcpgen-no-session", "Last-Event-ID": "mcpgen-1"}
    )
    if reply.result is None:
        return fail(
            f"a request with `Mcp-Session-Id` was answered with {describe_status(reply)}",
            reply.frames,
        )
    return succeed()


async def check_other_methods(probe: Probe) -> Outcome:
    """GET and DELETE are answered with HTTP 405."""
    if _supports_legacy(probe):
        return skip("the server also supports revisions with GET and DELETE")
    connection = http_connection(await probe.get_session())
    for method in ("GET", "DELETE"):
        reply = await connection.fetch(
            method, headers=connection.get_headers(), timeout_seconds=5.0
        )
        if reply.status != 405:
            return fail(
                f"{method} was answered with HTTP {reply.status}, expected 405",
                [reply.request, reply.response],
            )
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {
    "unknown-method-status": check_unknown_method_status,
    "removed-methods-refused": check_removed_methods,
    "meta-error-status": check_meta_status,
    "version-error-status": check_version_status,
    "closed-stream-tolerated": check_closed_stream,
    "legacy-headers-ignored": check_legacy_headers_ignored,
    "get-and-delete-refused": check_other_methods,
}
PASSIVE: Mapping[str, PassiveCheck] = {
    "capability-error-status": check_capability_status,
    "stream-notifications-related": check_related_notifications,
    "no-response-buffering": check_buffering,
    "no-sessions": check_no_sessions,
}
