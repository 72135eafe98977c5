"""Checks of the headers that repeat values of the body (2026-07-28)."""

from __future__ import annotations

import enum
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpgen.factory.validate.checks.calls import Call, call_tools
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.posts import describe_status, post
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import (
    Outcome,
    cannot_decide,
    fail,
    leave_untested,
    skip,
    succeed,
)
from mcpgen.factory.wire.http import find_parameter_headers
from mcpgen.factory.wire.session import Reply, Session
from mcpgen.jsonschema.types import JsonObject

_MISMATCH: Final = -32020
_UNSUPPORTED_VERSION: Final = -32022
_VERSION: Final = "MCP-Protocol-Version"
_METHOD: Final = "Mcp-Method"
_NAME: Final = "Mcp-Name"
_BAD_BASE64: Final = "=?base64?%%%?="
_EARLIER: Final = "2025-11-25"


class Fault(enum.Enum):
    """Faults of a header."""

    MISSING = enum.auto()
    OTHER = enum.auto()  # not the value of the body
    MALFORMED = enum.auto()
    CASE = enum.auto()  # the value of the body in other case


_NO_PARAMETERS: Final = "no tool that was called has an argument with `x-mcp-header`"


@dataclass(frozen=True, slots=True)
class _Request:
    """A request that the server accepts, and the value of its `Mcp-Name`."""

    method: str
    params: JsonObject
    name: str = ""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The reply to a request with wrong headers."""

    fault: Fault
    what: str
    reply: Reply


_DISCOVER: Final = _Request("server/discover", {})


async def _send(session: Session, request: _Request, changes: Mapping[str, str | None]) -> Reply:
    message = session.message(request.method, request.params, session.next_id())
    return await post(session, message, changes)


def _is_refused(reply: Reply) -> bool:
    return reply.result is None and (reply.status >= 400 or reply.error is not None)


async def _find_named_requests(probe: Probe) -> list[_Request]:
    """Return a request for each kind that needs `Mcp-Name` and that the server accepts."""
    found: list[_Request] = []
    calls = await probe.once(call_tools)
    complete = [it for it in calls.made if it.is_complete and not it.is_error]
    if complete:
        call = min(complete, key=lambda it: it.seconds)
        params = call.params
        found.append(_Request("tools/call", params, call.name))
    uris = [it["uri"] for it in probe.resources if isinstance(it.get("uri"), str)]
    candidates = [_Request("resources/read", {"uri": uri}, uri) for uri in uris[:1]]
    prompts = [it for it in probe.prompts if isinstance(it.get("name"), str)]
    simple = [it["name"] for it in prompts if not _has_required_arguments(it)]
    candidates += [_Request("prompts/get", {"name": name}, name) for name in simple[:1]]
    for request in candidates:
        reply = await probe.request(request.method, request.params)
        found += [request] if reply.result is not None else []
    return found


def _has_required_arguments(prompt: JsonObject) -> bool:
    arguments = prompt.get("arguments")
    return isinstance(arguments, list) and any(
        isinstance(it, dict) and it.get("required") for it in arguments
    )


async def _send_wrong_versions(probe: Probe) -> list[_Attempt]:
    session = await probe.get_session()
    other = f"with `{_VERSION}: {_EARLIER}` and another version in the body"
    return [
        _Attempt(
            Fault.MISSING,
            f"without `{_VERSION}`",
            await _send(session, _DISCOVER, {_VERSION: None}),
        ),
        _Attempt(Fault.OTHER, other, await _send(session, _DISCOVER, {_VERSION: _EARLIER})),
    ]


async def _send_wrong_methods(probe: Probe) -> list[_Attempt]:
    session = await probe.get_session()
    upper = _DISCOVER.method.upper()
    other = f"with `{_METHOD}: tools/list` and another method in the body"
    return [
        _Attempt(
            Fault.MISSING, f"without `{_METHOD}`", await _send(session, _DISCOVER, {_METHOD: None})
        ),
        _Attempt(Fault.OTHER, other, await _send(session, _DISCOVER, {_METHOD: "tools/list"})),
        _Attempt(
            Fault.CASE,
            f"with `{_METHOD}: {upper}`",
            await _send(session, _DISCOVER, {_METHOD: upper}),
        ),
    ]


async def _send_wrong_names(probe: Probe) -> list[_Attempt]:
    session = await probe.get_session()
    found: list[_Attempt] = []
    for request in await probe.once(_find_named_requests):
        values: list[tuple[Fault, str | None]] = [
            (Fault.MISSING, None),
            (Fault.OTHER, "mcpgen-other-name"),
            (Fault.MALFORMED, _BAD_BASE64),
        ]
        if request.name.isascii() and request.name.swapcase() != request.name:
            values.append((Fault.CASE, request.name.swapcase()))
        found += await _try_values(session, request, _NAME, values)
    return found


async def _try_values(
    session: Session, request: _Request, header: str, values: Sequence[tuple[Fault, str | None]]
) -> list[_Attempt]:
    found = []
    for fault, value in values:
        shown = f"without `{header}`" if value is None else f"with `{header}: {value}`"
        reply = await _send(session, request, {header: value})
        found.append(_Attempt(fault, f"for `{request.method}` {shown}", reply))
    return found


def _require_refusal(attempts: Sequence[_Attempt], *faults: Fault) -> Outcome:
    """Fail if a request with one of these faults was not refused."""
    chosen = [it for it in attempts if it.fault in faults]
    for it in chosen:
        if not _is_refused(it.reply):
            return fail(
                f"a request {it.what} was answered with {describe_status(it.reply)}",
                it.reply.frames,
            )
    if not chosen:
        return leave_untested("no read-only tool, resource or prompt could be requested")
    return succeed()


async def check_version_required(probe: Probe) -> Outcome:
    """A request without the version header is refused."""
    # A server of 2025-03-26 may read it as one of that revision, which has no `server/discover`.
    return _require_refusal(await probe.once(_send_wrong_versions), Fault.MISSING)


async def check_version_matches(probe: Probe) -> Outcome:
    """A version header unlike the body is refused."""
    return _require_refusal(await probe.once(_send_wrong_versions), Fault.OTHER)


async def check_method_required(probe: Probe) -> Outcome:
    """A request without `Mcp-Method` is refused."""
    return _require_refusal(await probe.once(_send_wrong_methods), Fault.MISSING)


async def check_method_matches(probe: Probe) -> Outcome:
    """A `Mcp-Method` unlike the body is refused."""
    return _require_refusal(await probe.once(_send_wrong_methods), Fault.OTHER)


async def check_name_required(probe: Probe) -> Outcome:
    """A request without `Mcp-Name` is refused."""
    return _require_refusal(await probe.once(_send_wrong_names), Fault.MISSING)


async def check_name_matches(probe: Probe) -> Outcome:
    """A `Mcp-Name` unlike the body is refused."""
    return _require_refusal(await probe.once(_send_wrong_names), Fault.OTHER, Fault.MALFORMED)


async def check_values_case(probe: Probe) -> Outcome:
    """Values of headers are compared with regard to case."""
    attempts = [*(await probe.once(_send_wrong_methods)), *(await probe.once(_send_wrong_names))]
    if any(it.fault == Fault.OTHER and not _is_refused(it.reply) for it in attempts):
        return cannot_decide("headers are not compared with the body at all")
    return _require_refusal(attempts, Fault.CASE)


async def check_refusal(probe: Probe) -> Outcome:
    """Wrong headers are refused with HTTP 400 and the error -32020."""
    versions = await probe.once(_send_wrong_versions)
    others: list[_Attempt] = []
    for experiment in (_send_wrong_methods, _send_wrong_names, _send_wrong_parameters):
        others += await probe.once(experiment)
    supported = probe.known.supported
    has_earlier = any(it < "2025-06-18" for it in supported)
    for it in (*versions, *others):
        if not _is_refused(it.reply):
            continue
        # It may be read as a request of 2025-03-26.
        if it in versions and it.fault == Fault.MISSING and has_earlier:
            continue
        # The rules of the version in the header may apply, or its refusal comes first.
        is_unsupported = it.reply.code == _UNSUPPORTED_VERSION
        if it in versions and it.fault == Fault.OTHER and (_EARLIER in supported or is_unsupported):
            continue
        if it.reply.status != 400 or it.reply.code != _MISMATCH:
            return fail(
                f"a request {it.what} was refused with {describe_status(it.reply)},"
                " expected HTTP 400 with the error -32020",
                it.reply.frames,
            )
    return succeed()


async def check_header_names(probe: Probe) -> Outcome:
    """Names of headers are read without regard to case."""
    session = await probe.get_session()
    message = session.message("server/discover", None, session.next_id())
    changes: dict[str, str | None] = {_METHOD: None, _VERSION: None}
    other_case = {_METHOD.lower(): "server/discover", _VERSION.upper(): session.revision}
    reply = await post(session, message, changes | other_case)
    if reply.result is None:
        return fail(
            f"headers in other case were answered with {describe_status(reply)}", reply.frames
        )
    return succeed()


async def check_name_decoded(probe: Probe) -> Outcome:
    """A `Mcp-Name` in base64 is decoded."""
    session = await probe.get_session()
    requests = await probe.once(_find_named_requests)
    for request in requests:
        encoded = b64encode(request.name.encode()).decode()
        reply = await _send(session, request, {_NAME: f"=?base64?{encoded}?="})
        if reply.code == _MISMATCH or (reply.result is None and reply.status == 400):
            return fail(
                f"a `{_NAME}` in base64 was answered with {describe_status(reply)}", reply.frames
            )
    if not requests:
        return leave_untested("no read-only tool, resource or prompt could be requested")
    return succeed()


@dataclass(frozen=True, slots=True)
class _Parameter:
    """An argument of a call that a header repeats."""

    call: Call
    header: str
    path: tuple[str, ...]
    value: Any

    def request(self, arguments: JsonObject | None = None) -> _Request:
        """Return the call, with other arguments if there are any."""
        chosen = self.call.arguments if arguments is None else arguments
        return _Request("tools/call", {"name": self.call.name, "arguments": chosen}, self.call.name)


async def _find_parameters(probe: Probe) -> list[_Parameter]:
    found = []
    for call in (await probe.once(call_tools)).made:
        if not call.is_complete or call.is_error:
            continue
        for header, path in find_parameter_headers(call.tool):
            value: Any = call.arguments
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if isinstance(value, str | int):
                found.append(_Parameter(call, header, path, value))
    return found


async def _send_wrong_parameters(probe: Probe) -> list[_Attempt]:
    session = await probe.get_session()
    found: list[_Attempt] = []
    for it in (await probe.once(_find_parameters))[:3]:
        other = "true" if it.value is False else "false" if it.value is True else "7919"
        values: list[tuple[Fault, str | None]] = [
            (Fault.MISSING, None),
            (Fault.OTHER, other),
            (Fault.MALFORMED, _BAD_BASE64),
        ]
        found += await _try_values(session, it.request(), it.header, values)
    return found


async def check_parameter_required(probe: Probe) -> Outcome:
    """A call without the header of an argument is refused."""
    if not await probe.once(_find_parameters):
        return skip(_NO_PARAMETERS)
    return _require_refusal(await probe.once(_send_wrong_parameters), Fault.MISSING)


async def check_parameter_matches(probe: Probe) -> Outcome:
    """A header unlike the argument is refused."""
    if not await probe.once(_find_parameters):
        return skip(_NO_PARAMETERS)
    return _require_refusal(await probe.once(_send_wrong_parameters), Fault.OTHER)


async def check_parameter_characters(probe: Probe) -> Outcome:
    """A header of an argument with invalid base64 is refused."""
    if not await probe.once(_find_parameters):
        return skip(_NO_PARAMETERS)
    attempts = await probe.once(_send_wrong_parameters)
    if any(it.fault == Fault.OTHER and not _is_refused(it.reply) for it in attempts):
        return cannot_decide("headers are not compared with arguments at all")
    return _require_refusal(attempts, Fault.MALFORMED)


async def check_parameter_absent(probe: Probe) -> Outcome:
    """No header is expected for an argument that is absent."""
    session = await probe.get_session()
    for it in await probe.once(_find_parameters):
        required = it.call.tool["inputSchema"].get("required") or []
        if len(it.path) != 1 or it.path[0] in required:
            continue
        arguments = {key: value for key, value in it.call.arguments.items() if key != it.path[0]}
        reply = await _send(session, it.request(arguments), {it.header: None})
        if reply.code == _MISMATCH:
            return fail(
                f"a call without the argument and without `{it.header}` was refused", reply.frames
            )
        return succeed()
    return skip("no tool that was called has an optional argument with `x-mcp-header`")


async def check_parameter_numbers(probe: Probe) -> Outcome:
    """Integers are compared as numbers."""
    session = await probe.get_session()
    for it in await probe.once(_find_parameters):
        if isinstance(it.value, int) and not isinstance(it.value, bool):
            reply = await _send(session, it.request(), {it.header: f"{it.value}.0"})
            if reply.code == _MISMATCH:
                return fail(f"`{it.header}: {it.value}.0` does not equal {it.value}", reply.frames)
            if reply.result is None:
                return cannot_decide(
                    f"the call was answered with {describe_status(reply)}", reply.frames
                )
            return succeed()
    return skip("no tool that was called has an integer with `x-mcp-header`")


ACTIVE: Mapping[str, ActiveCheck] = {
    "version-header-required": check_version_required,
    "version-header-matches": check_version_matches,
    "method-header-required": check_method_required,
    "method-header-matches": check_method_matches,
    "name-header-required": check_name_required,
    "name-header-matches": check_name_matches,
    "name-header-decoded": check_name_decoded,
    "header-names-any-case": check_header_names,
    "header-values-exact": check_values_case,
    "parameter-header-required": check_parameter_required,
    "parameter-header-matches": check_parameter_matches,
    "parameter-header-characters": check_parameter_characters,
    "parameter-header-absent": check_parameter_absent,
    "parameter-header-numbers": check_parameter_numbers,
    "header-refusal": check_refusal,
}
PASSIVE: Mapping[str, PassiveCheck] = {}
