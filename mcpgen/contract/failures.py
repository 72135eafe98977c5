"""Failures of an API for generated tests: the simulated response, and the expected tool result.

The expectations restate the retry rules of the runtime independently: only requests that are
idempotent or have an idempotency key are retried, at most twice, after the time in `Retry-After`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mcpgen.jsonschema.types import JsonObject

GENERAL_STATUSES = ("401", "403", "404", "409", "422", "429", "500", "503")
"""Statuses that are tested for every operation, declared or not."""

NO_CONTENT = "the API answers without content"
BAD_JSON = "the API answers with broken JSON"
WRONG_MEDIA_TYPE = "the API answers with another media type"
REDIRECT = "the API points elsewhere"
ECHO = "the API repeats the request in an error"
TIMEOUT = "the API does not answer in time"
REFUSED = "the API refuses the connection"
RESET = "the API breaks the connection"

_RETRIES_IN_TEN_SECONDS = 3
_RETRY_AFTER_SECONDS = 7
_IDEMPOTENT = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PUT", "QUERY", "TRACE"})
_RETRIED_STATUSES = frozenset({429, 502, 503, 504})
_CREDENTIAL_STATUSES = frozenset({401, 403})
_RETRY_AFTER_STATUSES = frozenset({429, 503})
_DAY = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """The retry settings of a tool, and the environment variables of its credential."""

    variables: Sequence[str] = ()  # named in the error if the API rejects the credential
    attempts: int = 3
    timeout_seconds: float = 60.0
    has_key: bool = False  # requests carry an idempotency key

    @property
    def attempts_at_once(self) -> int:
        """The number of attempts without `Retry-After`."""
        return min(self.attempts, 1 + _RETRIES_IN_TEN_SECONDS)

    @property
    def attempts_with_retry_after(self) -> int:
        """The number of attempts with `Retry-After`; the waits must fit into the timeout."""
        return min(self.attempts, math.ceil(self.timeout_seconds / _RETRY_AFTER_SECONDS))


def build_failure(name: str, method: str, limits: RetryLimits) -> tuple[JsonObject, JsonObject]:
    """Return the `reply` and the `expect` of a case; `name` is a status or a constant above."""
    if name.isdigit():
        return _build_status_failure(int(name), method, limits)
    is_retried = limits.has_key or method in _IDEMPOTENT
    attempts = limits.attempts_at_once
    broken = {"is_error": True, "text": {"contains": []}}
    replies: dict[str, tuple[JsonObject, JsonObject]] = {
        NO_CONTENT: ({"status": 204}, {"is_error": False}),
        BAD_JSON: (
            {"text": '{"id": 1, "na', "headers": {"Content-Type": "application/json"}},
            _expect_error("JSON"),
        ),
        WRONG_MEDIA_TYPE: (
            {"text": "unheard of", "headers": {"Content-Type": "application/x-unheard-of"}},
            _expect_error("application/x-unheard-of"),
        ),
        REDIRECT: (
            {"status": 302, "text": "", "headers": {"Location": "https://elsewhere.example/"}},
            {**_expect_error("302"), "status": 302},
        ),
        ECHO: ({"status": 400, "fault": "echo"}, {**_expect_error("400"), "status": 400}),
        TIMEOUT: ({"delay_seconds": _DAY}, _expect_error(f"{limits.timeout_seconds:g} seconds")),
        REFUSED: ({"fault": "refused"}, {**broken, "attempts": attempts}),
        RESET: (
            {"fault": "connection"},
            {**broken, "attempts": attempts if is_retried else 1},
        ),
    }
    return replies[name]


def _expect_error(*parts: str) -> JsonObject:
    return {"is_error": True, "text": {"contains": list(parts)}}


def _build_status_failure(
    status: int, method: str, limits: RetryLimits
) -> tuple[JsonObject, JsonObject]:
    reply: JsonObject = {"status": status}
    parts = [str(status)]
    if status in _CREDENTIAL_STATUSES:
        parts += limits.variables
    is_retried = (limits.has_key or method in _IDEMPOTENT) and (
        status in _RETRIED_STATUSES or (status == 500 and method == "GET")
    )
    attempts = 1
    if is_retried and status in _RETRY_AFTER_STATUSES:
        attempts = limits.attempts_with_retry_after
    elif is_retried:
        attempts = limits.attempts_at_once
    expect: JsonObject = {"status": status, "attempts": attempts}
    if status in _RETRY_AFTER_STATUSES:
        reply["headers"] = {"Retry-After": str(_RETRY_AFTER_SECONDS)}
        parts.append(f"{_RETRY_AFTER_SECONDS} seconds")
        expect["waits_seconds"] = _RETRY_AFTER_SECONDS * (attempts - 1)
    return reply, {**_expect_error(*parts), **expect}
