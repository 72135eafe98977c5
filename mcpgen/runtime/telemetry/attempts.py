"""Common data of attempts to reach the same operation of an API: name, attributes, durations."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from mcpgen.runtime.telemetry.otlp import CLIENT, Attributes, TextAttribute, encode_shared

if TYPE_CHECKING:
    from mcpgen.runtime.telemetry.metrics import DurationSeries, Metrics

MAX_ATTEMPTS: Final = 1024
MAX_URL: Final = 2048  # characters
_METHODS: Final = frozenset(
    {"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"}
)
_VARIABLE: Final = re.compile(r"\{[^{}]*\}")
FULL_URL: Final = TextAttribute("url.full")


class Attempt(NamedTuple):
    """Requests to the same operation with the same outcome."""

    shared: bytes  # name, kind and attributes of the span, encoded, without `url.full`
    hidden_url: bytes  # `url.full` without arguments, encoded
    durations: DurationSeries | None  # None without metrics


class AttemptTable:
    """Attempts, each described once."""

    def __init__(self, metrics: Metrics | None) -> None:
        self._metrics = metrics
        self.find = lru_cache(MAX_ATTEMPTS)(self._describe)

    def _describe(
        self, method: str, url: str, template: str, status: int, error_type: str
    ) -> Attempt:
        """Describe requests; `url` ends where `template` begins, `status` is 0 for no response."""
        attributes: list[tuple[str, Any]] = [*identify_server(method, url)]
        if status:
            attributes.append(("http.response.status_code", status))
            attributes.append(("network.protocol.version", "1.1"))
        if status >= 400:
            error_type = str(status)
        if error_type:
            attributes.append(("error.type", error_type))
        templates = (("url.template", template),) if template else ()
        name = f"{method if method in _METHODS else 'HTTP'} {template}".rstrip()
        metrics = self._metrics
        return Attempt(
            encode_shared(name, CLIENT, (*attributes, *templates), has_failed=bool(error_type)),
            FULL_URL.encode(_hide_arguments(url, template)),
            None if metrics is None else metrics.attempts.get_series(tuple(attributes)),
        )


def identify_server(method: str, url: str) -> Attributes:
    """Return the method and the server of a request."""
    parts = urlsplit(url)
    return (
        ("http.request.method", method if method in _METHODS else "_OTHER"),
        ("server.address", parts.hostname or ""),
        ("server.port", parts.port or (443 if parts.scheme == "https" else 80)),
    )


def _hide_arguments(url: str, template: str) -> str:
    path = _VARIABLE.sub("REDACTED", template.partition("?")[0].partition("#")[0])
    parts = urlsplit(url)
    text = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{path}"
    return text[:MAX_URL]
