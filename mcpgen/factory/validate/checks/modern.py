"""Checks of 2026-07-28: `_meta` of requests, versions, `server/discover`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mcpgen.factory.validate.checks.exchange import INVALID_PARAMS, describe_reply
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import Outcome, cannot_decide, fail, skip, succeed
from mcpgen.factory.wire.http import HttpConnection
from mcpgen.factory.wire.session import LEGACY_REVISIONS, META_PREFIX, MODERN, Reply, Session
from mcpgen.jsonschema.types import JsonObject

_VERSION: Final = f"{META_PREFIX}protocolVersion"
_CAPABILITIES: Final = f"{META_PREFIX}clientCapabilities"
_CLIENT_INFO: Final = f"{META_PREFIX}clientInfo"
# Sent where another member is wrong, so that a server which requires it refuses nothing else.
NAMED: Final[JsonObject] = {_CLIENT_INFO: {"name": "mcpgen-validate", "version": "1"}}
_UNSUPPORTED_VERSION: Final = -32022
_UNKNOWN_VERSION: Final = "2099-12-31"
_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_EXTENSION_ID: Final = re.compile(
    rf"{_LABEL}(?:\.{_LABEL})*/(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?\Z"
)


async def send_with_meta(session: Session, method: str, meta: JsonObject) -> Reply:
    """Send a request with exactly this `_meta`; HTTP headers name the revision as usual."""
    message = {
        "jsonrpc": "2.0",
        "id": session.next_id(),
        "method": method,
        "params": {"_meta": meta},
    }
    headers = None
    if isinstance(session.connection, HttpConnection):
        version = str(meta.get(_VERSION, MODERN))
        headers = {
            **session.connection.standard_headers(),
            "MCP-Protocol-Version": version,
            "Mcp-Method": method,
        }
    return await session.send_raw(message, headers=headers)


def _full_meta() -> JsonObject:
    return {_VERSION: MODERN, _CAPABILITIES: {}}


async def check_meta_required(probe: Probe) -> Outcome:
    """A request without `clientCapabilities` is refused, whatever came before on the connection."""
    session = await probe.get_session()
    await session.request("server/discover")
    reply = await send_with_meta(session, "server/discover", {_VERSION: MODERN, **NAMED})
    if reply.code != INVALID_PARAMS:
        return fail(
            f"a request without `{_CAPABILITIES}` was answered with {describe_reply(reply)},"
            " expected the error -32602",
            reply.frames,
        )
    return succeed()


async def check_version_in_meta_required(probe: Probe) -> Outcome:
    """A request without `protocolVersion` is refused."""
    meta = {_CAPABILITIES: {}, **NAMED}
    reply = await send_with_meta(await probe.get_session(), "server/discover", meta)
    if reply.code == INVALID_PARAMS:
        return succeed()
    if reply.result is not None:
        return fail(f"a request without `{_VERSION}` was answered with a result", reply.frames)
    if any(revision in probe.known.supported for revision in LEGACY_REVISIONS):
        return cannot_decide(
            "the server may read a request without a version as one of an earlier revision",
            reply.frames,
        )
    return fail(
        f"a request without `{_VERSION}` was answered with {describe_reply(reply)},"
        " expected the error -32602",
        reply.frames,
    )


async def check_client_info_optional(probe: Probe) -> Outcome:
    """A request without `clientInfo` is served."""
    reply = await send_with_meta(await probe.get_session(), "server/discover", _full_meta())
    if reply.result is None:
        return fail(
            f"a request without `{_CLIENT_INFO}` was answered with {describe_reply(reply)}",
            reply.frames,
        )
    return succeed()


async def check_client_info_ignored(probe: Probe) -> Outcome:
    """The answer does not depend on the name of the client."""
    session = await probe.get_session()
    replies = []
    for name in ("claude-ai", "mcpgen-other-client"):
        meta = {**_full_meta(), _CLIENT_INFO: {"name": name, "version": "1.0"}}
        replies.append(await send_with_meta(session, "server/discover", meta))
    first, second = (reply.result for reply in replies)
    if first is None or second is None:
        return cannot_decide("`server/discover` was refused", replies[0].frames)
    if first.get("capabilities") != second.get("capabilities"):
        frames = [frame for reply in replies for frame in reply.frames]
        return fail("the capabilities depend on the name of the client", frames)
    return succeed()


async def check_unsupported_version(probe: Probe) -> Outcome:
    """A request of an unknown version gets the error -32022 with the supported versions."""
    meta = {_VERSION: _UNKNOWN_VERSION, _CAPABILITIES: {}, **NAMED}
    reply = await send_with_meta(await probe.get_session(), "server/discover", meta)
    if reply.code != _UNSUPPORTED_VERSION:
        return fail(
            f"an unknown version was answered with {describe_reply(reply)},"
            " expected the error -32022",
            reply.frames,
        )
    data = (reply.error or {}).get("data")
    if not isinstance(data, dict) or MODERN not in _texts(data.get("supported")):
        return fail("the error -32022 does not name the supported versions", reply.frames)
    if data.get("requested") != _UNKNOWN_VERSION:
        return fail("the error -32022 does not name the requested version", reply.frames)
    return succeed()


async def check_discover(probe: Probe) -> Outcome:
    """`server/discover` answers with versions, capabilities and how long they may be cached."""
    reply = probe.handshake
    if reply is None or reply.result is None:
        frames = reply.frames if reply else []
        return fail("`server/discover` was not answered with a result", frames)
    if MODERN not in _texts(reply.result.get("supportedVersions")):
        return fail(f"`supportedVersions` does not contain {MODERN}", reply.frames)
    if not isinstance(reply.result.get("capabilities"), dict):
        return fail("the result of `server/discover` has no `capabilities`", reply.frames)
    return succeed()


async def check_extension_ids(probe: Probe) -> Outcome:
    """Names of extensions have a prefix and follow the grammar of `_meta` keys."""
    extensions = probe.capabilities.get("extensions")
    if not isinstance(extensions, dict) or not extensions:
        return skip("the server declares no extension")
    wrong = [name for name in extensions if not _EXTENSION_ID.match(name)]
    if wrong:
        frames = probe.handshake.frames if probe.handshake else []
        return fail(f"`{wrong[0]}` is not a valid name of an extension", frames)
    return succeed()


async def check_initialize_names_versions(probe: Probe) -> Outcome:
    """A server without earlier revisions names its versions in the error to `initialize`."""
    if any(revision in probe.known.supported for revision in LEGACY_REVISIONS):
        return skip("the server also supports earlier revisions")
    reply = await _initialize(await probe.get_session())
    if reply.error is None:
        return cannot_decide(
            f"`initialize` was answered with {describe_reply(reply)}", reply.frames
        )
    if MODERN not in str(reply.error):
        return fail(f"the error to `initialize` does not name {MODERN}", reply.frames)
    return succeed()


async def _initialize(session: Session, version: str = LEGACY_REVISIONS[-1]) -> Reply:
    message = {
        "jsonrpc": "2.0",
        "id": session.next_id(),
        "method": "initialize",
        "params": session.initialize_params(version),
    }
    return await session.send_raw(message)


def _texts(value: Any) -> list[str]:
    return [it for it in value if isinstance(it, str)] if isinstance(value, list) else []


ACTIVE: Mapping[str, ActiveCheck] = {
    "meta-required": check_meta_required,
    "meta-version-required": check_version_in_meta_required,
    "client-info-optional": check_client_info_optional,
    "client-info-ignored": check_client_info_ignored,
    "unsupported-version": check_unsupported_version,
    "discover-result": check_discover,
    "extension-names": check_extension_ids,
    "initialize-names-versions": check_initialize_names_versions,
}
PASSIVE: Mapping[str, PassiveCheck] = {}
