"""HTTP requests to an API and their responses, as plain values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.text.media_types import JSON_LINES, essence_of

HeaderFields: TypeAlias = tuple[tuple[str, str], ...]


class ClientCertificate(Struct, frozen=True):
    """The files of a TLS client certificate (a `mutualTLS` security scheme)."""

    certificate_file: str
    key_file: str


class HttpRequest(Struct, frozen=True):
    """An HTTP request to an API, without the `Host` field and the framing, which the sender adds.

    `url` is absolute, percent-encoded and without a fragment. URL, headers and body may contain
    credentials, so `repr` omits them.
    """

    method: str
    url: str
    headers: HeaderFields = ()
    body: bytes | None = None
    max_response_bytes: int = DEFAULT_LIMITS.max_response_bytes  # after decompression
    stream_seconds: float = DEFAULT_LIMITS.stream_seconds  # how long an endless response is read
    client_certificate: ClientCertificate | None = None
    private_addresses_setting: str = ""
    """The settings that would allow a private address, for the error; "" if it is allowed.

    If it is not "", a sender connects only to public addresses (`hosts.is_public_address`), and to
    the same address that it checked.
    """

    def __repr__(self) -> str:
        return f"HttpRequest({self.method!r})"


class HttpResponse(Struct, frozen=True):
    """A response. `body` is decompressed and within the request's bound.

    It is complete unless it is a stream of events or lines that was still open (`is_cut_off`).
    """

    status: int
    headers: HeaderFields = ()
    body: bytes = b""
    is_cut_off: bool = False

    def __repr__(self) -> str:
        return f"HttpResponse({self.status}, {self.headers})"

    def header(self, name: str) -> str:
        """Return the first field with this name, in any case; "" if there is none."""
        return find_field(self.headers, name)


def find_field(fields: HeaderFields, name: str) -> str:
    """Return the first field with this name, in any case; "" if there is none."""
    lowercase = name.lower()
    return next((value for key, value in fields if key.lower() == lowercase), "")


def join_fields(fields: HeaderFields, name: str) -> str:
    """Return the values of all fields with this lower-case name, joined with commas."""
    return ", ".join(value for key, value in fields if key.lower() == name)


_STREAMS = JSON_LINES | {"application/json-seq", "text/event-stream"}


def is_stream(content_type: str) -> bool:
    """Return whether a response of this media type may be endless."""
    return essence_of(content_type) in _STREAMS


Sender: TypeAlias = Callable[[HttpRequest], Awaitable[HttpResponse]]
"""Function that sends a request once. It raises `upstream.errors.UpstreamError` on failure.

It follows no redirect, stores no cookie and never retries: the client decides these.
"""
