"""HTTP session of the exporter of spans."""

from __future__ import annotations

import os
from typing import Any, Final

import requests

_CREDENTIAL_PROVIDERS: Final = (
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER",
)


class ExportSession(requests.Session):
    """Session that finds the proxy and the certificates of each URL once, and its headers.

    `requests` reads all environment variables twice for each request and prepares it from nothing,
    which takes two thirds of the instructions of an export.
    """

    def __init__(self) -> None:
        super().__init__()
        self._settings: dict[str, Any] = {}
        self._prepared: requests.PreparedRequest | None = None

    def merge_environment_settings(self, url: Any, *options: Any, **more: Any) -> Any:
        """Return the settings of requests to a URL; the exporter's other options never change."""
        if url not in self._settings:
            self._settings[url] = super().merge_environment_settings(url, *options, **more)
        return self._settings[url]

    def prepare_request(self, request: requests.Request) -> requests.PreparedRequest:
        """Return a request of the exporter: the former one with a new body, unless it differs."""
        prepared, body = self._prepared, request.data
        if (
            not isinstance(body, bytes)
            or prepared is None
            or prepared.url != request.url
            or self.cookies
        ):
            self._prepared = super().prepare_request(request)
            return self._prepared
        prepared.body = body
        prepared.headers["Content-Length"] = str(len(body))
        return prepared


def make_session() -> requests.Session | None:
    """Return the session to export with; None if a credential provider has to make it."""
    if any(os.environ.get(name) for name in _CREDENTIAL_PROVIDERS):
        return None
    return ExportSession()
