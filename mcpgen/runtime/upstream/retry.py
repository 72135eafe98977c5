"""When a request is worth sending again, and after which wait; time and chance are passed in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http import HttpResponse

_IDEMPOTENT_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "QUERY"})
_BUSY_STATUSES = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a request is repeated."""

    max_attempts: int = 3
    first_delay_seconds: float = 0.1
    max_delay_seconds: float = 20.0

    def delay_seconds(
        self,
        method: str,
        outcome: HttpResponse | UpstreamError,
        *,
        attempts: int,
        remaining_seconds: float,
        chance: float,
        now: datetime,
    ) -> float | None:
        """How long to wait before the next attempt; None when this outcome stands.

        `attempts` were made so far, `chance` is between 0 and 1 (full jitter), and a wait that
        `remaining_seconds` cannot hold is not begun. `Retry-After` is honoured exactly.
        """
        if attempts >= self.max_attempts or not _is_repeatable(method, outcome):
            return None
        asked = retry_after_seconds(outcome, now) if isinstance(outcome, HttpResponse) else None
        if asked is None:
            bound = self.first_delay_seconds * 2.0**attempts
            asked = chance * min(self.max_delay_seconds, bound)
        return asked if asked < remaining_seconds else None


def _is_repeatable(method: str, outcome: HttpResponse | UpstreamError) -> bool:
    if isinstance(outcome, UpstreamError):
        may_repeat = method in _IDEMPOTENT_METHODS or not outcome.request_sent
        return outcome.is_transient and may_repeat
    if method not in _IDEMPOTENT_METHODS:
        return False
    return outcome.status in _BUSY_STATUSES or (outcome.status == 500 and method == "GET")


def retry_after_seconds(response: HttpResponse, now: datetime) -> float | None:
    """What `Retry-After` asks for, in seconds from `now`, whether it is a number or a date.

    None when it is absent or says neither (RFC 9110, section 10.2.3).
    """
    text = response.header("Retry-After").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())


class RetryBudget:
    """Keeps retries a small part of the traffic, so that an outage is not made worse.

    At most a tenth of the requests of the last ten seconds, and three in any case.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._requests: deque[float] = deque()
        self._retries: deque[float] = deque()

    def count_request(self) -> None:
        """Take note of a first attempt."""
        self._requests.append(self._clock())
        self._forget_old(self._requests)

    def take(self) -> bool:
        """Whether one more retry is within the budget; counts it if so."""
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
