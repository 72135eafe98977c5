"""Waits between attempts, and retry budget. The caller passes in time and randomness."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.messages import HttpResponse

MAX_ATTEMPTS = 3  # unless the contract of a tool has another number
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
    max_attempts: int = MAX_ATTEMPTS,
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
    asked = parse_retry_after(outcome, now) if isinstance(outcome, HttpResponse) else None
    if asked is None:
        asked = chance * min(_MAX_DELAY_SECONDS, _FIRST_DELAY_SECONDS * 2.0**attempts)
    return asked if asked < remaining_seconds else None


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
