"""Checks of the handshake of revisions before 2026-07-28, and of ping."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import Outcome, fail, succeed


async def check_ping(probe: Probe) -> Outcome:
    """`ping` is answered with an empty result."""
    reply = await probe.request("ping")
    if reply.response is None:
        return fail("no response to `ping`", reply.frames)
    if reply.result is None:
        return fail("`ping` was answered with an error", reply.frames)
    extra = reply.result.keys() - {"_meta"}
    if extra:
        return fail(f"the result of `ping` has members: {', '.join(sorted(extra))}", reply.frames)
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {"ping-answered": check_ping}
PASSIVE: Mapping[str, PassiveCheck] = {}
