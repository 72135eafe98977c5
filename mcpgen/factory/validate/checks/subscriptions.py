"""Checks of `subscriptions/listen` (2026-07-28)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import Outcome, fail, leave_untested, skip, succeed
from mcpgen.factory.wire.frames import Frame
from mcpgen.factory.wire.session import META_PREFIX
from mcpgen.jsonschema.types import JsonObject

_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_SUBSCRIPTION_ID: Final = f"{META_PREFIX}subscriptionId"
_LISTEN_ID: Final = "mcpgen-listen-1"
_FILTERS: Final[Mapping[str, str]] = {
    "tools.listChanged": "toolsListChanged",
    "prompts.listChanged": "promptsListChanged",
    "resources.listChanged": "resourcesListChanged",
}
_CHANGES: Final[Mapping[str, str]] = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
}
_SETTLE_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Subscription:
    """A listen request, and what arrived until a later request was answered."""

    request: Frame
    requested: JsonObject
    received: list[Frame]

    @property
    def refusal(self) -> Any:
        """The code of the error that answered it, None if there is none."""
        answers = [it for it in self.received if it.body.get("id") == _LISTEN_ID]
        error = answers[0].body.get("error") if answers else None
        return error.get("code") if isinstance(error, dict) else None

    @property
    def notifications(self) -> list[Frame]:
        """Notifications that arrived while it was open."""
        return [frame for frame in self.received if frame.method.startswith("notifications/")]


async def _listen(probe: Probe) -> Subscription:
    # One kind alone, so that a server which sends others is noticed.
    kinds = [name for capability, name in _FILTERS.items() if probe.declares(capability)]
    requested: JsonObject = dict.fromkeys(kinds[:1], True)
    uris = [it["uri"] for it in probe.resources if isinstance(it.get("uri"), str)]
    if probe.declares("resources.subscribe") and uris:
        requested = {"resourceSubscriptions": uris[:1]}
    session = await probe.get_session()
    connection = session.connection
    since = len(connection.received)
    try:
        async with asyncio.timeout(session.timeout_seconds):
            pending = await session.start(
                "subscriptions/listen", {"notifications": requested}, request_id=_LISTEN_ID
            )
    except TimeoutError:  # over HTTP, a server that acknowledges nothing sends not even a head
        sent = [frame for frame in probe.frames if frame.method == "subscriptions/listen"]
        return Subscription(sent[-1], requested, [])
    await connection.wait_for(lambda _frame: True, session.timeout_seconds, since)
    await session.request("server/discover")
    await connection.wait_for(lambda _frame: False, _SETTLE_SECONDS)
    received = connection.received[since:]
    if probe.transport == "stdio":
        await session.notify("notifications/cancelled", {"requestId": _LISTEN_ID})
    pending.abandon()
    return Subscription(pending.request, requested, received)


def _meta(frame: Frame) -> JsonObject:
    params = frame.body.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


async def check_acknowledged(probe: Probe) -> Outcome:
    """The first message of a subscription acknowledges it, with what will be sent."""
    found = await probe.once(_listen)
    first = found.notifications[0] if found.notifications else None
    if found.refusal is not None:
        return fail(
            f"`subscriptions/listen` was refused with the error {found.refusal}, and the server"
            " declares that it sends such notifications",
            [found.request, *found.received[:1]],
        )
    if first is None or first.method != _ACKNOWLEDGED:
        what = f"`{first.method}`" if first else "no notification"
        return fail(
            f"`subscriptions/listen` was followed by {what}, expected `{_ACKNOWLEDGED}`",
            [found.request, *found.received[:2]],
        )
    params = first.body.get("params")
    honoured: Any = params.get("notifications") if isinstance(params, dict) else None
    if not isinstance(honoured, dict):
        return fail("the acknowledgement has no `notifications`", [found.request, first])
    more = sorted(honoured.keys() - found.requested.keys())
    if more:
        return fail(
            f"the acknowledgement has `{more[0]}`, which was not requested",
            [found.request, first],
        )
    return succeed()


async def check_subscription_ids(probe: Probe) -> Outcome:
    """Every message of a subscription has the id of the listen request."""
    found = await probe.once(_listen)
    if not found.notifications:
        return skip("the subscription received no notification")
    for frame in found.notifications:
        if _meta(frame).get(_SUBSCRIPTION_ID) != _LISTEN_ID:
            return fail(
                f"`{frame.method}` has no `{_SUBSCRIPTION_ID}` of its subscription",
                [found.request, frame],
            )
    return succeed()


async def check_only_requested(probe: Probe) -> Outcome:
    """A subscription receives only notifications that were requested."""
    found = await probe.once(_listen)
    if found.refusal is not None:
        return leave_untested("`subscriptions/listen` was refused")
    for frame in found.notifications:
        kind = _CHANGES.get(frame.method)
        if kind is not None and kind not in found.requested:
            return fail(f"`{frame.method}` was not requested", [found.request, frame])
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {
    "subscription-acknowledged": check_acknowledged,
    "subscription-ids": check_subscription_ids,
    "subscription-only-requested": check_only_requested,
}
PASSIVE: Mapping[str, PassiveCheck] = {}
