"""Polling: repeat a request until a member of its response has an expected value."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools.truncation import cut_to_bytes

if TYPE_CHECKING:
    from mcpgen.runtime.handlers.context import Context
    from mcpgen.runtime.upstream.environment import Environment

_MAX_SHOWN: Final = 200  # characters of a state that is waited on


class Polling(Struct, frozen=True):
    """The `poll` of a tool's contract; `until` are the members that lead to the awaited one."""

    until: tuple[str, ...]
    values: tuple[Any, ...]
    interval_seconds: float
    timeout_seconds: float

    async def wait(
        self, ctx: Context, ask: Callable[[], Awaitable[Any]], environment: Environment
    ) -> Any:
        """Return the first response with an awaited value, or the last one after the timeout.

        Each response without an awaited value is reported to the client as progress, and a timeout
        to the model.
        """
        begun = environment.clock()
        while True:
            ctx.api.notes = ()  # what was said of an earlier answer
            value = await ask()
            found = self._find_member(ctx.api.last_value if value is None else value)
            if any(_is_same(found, awaited) for awaited in self.values):
                return value
            waited = environment.clock() - begun
            state = f"`{'.'.join(self.until)}` is {_shorten(found)}"
            if waited + self.interval_seconds > self.timeout_seconds:
                still = f"{state} still, after {waited:.0f} seconds. The same call waits on."
                ctx.api.notes = (*ctx.api.notes, still)
                return value
            ctx.report_progress(waited, self.timeout_seconds, state)
            await environment.sleep(self.interval_seconds)

    def _find_member(self, value: Any) -> Any:
        for name in self.until:
            value = value.get(name) if isinstance(value, dict) else None
        return value


def _shorten(value: Any) -> str:
    text = encode_json(cut_to_bytes(value, _MAX_SHOWN).value).decode()
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; `true` is not 1."""
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
