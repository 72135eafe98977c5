"""Tests of when and after how long a request is repeated, without a clock."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mcpgen.runtime.upstream.errors import (
    ConnectError,
    DisconnectedError,
    MalformedResponseError,
    ResponseTooLargeError,
    UpstreamError,
)
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.runtime.upstream.resilience import RetryBudget, compute_delay, parse_retry_after

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)


def delay(
    method: str,
    outcome: HttpResponse | UpstreamError,
    *,
    attempts: int = 1,
    remaining: float = 60.0,
    chance: float = 1.0,
) -> float | None:
    return compute_delay(
        method,
        outcome,
        attempts=attempts,
        max_attempts=3,
        remaining_seconds=remaining,
        chance=chance,
        now=NOW,
    )


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "QUERY"])
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_an_idempotent_method_is_retried_if_the_api_is_busy(method: str, status: int) -> None:
    assert delay(method, HttpResponse(status)) is not None


@pytest.mark.parametrize("status", [200, 301, 400, 401, 404, 408, 409, 422, 501])
def test_a_final_status_is_not_retried(status: int) -> None:
    assert delay("GET", HttpResponse(status)) is None


def test_a_server_error_is_retried_only_for_get() -> None:
    assert delay("GET", HttpResponse(500)) is not None
    assert delay("PUT", HttpResponse(500)) is None


@pytest.mark.parametrize("method", ["POST", "PATCH", "LOCK"])
def test_other_methods_are_retried_only_if_nothing_was_sent(method: str) -> None:
    assert delay(method, ConnectError("x")) is not None
    assert delay(method, DisconnectedError("x")) is None
    assert delay(method, HttpResponse(503)) is None
    assert delay(method, HttpResponse(429)) is None


@pytest.mark.parametrize("error", [MalformedResponseError("x"), ResponseTooLargeError("x")])
def test_a_malformed_response_is_not_retried(error: UpstreamError) -> None:
    assert delay("GET", error) is None


def test_a_request_is_attempted_at_most_three_times() -> None:
    assert delay("GET", HttpResponse(503), attempts=2) is not None
    assert delay("GET", HttpResponse(503), attempts=3) is None


def test_the_delay_doubles_and_has_jitter() -> None:
    assert delay("GET", HttpResponse(503), attempts=1, chance=1.0) == pytest.approx(0.2)
    assert delay("GET", HttpResponse(503), attempts=2, chance=1.0) == pytest.approx(0.4)
    assert delay("GET", HttpResponse(503), attempts=2, chance=0.0) == 0.0


def test_a_delay_beyond_the_deadline_is_not_waited_for() -> None:
    assert delay("GET", HttpResponse(503, (("retry-after", "5"),)), remaining=5.1) == 5.0
    assert delay("GET", HttpResponse(503, (("Retry-After", "5"),)), remaining=5.0) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("Tue, 01 Jan 2030 12:00:30 GMT", 30.0),
        ("Tue, 01 Jan 2030 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("9" * 40, None),
        ("\u0663", None),
        ("", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, expected: float | None) -> None:
    assert parse_retry_after(HttpResponse(429, (("Retry-After", text),)), NOW) == expected


def test_the_retry_budget_allows_three_retries_and_a_tenth_of_the_requests() -> None:
    seconds = 0.0
    budget = RetryBudget(lambda: seconds)
    assert [budget.take() for _ in range(5)] == [True, True, True, False, False]
    for _ in range(50):
        budget.count_request()
    assert [budget.take() for _ in range(3)] == [True, True, False]
    seconds = 11.0
    assert [budget.take() for _ in range(4)] == [True, True, True, False]
