"""Retries, concurrency limits and circuit breakers, by the origin of an API."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct

from mcpgen.contract.limits import DEFAULT_LIMITS, Limits
from mcpgen.runtime.upstream.errors import OverloadedError, UpstreamError
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse, Sender
from mcpgen.text.hosts import origin_of

MAX_CALLERS = 1000  # that an open circuit breaker distinguishes


class Admission(Struct, frozen=True):
    """A request that the circuit breaker admitted."""

    caller: str
    is_probe: bool
    period: int


class CircuitBreaker:
    """Circuit breaker that rejects requests while an API mostly fails.

    It opens if more than half of at least `circuit_requests` requests in the last
    `circuit_window_seconds` failed, but only for callers most of whose requests failed. After
    `circuit_rest_seconds` it is half open and admits exactly one probe, whose outcome closes or
    reopens it.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        chance: Callable[[], float],
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._clock = clock
        self._min_requests = limits.circuit_requests
        self._window_seconds = limits.circuit_window_seconds
        self._rest_seconds = limits.circuit_rest_seconds
        self._chance = chance
        self._window: deque[tuple[float, str, bool]] = deque()  # time, caller, whether it failed
        self._failures = 0
        self._open_until: float | None = None  # None while the circuit is closed
        self._refused: set[str] = set()  # the callers for whom it is open
        self._has_probe = False  # under way
        self._period = 0  # changes when the circuit opens

    @property
    def is_open(self) -> bool:
        """Whether it rejects requests of some callers, or waits for the outcome of a probe."""
        return self._open_until is not None

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
        while window[0][0] < now - self._window_seconds:
            self._failures -= window.popleft()[2]
        if failed and len(window) >= self._min_requests and self._failures * 2 > len(window):
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
        self._open_until = self._clock() + self._rest_seconds * (0.8 + 0.4 * self._chance())


_QUEUE_FULL = "was not sent: too many calls to this API are in progress. Try again in a moment."
SHARE_OF_FREE = 4
"""A caller may have at most this many times as many requests under way as there are free slots.

A single caller gets 80 of 100 slots and two callers get 44 each, so the next caller always finds
a free slot.
"""


class ConcurrencyLimit:
    """Limit on concurrent requests, with a queue that callers share fairly.

    Callers take turns. If the queue is full, a caller with fewer waiting requests displaces the
    last request of the caller that has the most. The caller "" is the only one and may use all.
    """

    def __init__(
        self,
        concurrent: int = DEFAULT_LIMITS.max_concurrent,
        waiting: int = DEFAULT_LIMITS.max_queued,
    ) -> None:
        self._free = concurrent
        self._max_waiting = waiting
        self._waiting = 0
        self._under_way: dict[str, int] = {}  # by caller; no zeros
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}  # by caller, in order of turns

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way or waiting."""
        return not self._under_way and not self._queues

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a slot."""
        return self._waiting

    async def acquire(self, caller: str = "") -> None:
        """Wait for a slot; `release` returns it.

        Raises:
            OverloadedError: the queue is full, or another caller displaced this request.
        """
        # A caller with waiting requests fails this test: `release` starts every one that may.
        if self._may_start(caller):
            self._start(caller)
            return
        if self._waiting >= self._max_waiting:
            self._displace_for(caller)
        waiter = asyncio.get_running_loop().create_future()
        self._queues.setdefault(caller, deque()).append(waiter)
        self._waiting += 1
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.done() or waiter.cancelled():
                self._leave_queue(caller, waiter)
            elif waiter.exception() is None:
                self.release(caller)  # the slot was granted at the same moment
            raise

    def release(self, caller: str = "") -> None:
        """Return a slot, and start the waiting requests that can use it."""
        self._free += 1
        remaining = self._under_way[caller] - 1
        if remaining:
            self._under_way[caller] = remaining
        else:
            del self._under_way[caller]
        while self._queues:
            turn = next((name for name in self._queues if self._may_start(name)), None)
            if turn is None:
                break
            self._start_next(turn)

    def _may_start(self, caller: str) -> bool:
        if not caller:
            return self._free > 0
        return self._under_way.get(caller, 0) < self._free * SHARE_OF_FREE

    def _start(self, caller: str) -> None:
        self._free -= 1
        self._under_way[caller] = self._under_way.get(caller, 0) + 1

    def _start_next(self, caller: str) -> None:
        """Start the first waiting request of a caller, whose next turn comes after all others."""
        queue = self._queues.pop(caller)
        waiter = queue.popleft()
        self._waiting -= 1
        if queue:
            self._queues[caller] = queue
        if not waiter.done():
            self._start(caller)
            waiter.set_result(None)

    def _leave_queue(self, caller: str, waiter: asyncio.Future[None]) -> None:
        queue = self._queues.get(caller)
        if queue is None or waiter not in queue:
            return  # its turn came after it was cancelled
        queue.remove(waiter)
        self._waiting -= 1
        if not queue:
            del self._queues[caller]

    def _displace_for(self, caller: str) -> None:
        """Make room in a full queue for a caller that has less than its share."""
        lengths = {name: len(queue) for name, queue in self._queues.items()}
        longest = max(lengths, key=lengths.__getitem__, default="")
        if lengths.get(longest, 0) <= lengths.get(caller, 0) + 1:
            raise OverloadedError(_QUEUE_FULL)
        waiter = self._queues[longest].pop()
        self._waiting -= 1
        if not waiter.done():
            waiter.set_exception(OverloadedError(_QUEUE_FULL))


_FIRST_DELAY_SECONDS = 0.1
_MAX_DELAY_SECONDS = 20.0
_IDEMPOTENT_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "QUERY"})
_MAX_DATE = 100  # characters
_BUSY_STATUSES = frozenset({429, 502, 503, 504})


def compute_delay(
    method: str,
    outcome: HttpResponse | UpstreamError,
    *,
    attempts: int,
    max_attempts: int,
    remaining_seconds: float,
    chance: float,
    now: datetime,
    has_key: bool = False,
) -> float | None:
    """Return the wait in seconds before the next attempt; None if the outcome is final.

    `attempts` is the number so far, and `chance` is between 0 and 1 (full jitter). A wait longer
    than `remaining_seconds` makes the outcome final. `Retry-After` is followed exactly. A request
    with an idempotency key (`has_key`) is as repeatable as an idempotent method.
    """
    is_safe = has_key or method in _IDEMPOTENT_METHODS
    if attempts >= max_attempts or not _is_repeatable(method, outcome, is_safe=is_safe):
        return None
    delay = parse_retry_after(outcome, now) if isinstance(outcome, HttpResponse) else None
    if delay is None:
        delay = chance * min(_MAX_DELAY_SECONDS, _FIRST_DELAY_SECONDS * 2.0**attempts)
    return delay if delay < remaining_seconds else None


def _is_repeatable(method: str, outcome: HttpResponse | UpstreamError, *, is_safe: bool) -> bool:
    if isinstance(outcome, UpstreamError):
        return outcome.is_transient and (is_safe or not outcome.request_sent)
    if not is_safe:
        return False
    return outcome.status in _BUSY_STATUSES or (outcome.status == 500 and method == "GET")


def parse_retry_after(response: HttpResponse, now: datetime) -> float | None:
    """Parse `Retry-After`, a number or a date, into seconds from `now`.

    None if it is missing or invalid (RFC 9110, section 10.2.3).
    """
    text = response.header("Retry-After").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    if len(text) > _MAX_DATE:
        return None
    from email.utils import parsedate_to_datetime  # only busy APIs send a date

    try:
        when = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # a year or an hour of hundreds of digits
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())


class RetryBudget:
    """Bound on the retries to one origin, so that they do not worsen an outage.

    It allows a tenth of the requests of the last ten seconds, but at least three.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._requests: deque[float] = deque()
        self._retries: deque[float] = deque()

    def count_request(self) -> None:
        """Record a first attempt."""
        self._requests.append(self._clock())
        self._forget_old(self._requests)

    def take(self) -> bool:
        """Count one more retry if it is within the budget; return whether it is."""
        self._forget_old(self._requests)
        self._forget_old(self._retries)
        if len(self._retries) >= max(3, len(self._requests) // 10):
            return False
        self._retries.append(self._clock())
        return True

    def _forget_old(self, times: deque[float]) -> None:
        horizon = self._clock() - 10.0
        while times and times[0] < horizon:
            times.popleft()


MAX_ORIGINS = 100


class OriginLimits:
    """Circuit breaker, retry budget, and concurrency limit with its queue, of one origin."""

    __slots__ = ("budget", "circuit", "slots")

    def __init__(
        self, clock: Callable[[], float], chance: Callable[[], float], limits: Limits
    ) -> None:
        self.circuit = CircuitBreaker(clock, chance, limits)
        self.budget = RetryBudget(clock)
        self.slots = ConcurrencyLimit(limits.max_concurrent, limits.max_queued)

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


class Course(Struct):
    """Progress of one API call."""

    deadline: asyncio.Timeout
    requests_sent: int = 0  # to the API or for a token


class LimitsByOrigin:
    """Limits of the most recently used origins, at most `MAX_ORIGINS`."""

    def __init__(
        self,
        clock: Callable[[], float],
        chance: Callable[[], float],
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._of_each = limits
        self._limits: dict[str, OriginLimits] = {}  # the most recently used one last

    def get(self, url: str) -> OriginLimits:
        """Return the limits of the origin of a URL."""
        origin = origin_of(url)
        limits = self._limits.pop(origin, None)
        if limits is None:
            if len(self._limits) >= MAX_ORIGINS:
                self._drop_one()
            limits = OriginLimits(self._clock, self._chance, self._of_each)
        self._limits[origin] = limits
        return limits

    def describe(self) -> list[tuple[str, bool, int]]:
        """Return each origin, whether its circuit is open, and how many requests wait.

        This may be called by another thread.
        """
        return [
            (origin, limits.circuit.is_open, limits.slots.waiting)
            for origin, limits in list(self._limits.items())
        ]

    def _drop_one(self) -> None:
        """Drop the least recently used origin, if possible one without a request under way."""
        idle = (origin for origin, limits in self._limits.items() if limits.slots.is_idle)
        del self._limits[next(idle, None) or next(iter(self._limits))]
