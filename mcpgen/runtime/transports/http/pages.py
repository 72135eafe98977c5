"""Interface of the web pages that a server has beside its MCP endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from mcpgen.runtime.transports.http.request_head import Header

MAX_FORM_BYTES: Final = 16 * 1024


class PageRequest(NamedTuple):
    """A request of a browser; `fields` has lower-case names, `query` is not decoded."""

    method: str
    path: str
    query: str
    fields: Mapping[bytes, bytes]
    body: bytes


class PageResponse(NamedTuple):
    """A response to a browser; `body` is HTML in UTF-8, or empty."""

    status: int
    body: bytes = b""
    headers: tuple[Header, ...] = ()


class WebPages(Protocol):
    """The pages of a server."""

    def has_path(self, path: str) -> bool:
        """Return whether this is the path of a page."""

    async def answer(self, request: PageRequest) -> PageResponse:
        """Answer a request to such a path."""
