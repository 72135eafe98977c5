"""Checks of resources: their list, their contents, and resources that do not exist."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

from mcpgen.factory.validate.checks.exchange import INVALID_PARAMS, describe_reply
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.tools import (
    check_list_capability,
    check_same_items,
    list_frames,
)
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import (
    Outcome,
    cannot_decide,
    fail,
    skip,
    succeed,
)
from mcpgen.factory.wire.session import Reply

_MAX_READ: Final = 4
_NOT_FOUND: Final = -32002
_MISSING_URI: Final = "mcpgen-validate://no/such/resource"
_INVALID_URI: Final = "not a uri"
# RFC 3986, section 3: a scheme and characters that a URI may have, without brackets outside hosts.
_URI: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=\[\]-]|%[0-9A-Fa-f]{2})*\Z"
)
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:\s*;.*)?\Z")


def is_base64(text: Any) -> bool:
    """Whether a value is base64 (RFC 4648, section 4), line breaks excluded."""
    if not isinstance(text, str):
        return False
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def is_media_type(text: Any) -> bool:
    """Whether a value is a media type such as "image/png"."""
    return isinstance(text, str) and _MEDIA_TYPE.match(text) is not None


def is_uri(text: Any) -> bool:
    """Whether a value is a URI with a scheme (RFC 3986)."""
    return isinstance(text, str) and _URI.match(text) is not None


async def check_capability(probe: Probe) -> Outcome:
    """The server answers `resources/list` exactly if it declares `resources`."""
    return await check_list_capability(probe, "resources", "resources/list", "resources")


async def _read_resources(probe: Probe) -> list[tuple[str, Reply]]:
    uris = [it["uri"] for it in probe.resources if isinstance(it.get("uri"), str)]
    return [(uri, await probe.request("resources/read", {"uri": uri})) for uri in uris[:_MAX_READ]]


async def check_readable(probe: Probe) -> Outcome:
    """Listed resources can be read."""
    read = await probe.once(_read_resources)
    if not read:
        return skip("the server lists no resource")
    for uri, reply in read:
        if reply.response is None or reply.code == -32601:
            return fail(
                f"the listed resource `{uri}` was answered with {describe_reply(reply)}",
                reply.frames,
            )
    refused = [reply for _, reply in read if reply.result is None]
    if len(refused) == len(read):
        return cannot_decide("no listed resource could be read", refused[0].frames)
    return succeed()


async def check_contents(probe: Probe) -> Outcome:
    """Binary contents of resources are base64."""
    seen = 0
    for uri, reply in await probe.once(_read_resources):
        contents = (reply.result or {}).get("contents")
        for item in contents if isinstance(contents, list) else []:
            if isinstance(item, dict) and "blob" in item:
                seen += 1
                if not is_base64(item["blob"]):
                    return fail(f"the `blob` of `{uri}` is not base64", reply.frames)
    return succeed() if seen else skip("no resource that was read is binary")


async def check_uris(probe: Probe) -> Outcome:
    """URIs of listed resources follow RFC 3986."""
    wrong = [it.get("uri") for it in probe.resources if not is_uri(it.get("uri"))]
    if wrong:
        return fail(
            f"`{wrong[0]}` of a listed resource is not a URI", list_frames(probe, "resources/list")
        )
    return succeed() if probe.resources else skip("the server lists no resource")


async def _read_missing(probe: Probe) -> Reply:
    return await probe.request("resources/read", {"uri": _MISSING_URI})


async def check_missing(probe: Probe) -> Outcome:
    """A resource that does not exist gets the error -32002 (until 2025-11-25)."""
    return await _check_missing(probe, _NOT_FOUND)


async def check_missing_modern(probe: Probe) -> Outcome:
    """A resource that does not exist gets the error -32602 (2026-07-28)."""
    return await _check_missing(probe, INVALID_PARAMS)


async def _check_missing(probe: Probe, code: int) -> Outcome:
    reply = await probe.once(_read_missing)
    if reply.code != code:
        return fail(
            f"a resource that does not exist was answered with {describe_reply(reply)},"
            f" expected the error {code}",
            reply.frames,
        )
    return succeed()


async def check_missing_not_empty(probe: Probe) -> Outcome:
    """A resource that does not exist is not answered with empty contents."""
    reply = await probe.once(_read_missing)
    if reply.result is not None and reply.result.get("contents") == []:
        return fail("a resource that does not exist has empty contents", reply.frames)
    return succeed()


async def check_uris_validated(probe: Probe) -> Outcome:
    """Reading what is not a URI fails."""
    reply = await probe.request("resources/read", {"uri": _INVALID_URI})
    contents = (reply.result or {}).get("contents")
    if isinstance(contents, list) and contents:
        return fail(f"`{_INVALID_URI}` was read as a resource", reply.frames)
    if reply.response is None:
        return fail(f"reading `{_INVALID_URI}` was not answered", reply.frames)
    return succeed()


async def check_same_set(probe: Probe) -> Outcome:
    """The set of resources does not depend on the connection."""
    return await check_same_items(probe, "resources", probe.resources, key="uri")


ACTIVE: Mapping[str, ActiveCheck] = {
    "resources-capability": check_capability,
    "resources-readable": check_readable,
    "resource-contents": check_contents,
    "resource-uris": check_uris,
    "resource-uris-validated": check_uris_validated,
    "resource-not-found-code": check_missing,
    "resource-not-found-code-modern": check_missing_modern,
    "missing-resource-not-empty": check_missing_not_empty,
    "resources-same-everywhere": check_same_set,
}
PASSIVE: Mapping[str, PassiveCheck] = {}
