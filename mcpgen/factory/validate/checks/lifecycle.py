"""Checks of the handshake of revisions before 2026-07-28, and of ping."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcpgen.factory.validate.checks.exchange import describe_reply
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.messages import check_each, describe_message
from mcpgen.factory.validate.negotiation import carries
from mcpgen.factory.validate.probe import START_SECONDS, Probe
from mcpgen.factory.validate.verdicts import Outcome, cannot_decide, fail, skip, succeed
from mcpgen.factory.wire.frames import Frame
from mcpgen.factory.wire.session import LEGACY_REVISIONS, Reply
from mcpgen.jsonschema.types import JsonObject

_UNKNOWN_VERSION: Final = "2099-12-31"
_SETTLE_SECONDS: Final = 0.5
_EVERYTHING: Final[JsonObject] = {"roots": {}, "sampling": {}, "elicitation": {}}
_CAPABILITY_OF: Final[Mapping[str, str]] = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}
_CAPABILITY_OF_NOTIFICATION: Final[Mapping[str, str]] = {
    "notifications/prompts/list_changed": "prompts.listChanged",
    "notifications/resources/list_changed": "resources.listChanged",
    "notifications/resources/updated": "resources.subscribe",
    "notifications/tools/list_changed": "tools.listChanged",
}


async def check_initialize(probe: Probe) -> Outcome:
    """`initialize` is answered with the version, the capabilities and the server's name."""
    reply = probe.handshake
    if reply is None or reply.result is None:
        frames = reply.frames if reply else []
        return fail("`initialize` was not answered with a result", frames)
    result = reply.result
    info = result.get("serverInfo")
    if not isinstance(result.get("protocolVersion"), str):
        return fail("the result of `initialize` has no `protocolVersion`", reply.frames)
    if not isinstance(result.get("capabilities"), dict):
        return fail("the result of `initialize` has no `capabilities`", reply.frames)
    if not isinstance(info, dict):
        return fail("the result of `initialize` has no `serverInfo`", reply.frames)
    missing = [key for key in ("name", "version") if not isinstance(info.get(key), str)]
    if missing:
        return fail(f"`serverInfo` has no `{missing[0]}`", reply.frames)
    return succeed()


async def check_version_echo(probe: Probe) -> Outcome:
    """The server answers with the requested version, which it supports."""
    reply = probe.handshake
    version = (reply.result or {}).get("protocolVersion") if reply else None
    if reply is None or version != probe.revision:
        return fail(
            f"{probe.revision} was requested and answered with {version!r}",
            reply.frames if reply else [],
        )
    return succeed()


@dataclass(frozen=True, slots=True)
class _Opening:
    """A handshake with an unknown version that the client never completes."""

    reply: Reply
    early: list[Frame]  # requests of the server


async def _open_with_unknown_version(probe: Probe) -> _Opening:
    async with probe.fresh(opens=False, capabilities=_EVERYTHING) as session:
        reply = await session.request(
            "initialize",
            session.initialize_params(_UNKNOWN_VERSION),
            timeout_seconds=START_SECONDS,
        )
        await asyncio.sleep(_SETTLE_SECONDS)
        received = list(session.connection.received)
    return _Opening(reply, [it for it in received if "id" in it.body and it.method])


async def check_version_fallback(probe: Probe) -> Outcome:
    """An unknown version is answered with one that the server supports."""
    reply = (await probe.once(_open_with_unknown_version)).reply
    if reply.error is not None:
        # The page that requires another version also shows such an error as an example.
        data = reply.error.get("data")
        if reply.code == -32602 or (isinstance(data, dict) and "supported" in data):
            return cannot_decide("an unknown version was refused with an error", reply.frames)
        return fail(f"an unknown version was refused with the error {reply.code}", reply.frames)
    version = (reply.result or {}).get("protocolVersion")
    if version == _UNKNOWN_VERSION:
        return fail(f"the server claims to support the unknown version {version}", reply.frames)
    if not isinstance(version, str):
        return fail(f"an unknown version was answered with {describe_reply(reply)}", reply.frames)
    if carries(probe.transport, version) and version not in probe.known.supported:
        return fail(f"the server offers {version}, which it does not support", reply.frames)
    return succeed()


async def check_fallback_is_latest(probe: Probe) -> Outcome:
    """An unknown version is answered with the latest that the server supports."""
    reply = (await probe.once(_open_with_unknown_version)).reply
    version = (reply.result or {}).get("protocolVersion")
    if version not in LEGACY_REVISIONS or version not in probe.known.supported:
        return cannot_decide("the server offered no version that could be compared", reply.frames)
    latest = max(it for it in probe.known.supported if it in LEGACY_REVISIONS)
    if version != latest:
        return fail(f"the server offers {version} and supports {latest}", reply.frames)
    return succeed()


async def check_no_early_requests(probe: Probe) -> Outcome:
    """The server sends no request but `ping` before `notifications/initialized`."""
    opening = await probe.once(_open_with_unknown_version)
    for frame in opening.early:
        if frame.method != "ping":
            return fail(
                f"`{frame.method}` was sent before `notifications/initialized`",
                [*opening.reply.frames, frame],
            )
    return succeed()


def check_client_capabilities(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """The server asks only for what the client declared, and notifies of what it declared."""
    declared: dict[int, JsonObject] = {}
    for frame in probe.frames:
        if not frame.is_received and frame.method == "initialize":
            params = frame.body.get("params", {})
            declared[frame.connection] = params.get("capabilities", {})

    def check(frame: Frame, message: JsonObject) -> str | None:
        method = str(message.get("method"))
        own = _CAPABILITY_OF_NOTIFICATION.get(method)
        if own is not None and not probe.declares(own):
            return f"`{method}` was sent, and the server does not declare `{own}`"
        needed = _CAPABILITY_OF.get(method)
        if needed is None:
            return "" if "result" in message else None
        if needed in declared.get(frame.connection, {}):
            return ""
        return f"{describe_message(frame, message)} needs `{needed}`, which was not declared"

    return check_each(frames, check, "the server sent no message")


async def check_ping(probe: Probe) -> Outcome:
    """`ping` is answered with an empty result."""
    reply = await probe.request("ping")
    if reply.result is None:
        return fail(f"`ping` was answered with {describe_reply(reply)}", reply.frames)
    extra = reply.result.keys() - {"_meta"}
    if extra:
        return fail(f"the result of `ping` has members: {', '.join(sorted(extra))}", reply.frames)
    return succeed()


async def check_subscriptions(probe: Probe) -> Outcome:
    """`resources/subscribe` and `resources/unsubscribe` answer with a result."""
    uris = [it["uri"] for it in probe.resources if isinstance(it.get("uri"), str)]
    if not uris:
        return skip("the server lists no resource")
    for method in ("resources/subscribe", "resources/unsubscribe"):
        reply = await probe.request(method, {"uri": uris[0]})
        if reply.code == -32601 or reply.response is None:
            return fail(f"`{method}` was answered with {describe_reply(reply)}", reply.frames)
        if reply.result is None:
            return cannot_decide(f"`{method}` was refused for a listed resource", reply.frames)
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {
    "initialize-result": check_initialize,
    "version-echoed": check_version_echo,
    "version-fallback": check_version_fallback,
    "version-fallback-latest": check_fallback_is_latest,
    "no-early-requests": check_no_early_requests,
    "ping-answered": check_ping,
    "resource-subscriptions": check_subscriptions,
}
PASSIVE: Mapping[str, PassiveCheck] = {
    "client-capabilities-respected": check_client_capabilities,
    "client-capabilities-respected-earlier": check_client_capabilities,
}
