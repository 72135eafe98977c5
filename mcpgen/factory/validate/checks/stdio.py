"""Checks of the stdio transport: what appears on stdout, and what the end of stdin does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcpgen.factory.validate.checks.exchange import harmless_request
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.probe import START_SECONDS, Probe
from mcpgen.factory.validate.verdicts import Outcome, fail, succeed
from mcpgen.factory.wire.frames import Frame
from mcpgen.factory.wire.stdio import StdioConnection

_EXIT_SECONDS = 10.0


def check_stdout(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Each line of stdout is one JSON-RPC message."""
    for frame in frames:
        if frame.fault:
            shown = frame.raw[:80].decode("utf-8", "backslashreplace")
            return fail(
                f"stdout contains a line that is no message ({frame.fault}): {shown!r}", [frame]
            )
    return succeed()


async def check_end_of_input(probe: Probe) -> Outcome:
    """The server exits after its standard input was closed; its start takes no part of the time."""
    async with probe.fresh() as session:
        connection = session.connection
        if isinstance(connection, StdioConnection):
            await session.request(harmless_request(probe), timeout_seconds=START_SECONDS)
            code = await connection.end_input(_EXIT_SECONDS)
            if code is None:
                return fail(
                    f"the server still runs {_EXIT_SECONDS:g} seconds after the end of stdin"
                )
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {"exit-at-end-of-input": check_end_of_input}
PASSIVE: Mapping[str, PassiveCheck] = {"stdout-only-messages": check_stdout}
