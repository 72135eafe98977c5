"""A request to the API and its response, as plain values: what every sender takes and gives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

HeaderFields: TypeAlias = tuple[tuple[str, str], ...]

MAX_RESPONSE_BYTES = 10 * 1024 * 1024
STREAM_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """The files of a TLS client certificate (a `mutualTLS` security scheme)."""

    certificate_file: str
    key_file: str


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What goes out, byte for byte. A sender adds `Host` and framing, and changes nothing.

    `url` is absolute, percent-encoded and without a fragment. It, the headers and the body may
    hold credentials, so they are left out of the representation.
    """

    method: str
    url: str = field(repr=False)
    headers: HeaderFields = field(default=(), repr=False)
    body: bytes | None = field(default=None, repr=False)
    max_response_bytes: int = MAX_RESPONSE_BYTES  # after decompression
    stream_seconds: float = STREAM_SECONDS  # how long an endless response is listened to
    client_certificate: ClientCertificate | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What came back: `body` is decompressed and within the request's bound.

    It is whole, unless the response is a stream of events or lines that went on: then it
    `is_cut_off`.
    """

    status: int
    headers: HeaderFields = ()
    body: bytes = field(default=b"", repr=False)
    is_cut_off: bool = False

    def header(self, name: str) -> str:
        """The first field of this name, whatever its case; "" when there is none."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")


_STREAMS = frozenset(
    {
        "application/json-lines", "application/json-seq", "application/jsonl",
        "application/jsonlines", "application/ndjson", "application/x-jsonlines",
        "application/x-ndjson", "text/event-stream", "text/x-ndjson",
    }
)  # fmt: skip


def is_stream(content_type: str) -> bool:
    """Whether a response of this media type may go on without an end."""
    return content_type.partition(";")[0].strip().lower() in _STREAMS


Sender: TypeAlias = Callable[[HttpRequest], Awaitable[HttpResponse]]
"""Sends one request once. Raises `upstream.errors.UpstreamError` when no response came back.

Follows no redirect, keeps no cookie and never retries: those are decisions of the client.
"""
