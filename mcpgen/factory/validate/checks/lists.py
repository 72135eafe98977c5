"""Checks of pagination and of cache hints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mcpgen.factory.validate.checks.exchange import INVALID_PARAMS, describe_reply
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.messages import check_each, describe_message
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import Outcome, fail, skip, succeed
from mcpgen.factory.wire.frames import Frame
from mcpgen.jsonschema.types import JsonObject

_INVALID_CURSOR: Final = "mcpgen-no-such-cursor"
_CACHEABLE: Final = frozenset(
    {
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "server/discover",
        "tools/list",
    }
)
_SCOPES: Final = frozenset({"public", "private"})


async def check_invalid_cursor(probe: Probe) -> Outcome:
    """A cursor that the server did not issue gets the error -32602."""
    methods = [method for method, replies in probe.lists.items() if replies[0].result is not None]
    if not methods:
        return skip("the server has no lists")
    reply = await probe.request(methods[0], {"cursor": _INVALID_CURSOR})
    if reply.code != INVALID_PARAMS:
        return fail(
            f"`{methods[0]}` with an invalid cursor was answered with {describe_reply(reply)},"
            " expected the error -32602",
            reply.frames,
        )
    return succeed()


async def check_stable_cursors(probe: Probe) -> Outcome:
    """A cursor leads to the same page again, and the pages come to an end."""
    paged = [(it, replies) for it, replies in probe.lists.items() if len(replies) > 1]
    if not paged:
        return skip("no list has a second page")
    for method, replies in paged:
        last = replies[-1].result or {}
        if isinstance(last.get("nextCursor"), str):
            return fail(f"the pages of `{method}` do not end", replies[-1].frames)
        cursor = (replies[0].result or {})["nextCursor"]
        again = await probe.request(method, {"cursor": cursor})
        if _items(again.result) != _items(replies[1].result):
            return fail(
                f"a cursor of `{method}` led to another page the second time",
                [*replies[1].frames, *again.frames],
            )
    return succeed()


def _items(result: JsonObject | None) -> JsonObject:
    """Return a page without what may change: its cursor, its hints and its metadata."""
    return {
        key: value
        for key, value in (result or {}).items()
        if key not in ("nextCursor", "_meta", "ttlMs", "cacheScope")
    }


def check_cache_hints(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Complete results that may be cached say for how long and by whom; `input_required` do not."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        result = message.get("result")
        if not isinstance(result, dict) or frame.answered_method not in _CACHEABLE:
            return None
        what = describe_message(frame, message)
        if result.get("resultType") == "input_required":
            hints = result.keys() & {"ttlMs", "cacheScope"}
            return f"{what} asks for input and has cache hints" if hints else ""
        ttl = result.get("ttlMs")
        if not isinstance(ttl, int) or isinstance(ttl, bool) or ttl < 0:
            return f"{what} has no valid `ttlMs`"
        return "" if result.get("cacheScope") in _SCOPES else f"{what} has no valid `cacheScope`"

    return check_each(frames, check, "the server sent no result that may be cached")


async def check_cache_scopes(probe: Probe) -> Outcome:
    """All pages of a list have the same `cacheScope`."""
    paged = [(it, replies) for it, replies in probe.lists.items() if len(replies) > 1]
    if not paged:
        return skip("no list has a second page")
    for method, replies in paged:
        scopes = {str((reply.result or {}).get("cacheScope")) for reply in replies}
        if len(scopes) > 1:
            frames = [frame for reply in replies[:2] for frame in reply.frames]
            return fail(f"pages of `{method}` have different values of `cacheScope`", frames)
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {
    "invalid-cursor-code": check_invalid_cursor,
    "cursors-stable": check_stable_cursors,
    "cache-scope-of-pages": check_cache_scopes,
}
PASSIVE: Mapping[str, PassiveCheck] = {"cache-hints": check_cache_hints}
