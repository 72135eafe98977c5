"""Passive checks of every message of the server: JSON-RPC, schemas, result types, error codes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.schemas import find_violations
from mcpgen.factory.validate.verdicts import Outcome, fail, skip, succeed
from mcpgen.factory.wire.frames import Frame, iterate_messages
from mcpgen.factory.wire.session import META_PREFIX
from mcpgen.jsonschema.types import JsonObject

_MAX_SHOWN: Final = 3
_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_META_KEY: Final = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*/)?{_NAME}\Z")
_TRACE_PARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\Z")
_CODES_OF_MCP: Final = frozenset({-32020, -32021, -32022})
_CODES_OF_JSON_RPC: Final = frozenset({-32700, -32600, -32601, -32602, -32603})
_CODES_ABOUT_BODIES: Final = frozenset({-32601, -32602, -32021, -32022})
_RETIRED_CODES: Final = frozenset({-32002, -32042})

MessageCheck = Callable[[Frame, JsonObject], str | None]
"""Returns the fault of a message, "" if it has none, and None if the check does not apply."""


def check_each(frames: Sequence[Frame], check: MessageCheck, skip_reason: str) -> Outcome:
    """Check each message; `skip_reason` is the reason if the requirement applies to none."""
    wrong: dict[str, Frame] = {}
    concerned = False
    for frame in frames:
        for message in iterate_messages(frame):
            problem = check(frame, message)
            concerned = concerned or problem is not None
            if problem:
                wrong.setdefault(problem, frame)
    if wrong:
        return fail(_join(list(wrong)), _with_requests(list(wrong.values())[:_MAX_SHOWN]))
    return succeed() if concerned else skip(skip_reason)


def _join(problems: Sequence[str]) -> str:
    rest = len(problems) - _MAX_SHOWN
    more = f"; and {rest} more" if rest > 0 else ""
    return "; ".join(problems[:_MAX_SHOWN]) + more


def _with_requests(frames: Sequence[Frame]) -> list[Frame]:
    return [it for frame in frames for it in (frame.request, frame) if it is not None]


def describe_message(frame: Frame, message: JsonObject) -> str:
    """Name a message in a sentence: "the result of `tools/list`"."""
    if "method" in message:
        kind = "request" if "id" in message else "notification"
        return f"the {kind} `{message['method']}`"
    method = frame.request.method if frame.request is not None else ""
    kind = "error" if "error" in message else "result"
    return f"the {kind} of `{method}`" if method else f"an unrelated {kind}"


# JSON-RPC


def check_jsonrpc(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Every message is an object with `"jsonrpc": "2.0"`, a method, a result or an error."""
    for frame in frames:
        if frame.fault or (frame.http is not None and frame.message is None):
            continue
        allows_batch = probe.revision == "2025-03-26" and isinstance(frame.message, list)
        if not isinstance(frame.message, dict) and not allows_batch:
            return fail("a message is not a JSON object", [frame])
        if isinstance(frame.message, list) and not all(
            isinstance(item, dict) for item in frame.message
        ):
            return fail("a batch contains something that is not an object", [frame])

    def check(frame: Frame, message: JsonObject) -> str | None:
        if frame.http is not None and not message.keys() & {"jsonrpc", "id", "method", "result"}:
            return None  # the JSON body of an HTTP error is no message
        if message.get("jsonrpc") != "2.0":
            return f'{describe_message(frame, message)} has no `"jsonrpc": "2.0"`'
        if not message.keys() & {"method", "result", "error"}:
            return "a message is neither a request, a notification nor a response"
        return ""

    return check_each(frames, check, "the server sent no message")


def check_response_shape(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """A response has either a result or an error with an integer code and a message."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        if "method" in message or not message.keys() & {"result", "error"}:
            return None
        what = describe_message(frame, message)
        if "result" in message and "error" in message:
            return f"a response to `{frame.answered_method}` has both a result and an error"
        if "result" in message:
            is_object = isinstance(message["result"], dict)
            return "" if is_object else f"{what} is not an object"
        error = message["error"]
        if not isinstance(error, dict):
            return f"{what} is not an object"
        if not isinstance(error.get("code"), int) or isinstance(error.get("code"), bool):
            return f"{what} has no integer `code`"
        return "" if isinstance(error.get("message"), str) else f"{what} has no `message`"

    return check_each(frames, check, "the server sent no response")


def check_response_ids(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """A response has the id of a request that is not yet answered; only errors may have none."""
    answered: set[tuple[int, str, str]] = set()

    def check(frame: Frame, message: JsonObject) -> str | None:
        if "method" in message or not message.keys() & {"result", "error"}:
            return None
        request_id = message.get("id")
        if request_id is None:
            if "error" in message and _may_lack_id(frame, message):
                return ""
            return f"{describe_message(frame, message)} has no id"
        if frame.request is None:
            return f"a response has the id {request_id!r}, which no open request has"
        if not _answers(frame.request, request_id):
            sent = frame.request.body.get("id")
            return f"the id of a response is {request_id!r}, that of its request {sent!r}"
        key = (frame.connection, type(request_id).__name__, str(request_id))
        if key in answered:
            return f"the request {request_id!r} was answered twice"
        answered.add(key)
        return ""

    return check_each(frames, check, "the server sent no response")


def _may_lack_id(frame: Frame, message: JsonObject) -> bool:
    """Whether the server may not have read the message that an error is about.

    Over HTTP a request can be refused by its headers; some errors show that the body was read.
    """
    if frame.request is None or "id" not in frame.request.body:
        return True
    error = message["error"]
    code = error.get("code") if isinstance(error, dict) else None
    return frame.http is not None and code not in _CODES_ABOUT_BODIES


def _answers(request: Frame, request_id: Any) -> bool:
    """Whether an id, with its JSON type, is that of a request or of one in a batch."""
    return any(
        type(sent.get("id")) is type(request_id) and sent.get("id") == request_id
        for sent in iterate_messages(request)
    )


def check_null_id(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """An error about an unreadable message has no id, rather than null."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        if "error" not in message or "method" in message:
            return None
        if "id" in message and message["id"] is None:
            return f"{describe_message(frame, message)} has the id null"
        return "" if "id" not in message else None

    return check_each(frames, check, "every error of the server has an id")


def check_notifications(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Notifications of the server have no id."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        if not str(message.get("method", "")).startswith("notifications/"):
            return None
        return f"{describe_message(frame, message)} has an id" if "id" in message else ""

    return check_each(frames, check, "the server sent no notification")


def check_request_ids(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Requests of the server have string or integer ids, and use each once."""
    seen: set[tuple[int, str]] = set()

    def check(frame: Frame, message: JsonObject) -> str | None:
        if "method" not in message or "id" not in message:
            return None
        request_id = message["id"]
        if isinstance(request_id, bool) or not isinstance(request_id, str | int):
            return f"{describe_message(frame, message)} has the id {request_id!r}"
        key = (frame.connection, repr(request_id))
        if key in seen:
            return f"the id {request_id!r} was used for two requests"
        seen.add(key)
        return ""

    return check_each(frames, check, "the server sent no request")


def check_no_requests(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """The server sends no JSON-RPC requests (2026-07-28)."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        is_request = "method" in message and "id" in message
        return f"the server sent {describe_message(frame, message)}" if is_request else ""

    return check_each(frames, check, "the server sent no message")


def check_no_batches(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """The server sends one message at a time."""
    for frame in frames:
        if isinstance(frame.message, list):
            return fail("the server sent a batch", [frame])
    return succeed()


def check_encoding(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Every message is UTF-8."""
    for frame in frames:
        if frame.fault.startswith("not UTF-8"):
            return fail(f"a message is {frame.fault}", [frame])
    return succeed()


# Schemas and `_meta`


def check_schemas(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Every message has the structure that the schema of the revision prescribes."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        if not message.keys() & {"method", "result", "error"}:
            return None
        if not isinstance(message.get("method", ""), str):
            return "a method is not a string"
        problems = find_violations(frame, message)
        if not problems:
            return ""
        return f"{describe_message(frame, message)} is not valid: {problems[0]}"

    return check_each(frames, check, "the server sent no message")


def check_meta_keys(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Keys of `_meta` follow the grammar; trace context has the format of the W3C."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        found = None
        for meta in _iterate_meta(message):
            for key, value in meta.items():
                found = ""
                if not _META_KEY.match(key):
                    return f"`{key}` is not a valid key of `_meta`"
                if key == "traceparent" and not _TRACE_PARENT.match(str(value)):
                    return "`traceparent` does not have the format of the W3C"
        return found

    return check_each(frames, check, "the server sent no `_meta`")


def _iterate_meta(node: Any) -> Iterator[JsonObject]:
    """Yield each `_meta` of a message, but none inside data that the protocol does not describe."""
    if isinstance(node, list):
        for item in node:
            yield from _iterate_meta(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "_meta" and isinstance(value, dict):
                yield value
            elif key not in {
                "structuredContent",
                "inputSchema",
                "outputSchema",
                "data",
                "arguments",
            }:
                yield from _iterate_meta(value)


# 2026-07-28


def check_result_types(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Every result has a `resultType` that the protocol or a declared extension defines."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        result = message.get("result")
        if "method" in message or not isinstance(result, dict) or _is_legacy(frame):
            return None
        if "resultType" not in result:
            return f"{describe_message(frame, message)} has no `resultType`"
        kind = result["resultType"]
        is_known = kind in ("complete", "input_required")
        return "" if is_known else f"{describe_message(frame, message)} has the type {kind!r}"

    return check_each(frames, check, "the server sent no result")


def check_server_info(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Every result names the server in its `_meta`."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        result = message.get("result")
        if "method" in message or not isinstance(result, dict) or _is_legacy(frame):
            return None
        meta = result.get("_meta")
        has_info = isinstance(meta, dict) and f"{META_PREFIX}serverInfo" in meta
        what = describe_message(frame, message)
        return "" if has_info else f"{what} has no `{META_PREFIX}serverInfo` in `_meta`"

    return check_each(frames, check, "the server sent no result")


def check_error_codes(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Errors use no retired code, and no reserved code that MCP does not define."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        code = _code_of(frame, message)
        if code is None:
            return None
        if code in _RETIRED_CODES:
            return f"{describe_message(frame, message)} has the code {code} of earlier revisions"
        is_reserved = -32099 <= code <= -32020 and code not in _CODES_OF_MCP
        return (
            f"{describe_message(frame, message)} has the reserved code {code}"
            if is_reserved
            else ""
        )

    return check_each(frames, check, "the server sent no error")


def check_own_codes(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Codes that the server defines itself are outside the reserved range."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        code = _code_of(frame, message)
        if code is None or -32019 <= code <= -32000:
            return None  # whether an implementation may keep its code there depends on its age
        is_defined = code in _CODES_OF_JSON_RPC or code in _CODES_OF_MCP or code in _RETIRED_CODES
        if is_defined or not -32768 <= code <= -32000 or -32099 <= code <= -32020:
            return ""
        return f"{describe_message(frame, message)} has the code {code} of the reserved range"

    return check_each(frames, check, "the server sent no error")


def _code_of(frame: Frame, message: JsonObject) -> int | None:
    error = message.get("error")
    if "method" in message or not isinstance(error, dict) or _is_legacy(frame):
        return None
    code = error.get("code")
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _is_legacy(frame: Frame) -> bool:
    """Whether a frame answers a request of an earlier revision, as in checks of both eras."""
    return frame.request is not None and frame.request.method == "initialize"


ACTIVE: Mapping[str, ActiveCheck] = {}
PASSIVE: Mapping[str, PassiveCheck] = {
    "jsonrpc-2.0": check_jsonrpc,
    "response-shape": check_response_shape,
    "response-ids": check_response_ids,
    "no-null-id": check_null_id,
    "notifications-without-id": check_notifications,
    "server-request-ids": check_request_ids,
    "no-server-requests": check_no_requests,
    "no-batches-sent": check_no_batches,
    "utf-8": check_encoding,
    "frame-schema": check_schemas,
    "meta-keys": check_meta_keys,
    "result-type": check_result_types,
    "server-info": check_server_info,
    "error-codes": check_error_codes,
    "own-error-codes": check_own_codes,
}
