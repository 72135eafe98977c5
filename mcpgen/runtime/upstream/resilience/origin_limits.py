"""Per-origin limits of the requests that a server sends.

An API that fails or hangs exhausts only its own limits: another API of the same server, or a
token endpoint at another origin, has separate limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse, Sender
from mcpgen.runtime.upstream.resilience.circuit_breaker import CircuitBreaker
from mcpgen.runtime.upstream.resilience.concurrency_limit import ConcurrencyLimit
from mcpgen.runtime.upstream.resilience.retry import RetryBudget
from mcpgen.text.origins import origin_of

MAX_ORIGINS = 100


class OriginLimits:
    """Circuit breaker, retry budget, and concurrency limit with its queue, of one origin."""

    __slots__ = ("budget", "circuit", "slots")

    def __init__(self, clock: Callable[[], float], chance: Callable[[], float]) -> None:
        self.circuit = CircuitBreaker(clock, chance)
        self.budget = RetryBudget(clock)
        self.slots = ConcurrencyLimit()

    async def send(
        self, send: Sender, request: HttpRequest, caller: str, course: Course
    ) -> HttpResponse:
        """Send a request once, as soon as a slot is free.

        Raises:
            OverloadedError: nothing was sent: the circuit is open or the queue is full.
            UpstreamError: there is no response.
        """
        self.circuit.check(caller)
        await self.slots.acquire(caller)
        try:
            admission = self.circuit.admit(caller)  # it may have opened during the wait
            failed: bool | None = None
            try:
                course.requests_sent += 1
                response = await send(request)
                failed = response.status >= 500
            except UpstreamError:
                failed = True
                raise
            except asyncio.CancelledError:
                # An expired deadline is the API's failure; a cancellation by the client is not.
                failed = True if course.deadline.expired() else None
                raise
            finally:
                self.circuit.record(admission, failed=failed)
        finally:
            self.slots.release(caller)
        return response


class Course:
    """Progress of one API call."""

    __slots__ = ("deadline", "requests_sent")

    def __init__(self, deadline: asyncio.Timeout) -> None:
        self.deadline = deadline
        self.requests_sent = 0  # to the API or for a token


class LimitsByOrigin:
    """Limits of the most recently used origins, at most `max_origins`."""

    def __init__(
        self,
        clock: Callable[[], float],
        chance: Callable[[], float],
        max_origins: int = MAX_ORIGINS,
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._max_origins = max_origins
        self._limits: dict[str, OriginLimits] = {}  # the most recently used one last

    def get(self, url: str) -> OriginLimits:
        """Return the limits of the origin of a URL."""
        origin = origin_of(url)
        limits = self._limits.pop(origin, None)
        if limits is None:
            if len(self._limits) >= self._max_origins:
                self._drop_one()
            limits = OriginLimits(self._clock, self._chance)
        self._limits[origin] = limits
        return limits

    def _drop_one(self) -> None:
        """Drop the least recently used origin, if possible one without a request under way."""
        idle = (origin for origin, limits in self._limits.items() if limits.slots.is_idle)
        del self._limits[next(idle, None) or next(iter(self._limits))]
