"""How much is asked of one API at once, and whether it is worth asking at all right now."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from mcpgen.runtime.upstream.errors import UpstreamError

MAX_CONCURRENT = 100
MAX_WAITING = 200


class OverloadedError(UpstreamError):
    """Nothing was sent: too much is under way, or the API failed too often of late."""

    request_sent = False


class ConcurrencyLimit:
    """Lets some requests through at once and some wait; refuses the others.

    `async with` waits for a turn and holds it, or raises OverloadedError: too many wait already.
    """

    def __init__(self, concurrent: int = MAX_CONCURRENT, waiting: int = MAX_WAITING) -> None:
        self._slots = asyncio.Semaphore(concurrent)
        self._max_waiting = waiting
        self._waiting = 0

    async def __aenter__(self) -> None:
        if self._slots.locked() and self._waiting >= self._max_waiting:
            raise OverloadedError(
                "was not sent: too many calls of this API are under way. Try again in a moment."
            )
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1

    async def __aexit__(self, *exc_info: object) -> None:
        self._slots.release()


class CircuitBreaker:
    """Stops asking an API that mostly fails, and tries one request after a while.

    It opens when of at least `min_requests` in the last `window_seconds` more than half failed.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        chance: Callable[[], float],
        *,
        min_requests: int = 20,
        window_seconds: float = 10.0,
        rest_seconds: float = 5.0,
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._min_requests = min_requests
        self._window_seconds = window_seconds
        self._rest_seconds = rest_seconds
        self._outcomes: deque[tuple[float, bool]] = deque()  # when, and whether it failed
        self._failures = 0
        self._open_until: float | None = None  # no request before; None while all is well

    def check(self) -> None:
        """Let a request pass.

        Raises:
            OverloadedError: the circuit is open.
        """
        if self._open_until is None:
            return
        left = self._open_until - self._clock()
        if left > 0:
            raise OverloadedError(
                "was not sent: the API failed most of the latest calls. "
                f"Try again in {max(1, round(left))} seconds."
            )
        self._rest()  # this request is the probe; the next one waits for what it says

    def record(self, *, failed: bool) -> None:
        """Take note of an outcome; refusals by the API (4xx) are no failures."""
        now = self._clock()
        if self._open_until is not None:
            if failed:
                self._rest()
                return
            self._open_until = None
            self._outcomes.clear()
            self._failures = 0
        self._outcomes.append((now, failed))
        self._failures += failed
        while self._outcomes and self._outcomes[0][0] < now - self._window_seconds:
            self._failures -= self._outcomes.popleft()[1]
        if len(self._outcomes) >= self._min_requests and self._failures * 2 > len(self._outcomes):
            self._rest()

    def _rest(self) -> None:
        self._open_until = self._clock() + self._rest_seconds * (0.8 + 0.4 * self._chance())
