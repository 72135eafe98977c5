"""Circuit breaker for the requests to one origin of an API."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec import Struct

from mcpgen.runtime.upstream.errors import OverloadedError

MIN_REQUESTS = 20
WINDOW_SECONDS = 10.0
REST_SECONDS = 5.0
MAX_CALLERS = 1000  # that an open circuit breaker tells apart


class Admission(Struct, frozen=True):
    """A request that the circuit breaker admitted."""

    caller: str
    is_probe: bool
    period: int


class CircuitBreaker:
    """Circuit breaker that rejects requests while an API mostly fails.

    It opens if more than half of at least `MIN_REQUESTS` requests in the last `WINDOW_SECONDS`
    failed, but only for callers most of whose requests failed. After `REST_SECONDS` it is half
    open and admits exactly one probe, whose outcome closes or reopens it.
    """

    def __init__(self, clock: Callable[[], float], chance: Callable[[], float]) -> None:
        self._clock = clock
        self._chance = chance
        self._window: deque[tuple[float, str, bool]] = deque()  # time, caller, whether it failed
        self._failures = 0
        self._open_until: float | None = None  # None while the circuit is closed
        self._refused: set[str] = set()  # the callers for whom it is open
        self._has_probe = False  # under way
        self._period = 0  # changes when the circuit opens

    def check(self, caller: str = "") -> None:
        """Check whether a request may be sent, before it waits for a slot.

        Raises:
            OverloadedError: the circuit is open for the caller.
        """
        if self._open_until is None or caller not in self._refused:
            return
        seconds = self._open_until - self._clock()
        if seconds > 0 or self._has_probe:
            raise OverloadedError(
                "was not sent: the API failed most of the latest calls. "
                f"Try again in {max(1, round(seconds))} seconds."
            )

    def admit(self, caller: str = "") -> Admission:
        """Admit a request that is sent now; the caller must `record` its outcome.

        Raises:
            OverloadedError: the circuit is open for the caller.
        """
        self.check(caller)
        is_probe = self._open_until is not None and caller in self._refused
        self._has_probe = self._has_probe or is_probe
        return Admission(caller, is_probe, self._period)

    def record(self, request: Admission, *, failed: bool | None) -> None:
        """Record the outcome of a request, once; None if it ended without one (cancelled).

        A 4xx status is not a failure. Requests from before the circuit opened do not count.
        """
        if request.period != self._period:
            return
        if request.is_probe:
            self._has_probe = False  # after a probe without an outcome, the next request is one
            if failed:
                self._open()
            elif failed is not None:
                self._open_until = None
                self._refused.clear()
        elif self._open_until is not None:
            if failed and len(self._refused) < MAX_CALLERS:
                self._refused.add(request.caller)
        elif failed is not None:
            self._record_in_window(request.caller, failed)

    def _record_in_window(self, caller: str, failed: bool) -> None:
        window, now = self._window, self._clock()
        window.append((now, caller, failed))
        self._failures += failed
        while window[0][0] < now - WINDOW_SECONDS:
            self._failures -= window.popleft()[2]
        if failed and len(window) >= MIN_REQUESTS and self._failures * 2 > len(window):
            self._refused = self._find_failing_callers()
            self._open()

    def _find_failing_callers(self) -> set[str]:
        """Return the callers most of whose requests in the window failed."""
        balance: dict[str, int] = {}
        for _, caller, failed in self._window:
            balance[caller] = balance.get(caller, 0) + (1 if failed else -1)
        return {caller for caller, surplus in balance.items() if surplus > 0}

    def _open(self) -> None:
        self._period += 1
        self._window.clear()
        self._failures = 0
        self._open_until = self._clock() + REST_SECONDS * (0.8 + 0.4 * self._chance())
