"""Checks of cancellation, progress and logging."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpgen.factory.validate.checks.calls import call_tools, explain_no_slow_call
from mcpgen.factory.validate.checks.exchange import (
    INVALID_PARAMS,
    describe_reply,
    harmless_request,
)
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.messages import check_each
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import (
    Outcome,
    fail,
    leave_untested,
    skip,
    succeed,
)
from mcpgen.factory.wire.frames import Frame, iterate_messages
from mcpgen.factory.wire.session import META_PREFIX, Reply
from mcpgen.jsonschema.types import JsonObject

_SLOW_SECONDS: Final = 0.25  # a call that takes so long can be cancelled while it runs
_LONGEST_WAIT: Final = 12.0
_SETTLE_SECONDS: Final = 0.3
_LEVELS: Final = (
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
)  # fmt: skip
_LOG_LEVEL: Final = f"{META_PREFIX}logLevel"


# Cancellation


@dataclass(frozen=True, slots=True)
class _Strays:
    """Cancellations that concern no open request, and the messages after them."""

    sent: Frame
    alive: Reply
    answers: list[Frame]


async def _send_stray_cancellations(probe: Probe) -> _Strays:
    session = await probe.get_session()
    finished = await session.request(harmless_request(probe))
    since = len(session.connection.received)
    strays: tuple[JsonObject, ...] = (
        {"requestId": 987654},
        {"requestId": finished.request.body["id"], "reason": "mcpgen"},
        {"reason": "no id"},
    )
    sent = [await session.notify("notifications/cancelled", params) for params in strays]
    alive = await session.request(harmless_request(probe))
    await asyncio.sleep(_SETTLE_SECONDS)
    answers = [
        frame
        for frame in session.connection.received[since:]
        if "error" in frame.body
        and frame.body.get("id") != alive.request.body["id"]
        and not (frame.http is not None and frame.http.status >= 400)
    ]
    return _Strays(sent[0].request, alive, answers)


async def check_races(probe: Probe) -> Outcome:
    """The server goes on after cancellations of finished and unknown requests."""
    found = await probe.once(_send_stray_cancellations)
    if found.alive.response is None:
        return fail("the server stopped answering after a stray cancellation", found.alive.frames)
    return succeed()


async def check_stray_cancellations(probe: Probe) -> Outcome:
    """Cancellations of unknown or finished requests and malformed ones are ignored."""
    found = await probe.once(_send_stray_cancellations)
    if found.answers:
        return fail("a stray cancellation was answered", [found.sent, found.answers[0]])
    return succeed()


async def check_cancelled_call(probe: Probe) -> Outcome:
    """A call that is cancelled while it runs gets no response.

    A call may be fast the second time, and a result may cross the cancellation. So a result counts
    only if the server answered a request in between, which it received after the cancellation.
    """
    calls = await probe.once(call_tools)
    slow = [it for it in calls.made if it.is_complete and it.seconds >= _SLOW_SECONDS]
    if not probe.tools:
        return skip("the server lists no tool")
    if not slow:
        return leave_untested(explain_no_slow_call(probe, calls, "be cancelled"))
    call = max(slow, key=lambda it: it.seconds)
    session = await probe.get_session()
    pending = await session.start("tools/call", call.params)
    await asyncio.sleep(call.seconds * 0.2)
    request_id = pending.request.body["id"]
    cancel = await session.notify("notifications/cancelled", {"requestId": request_id})
    later = await session.request(harmless_request(probe))
    response = await pending.response(min(call.seconds * 3 + 1, _LONGEST_WAIT))
    if response is None:
        return succeed()
    latest = cancel.request if "error" in response.body else later.response
    if latest is None or response.seconds < latest.seconds:
        return leave_untested(f"the call of `{call.name}` ended before it could be cancelled")
    return fail(
        f"the cancelled call of `{call.name}` was answered",
        [pending.request, cancel.request, *later.frames, response],
    )


def check_own_cancellations(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """The server cancels only requests that it sent itself, or subscriptions."""
    sent: set[tuple[int, str]] = set()

    def check(frame: Frame, message: JsonObject) -> str | None:
        if "method" in message and "id" in message:
            sent.add((frame.connection, repr(message["id"])))
        if message.get("method") != "notifications/cancelled":
            return None
        params = message.get("params")
        request_id = params.get("requestId") if isinstance(params, dict) else None
        if probe.is_modern:
            allowed = {
                (it.connection, repr(it.body.get("id")))
                for it in probe.frames
                if not it.is_received and it.method == "subscriptions/listen"
            }
        else:
            allowed = sent
        is_own = (frame.connection, repr(request_id)) in allowed
        return "" if is_own else f"the server cancelled {request_id!r}, which it did not request"

    return check_each(frames, check, "the server cancelled nothing")


# Progress


def _token_of(message: JsonObject) -> Any:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get("progressToken") if isinstance(meta, dict) else None


def find_tokens(probe: Probe) -> dict[tuple[int, str], Frame]:
    """Return the request of each progress token, by connection."""
    return {
        (frame.connection, repr(_token_of(message))): frame
        for frame in probe.frames
        if not frame.is_received
        for message in iterate_messages(frame)
        if _token_of(message) is not None
    }


def check_progress_tokens(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Progress has the token of a request, unchanged."""
    tokens = find_tokens(probe)

    def check(frame: Frame, message: JsonObject) -> str | None:
        if message.get("method") != "notifications/progress":
            return None
        params = message.get("params")
        token = params.get("progressToken") if isinstance(params, dict) else None
        is_known = (frame.connection, repr(token)) in tokens
        return "" if is_known else f"progress has the token {token!r}, which no request has"

    return check_each(frames, check, "the server sent no progress")


def check_progress_increases(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """The progress of a request increases with each notification."""
    latest: dict[tuple[int, str], float] = {}

    def check(frame: Frame, message: JsonObject) -> str | None:
        params = message.get("params")
        if message.get("method") != "notifications/progress" or not isinstance(params, dict):
            return None
        key = (frame.connection, repr(params.get("progressToken")))
        value = params.get("progress")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        before = latest.get(key)
        latest[key] = value
        if before is not None and value <= before:
            return f"progress went from {before:g} to {value:g}"
        return ""

    return check_each(frames, check, "the server sent no progress")


def check_progress_stops(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """There is no progress after the response."""
    tokens = find_tokens(probe)
    finished = {
        (frame.connection, repr(_token_of(frame.request.body))): frame.seconds
        for frame in frames
        if frame.is_response and frame.request is not None
    }

    def check(frame: Frame, message: JsonObject) -> str | None:
        params = message.get("params")
        if message.get("method") != "notifications/progress" or not isinstance(params, dict):
            return None
        key = (frame.connection, repr(params.get("progressToken")))
        if key not in tokens:
            return None
        is_late = key in finished and frame.seconds > finished[key]
        return "progress arrived after the response" if is_late else ""

    return check_each(frames, check, "the server sent no progress")


# Logging


def check_logging_declared(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """A server that sends log messages declares `logging`."""

    def check(_frame: Frame, message: JsonObject) -> str | None:
        if message.get("method") != "notifications/message":
            return None
        return "" if probe.declares("logging") else "log messages are sent without `logging`"

    return check_each(frames, check, "the server sent no log message")


async def check_set_level(probe: Probe) -> Outcome:
    """`logging/setLevel` answers with a result."""
    reply = await probe.request("logging/setLevel", {"level": "warning"})
    if reply.result is None:
        return fail(f"`logging/setLevel` was answered with {describe_reply(reply)}", reply.frames)
    return succeed()


async def check_invalid_level(probe: Probe) -> Outcome:
    """A level that does not exist gets the error -32602."""
    if probe.is_modern:
        reply: Reply = await probe.request("tools/list", meta={_LOG_LEVEL: "loud"})
    else:
        reply = await probe.request("logging/setLevel", {"level": "loud"})
    if reply.code != INVALID_PARAMS:
        return fail(
            f"an unknown level was answered with {describe_reply(reply)},"
            " expected the error -32602",
            reply.frames,
        )
    return succeed()


async def call_tools_with_log_level(probe: Probe) -> None:
    """Call two read-only tools again as a client that requests log messages.

    If logging is declared, the level is one that few messages have; else it is the lowest.
    """
    if not probe.is_modern:
        return
    session = await probe.get_session()
    level = "critical" if probe.declares("logging") else "debug"
    for call in (await probe.once(call_tools)).made[:2]:
        params = call.params
        await session.request("tools/call", params, meta={_LOG_LEVEL: level})


def check_requested_logs(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Log messages are sent only for requests that ask for them, at their level or above."""
    ended = {id(frame.request): frame.seconds for frame in frames if frame.is_response}
    asking = [
        (frame, _LEVELS.index(level))
        for frame in probe.frames
        if not frame.is_received and (level := _log_level_of(frame.body)) in _LEVELS
    ]

    def check(frame: Frame, message: JsonObject) -> str | None:
        if message.get("method") != "notifications/message":
            return "" if "result" in message else None
        params = message.get("params")
        level = params.get("level") if isinstance(params, dict) else None
        if level not in _LEVELS:
            return None  # a matter of its schema
        open_levels = [
            lowest
            for request, lowest in asking
            if request.connection == frame.connection
            and request.seconds <= frame.seconds <= ended.get(id(request), frame.seconds)
        ]
        is_wanted = any(_LEVELS.index(level) >= lowest for lowest in open_levels)
        return "" if is_wanted else f"a log message of the level {level!r} was not asked for"

    return check_each(frames, check, "the server sent no message")


def _log_level_of(message: JsonObject) -> Any:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(_LOG_LEVEL) if isinstance(meta, dict) else None


ACTIVE: Mapping[str, ActiveCheck] = {
    "cancellation-races": check_races,
    "stray-cancellations-ignored": check_stray_cancellations,
    "cancelled-call-unanswered": check_cancelled_call,
    "cancelled-call-unanswered-modern": check_cancelled_call,
    "set-level": check_set_level,
    "log-level-code": check_invalid_level,
}
PASSIVE: Mapping[str, PassiveCheck] = {
    "own-cancellations": check_own_cancellations,
    "progress-tokens": check_progress_tokens,
    "progress-increases": check_progress_increases,
    "progress-stops": check_progress_stops,
    "logging-declared": check_logging_declared,
    "logs-requested": check_requested_logs,
}
