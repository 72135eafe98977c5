"""What an API does wrong, by name: its answer, and what a tool must make of that.

Repeating follows the rules for retries in the README of mcpgen's runtime, spelled here anew: only
what is idempotent is repeated, at most twice, and as patiently as `Retry-After` asks.
"""

from __future__ import annotations

from collections.abc import Sequence

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

_ATTEMPTS = 3
_RETRY_AFTER_SECONDS = 7
_IDEMPOTENT = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PUT", "QUERY", "TRACE"})
_REPEATED = frozenset({429, 502, 503, 504})
_NAMING_CREDENTIALS = frozenset({401, 403})
_ASKING_TO_WAIT = frozenset({429, 503})
_DAY = 24 * 60 * 60.0


def failure(name: str, method: str, variables: Sequence[str]) -> tuple[JsonObject, JsonObject]:
    """Give the `reply` and the `expect` of a case; `name` is a status or a name from above.

    `variables` hold the credential that is sent, and are named where the API refuses it.
    """
    if name.isdigit():
        return _status(int(name), method, variables)
    is_repeated = method in _IDEMPOTENT
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
        TIMEOUT: ({"delay_seconds": _DAY}, _told("60 seconds")),
        REFUSED: ({"fault": "refused"}, {**broken, "attempts": _ATTEMPTS}),
        RESET: (
            {"fault": "connection"},
            {**broken, "attempts": _ATTEMPTS if is_repeated else 1},
        ),
    }
    return replies[name]


def _told(*parts: str) -> JsonObject:
    return {"is_error": True, "text": {"contains": list(parts)}}


def _status(status: int, method: str, variables: Sequence[str]) -> tuple[JsonObject, JsonObject]:
    reply: JsonObject = {"status": status}
    told = [str(status)]
    if status in _NAMING_CREDENTIALS:
        told += variables
    is_repeated = method in _IDEMPOTENT and (
        status in _REPEATED or (status == 500 and method == "GET")
    )
    attempts = _ATTEMPTS if is_repeated else 1
    expect: JsonObject = {"status": status, "attempts": attempts}
    if status in _ASKING_TO_WAIT:
        reply["headers"] = {"Retry-After": str(_RETRY_AFTER_SECONDS)}
        told.append(f"{_RETRY_AFTER_SECONDS} seconds")
        expect["waits_seconds"] = _RETRY_AFTER_SECONDS * (attempts - 1)
    return reply, {**_told(*told), **expect}
