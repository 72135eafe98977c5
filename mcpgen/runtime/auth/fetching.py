"""Bounded requests to issuers of access tokens: metadata, keys and introspection."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from msgspec import json

from mcpgen.runtime.auth.errors import IssuerUnavailableError
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.messages import HeaderFields, HttpRequest, Sender
from mcpgen.text.hosts import origin_of

MAX_DOCUMENT_BYTES: Final = 512 * 1024
FETCH_SECONDS: Final = 10.0


class IssuerClient:
    """HTTP client for issuers: bounded in time and size, without redirects and retries."""

    def __init__(self, send: Sender, *, timeout_seconds: float = FETCH_SECONDS) -> None:
        self._send = send
        self._timeout_seconds = timeout_seconds

    async def fetch(self, url: str) -> dict[str, Any] | None:
        """Return the JSON object at a URL; None if there is none.

        Raises:
            IssuerUnavailableError: there is no response, or it is a server error.
        """
        request = HttpRequest(
            "GET",
            url,
            (("Accept", "application/json"),),
            max_response_bytes=MAX_DOCUMENT_BYTES,
        )
        return await self._exchange(request)

    async def post(self, url: str, headers: HeaderFields, body: bytes) -> dict[str, Any] | None:
        """Send a form; return the JSON object of the response, None if there is none.

        Raises:
            IssuerUnavailableError: there is no response, or it is a server error.
        """
        fields = (
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Accept", "application/json"),
            *headers,
        )
        request = HttpRequest("POST", url, fields, body, max_response_bytes=MAX_DOCUMENT_BYTES)
        return await self._exchange(request)

    async def _exchange(self, request: HttpRequest) -> dict[str, Any] | None:
        origin = origin_of(request.url)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response = await self._send(request)
        except (ConfigurationError, UpstreamError) as error:
            raise IssuerUnavailableError(f"a request to {origin} {error}") from None
        except TimeoutError:
            raise IssuerUnavailableError(
                f"a request to {origin} was not answered within {self._timeout_seconds:g} seconds"
            ) from None
        if response.status >= 500 or response.status == 429:
            raise IssuerUnavailableError(f"{origin} returned status {response.status}")
        if response.status != 200:
            return None
        try:
            decoded = json.decode(response.body)
        except (ValueError, RecursionError):
            return None
        return decoded if isinstance(decoded, dict) else None
