"""Asking an API again until a member of what it answers has one of some values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.protocol.jsonrpc import encode_json

if TYPE_CHECKING:
    from mcpgen.runtime.context import Context
    from mcpgen.runtime.upstream.client import Surroundings


@dataclass(frozen=True, slots=True)
class Polling:
    """The `poll` of a tool's contract; `until` are the members that lead to the awaited one."""

    until: tuple[str, ...]
    values: tuple[Any, ...]
    interval_seconds: float
    timeout_seconds: float

    @classmethod
    def from_json(cls, entry: JsonObject) -> Polling:
        """Read `poll` as it stands in `tools/<tag>.json`."""
        return cls(**{**entry, "until": tuple(entry["until"]), "values": tuple(entry["values"])})

    async def wait(
        self, ctx: Context, ask: Callable[[], Awaitable[Any]], around: Surroundings
    ) -> Any:
        """The first answer with an awaited value or, after the timeout, the last one.

        The client is told of each answer that is waited on, and the model of a timeout.
        """
        begun = around.clock()
        while True:
            ctx.api.notes = ()  # what was said of an earlier answer
            value = await ask()
            found = self._member(ctx.api.last_value if value is None else value)
            if any(_is_same(found, awaited) for awaited in self.values):
                return value
            waited = around.clock() - begun
            state = f"`{'.'.join(self.until)}` is {encode_json(found).decode()}"
            if waited + self.interval_seconds > self.timeout_seconds:
                still = f"{state} still, after {waited:.0f} seconds. The same call waits on."
                ctx.api.notes = (*ctx.api.notes, still)
                return value
            ctx.report_progress(waited, self.timeout_seconds, state)
            await around.sleep(self.interval_seconds)

    def _member(self, value: Any) -> Any:
        for name in self.until:
            value = value.get(name) if isinstance(value, dict) else None
        return value


def _is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; `true` is not 1."""
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
