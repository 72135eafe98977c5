"""What an API does wrong, by name: its answer, and what a tool must make of that.

Repeating follows the rules for retries in the README of mcpgen's runtime, spelled here anew: only
what is idempotent is repeated, at most twice, and as patiently as `Retry-After` asks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mcpgen.runtime.content import JsonObject

GENERAL_STATUSES = ("401", "403", "404", "409", "422", "429", "500", "503")
"""Statuses that every API may answer with, whether its document says so or not."""

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
_REPEATED = frozenset({429, 502, 503, 504})
_NAMING_CREDENTIALS = frozenset({401, 403})
_ASKING_TO_WAIT = frozenset({429, 503})
_DAY = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long a tool tries, and the variables that hold its credential."""

    variables: Sequence[str] = ()  # named where the API refuses the credential
    attempts: int = 3
    timeout_seconds: float = 60.0

    @property
    def attempts_at_once(self) -> int:
        """How many attempts are made where nobody asks to wait."""
        return min(self.attempts, 1 + _RETRIES_IN_TEN_SECONDS)

    @property
    def attempts_when_told_to_wait(self) -> int:
        """How many are made where each must wait, and no wait may outlast the timeout."""
        return min(self.attempts, math.ceil(self.timeout_seconds / _RETRY_AFTER_SECONDS))


def failure(name: str, method: str, patience: Patience) -> tuple[JsonObject, JsonObject]:
    """Give the `reply` and the `expect` of a case; `name` is a status or a name from above."""
    if name.isdigit():
        return _status(int(name), method, patience)
    is_repeated = method in _IDEMPOTENT
    attempts = patience.attempts_at_once
    broken = {"is_error": True, "text": {"contains": []}}
    replies: dict[str, tuple[JsonObject, JsonObject]] = {
        NO_CONTENT: ({"status": 204}, {"is_error": False}),
        BAD_JSON: (
            {"text": '{"id": 1, "na', "headers": {"Content-Type": "application/json"}},
            _told("JSON"),
        ),
        WRONG_MEDIA_TYPE: (
            {"text": "unheard of", "headers": {"Content-Type": "application/x-unheard-of"}},
            _told("application/x-unheard-of"),
        ),
        REDIRECT: (
            {"status": 302, "text": "", "headers": {"Location": "https://elsewhere.example/"}},
            {**_told("302"), "status": 302},
        ),
        ECHO: ({"status": 400, "fault": "echo"}, {**_told("400"), "status": 400}),
        TIMEOUT: ({"delay_seconds": _DAY}, _told(f"{patience.timeout_seconds:g} seconds")),
        REFUSED: ({"fault": "refused"}, {**broken, "attempts": attempts}),
        RESET: (
            {"fault": "connection"},
            {**broken, "attempts": attempts if is_repeated else 1},
        ),
    }
    return replies[name]


def _told(*parts: str) -> JsonObject:
    return {"is_error": True, "text": {"contains": list(parts)}}


def _status(status: int, method: str, patience: Patience) -> tuple[JsonObject, JsonObject]:
    reply: JsonObject = {"status": status}
    told = [str(status)]
    if status in _NAMING_CREDENTIALS:
        told += patience.variables
    is_repeated = method in _IDEMPOTENT and (
        status in _REPEATED or (status == 500 and method == "GET")
    )
    attempts = 1
    if is_repeated and status in _ASKING_TO_WAIT:
        attempts = patience.attempts_when_told_to_wait
    elif is_repeated:
        attempts = patience.attempts_at_once
    expect: JsonObject = {"status": status, "attempts": attempts}
    if status in _ASKING_TO_WAIT:
        reply["headers"] = {"Retry-After": str(_RETRY_AFTER_SECONDS)}
        told.append(f"{_RETRY_AFTER_SECONDS} seconds")
        expect["waits_seconds"] = _RETRY_AFTER_SECONDS * (attempts - 1)
    return reply, {**_told(*told), **expect}
