"""Rate limit of the calls of each caller (`<PREFIX>RATE_LIMIT`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from math import ceil
from typing import TYPE_CHECKING, Final

from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.errors import ProtocolError, StoreUnavailableError
from mcpgen.runtime.protocol.jsonrpc import INTERNAL_ERROR
from mcpgen.runtime.tools.results import RETRY_AFTER_KEY

if TYPE_CHECKING:
    from mcpgen.contract.setting_kinds import Rate
    from mcpgen.runtime.protocol.request import Request
    from mcpgen.runtime.state.store import Store

MAX_CALLERS: Final = 100_000
"""Callers that are counted at a time; beyond it, those that called first are forgotten."""

_UNITS: Final = {1: "second", 60: "minute", 3600: "hour", 86_400: "day"}


class RateLimiter:
    """Counter of the calls of each caller in the current period: the clock's minute, hour, day.

    With a shared store, all replicas count together. While it is unavailable, each counts alone.
    """

    def __init__(
        self, rate: Rate, *, store: Store | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.store = store  # shared by all replicas; None for one process
        self._rate = rate
        self._clock = clock
        self._period = -1
        self._calls: dict[str, int] = {}  # of this period, by caller

    async def find_refusal(self, request: Request) -> ToolResult | None:
        """Count a request; return the refusal of a call that exceeds the limit, or None.

        The refusal is a tool result, which the model reads: clients treat HTTP 429 as a failure of
        the connection.

        Raises:
            ProtocolError: the request exceeds the limit, and is not a call of a tool.
        """
        now, (allowed, seconds) = self._clock(), self._rate
        period = int(now // seconds)
        if await self._add(request.caller, period) <= allowed:
            return None
        wait = (period + 1) * seconds - now
        text = (
            f"This call was not made: this server allows {allowed:,} call{'s' * (allowed != 1)} per"
            f" {_UNITS[seconds]}."
            f" Wait {ceil(wait)} seconds before the next one."
        )
        meta = {RETRY_AFTER_KEY: ceil(wait * 1000)}
        if request.method != "tools/call":
            raise ProtocolError(INTERNAL_ERROR, text, meta)
        return ToolResult((Text(text),), is_error=True, meta=meta)

    async def _add(self, caller: str, period: int) -> int:
        if self.store is not None:
            # Keys have no control characters, and do not name users.
            key = f"rate:1:{sha256(caller.encode()).hexdigest()[:32]}:{period}"
            try:
                return await self.store.count(key, self._rate.seconds)
            except StoreUnavailableError:
                pass  # calls continue without it
        if period != self._period:
            self._period = period
            self._calls.clear()
        calls = self._calls.get(caller, 0) + 1
        if calls == 1 and len(self._calls) >= MAX_CALLERS:
            del self._calls[next(iter(self._calls))]
        self._calls[caller] = calls
        return calls
