"""Download of an OpenAPI document from an http(s) URL, with limits of size, time and redirects."""

from __future__ import annotations

import http
import http.client
import re
import time
import urllib.error
import urllib.request
from typing import IO
from urllib.parse import urlsplit

from msgspec import Struct

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.openapi.source.source_text import Limits
from mcpgen.openapi.source.urls import strip_secrets

_ACCEPT = "application/json, application/yaml, text/yaml;q=0.9, */*;q=0.5"
_CHUNK_BYTES = 64 * 1024
_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,200}"\Z')


class Download(Struct, frozen=True):
    """A downloaded document; `url` is the final URL, without credentials or query.

    `etag` is its entity tag (RFC 9110, section 8.8.3), or "".
    """

    content: bytes
    url: str
    etag: str = ""


class UnreachableError(RejectedError):
    """The document could not be downloaded."""


class NotModifiedError(Exception):
    """The document still has the entity tag of the request (status 304)."""


class _SameOrigin(urllib.request.HTTPRedirectHandler):
    max_redirections = 5

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Follow a redirect only within the origin that the user named."""
        if _origin(newurl) != _origin(req.full_url):
            raise urllib.error.URLError(
                f"it redirects to another origin, {strip_secrets(newurl)};"
                " use that URL if you trust it"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(scheme)


def fetch(url: str, problems: Problems, limits: Limits, *, known_etag: str = "") -> Download:
    """Download a document within the limits of size and time.

    Raises:
        UnreachableError: the document could not be downloaded.
        NotModifiedError: the entity tag of the document is still `known_etag`.
    """
    shown = strip_secrets(url)
    deadline = time.monotonic() + limits.fetch_timeout_seconds
    # Only http and https: the default opener would also follow redirects to file: and ftp:.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        _SameOrigin,
    ):
        opener.add_handler(handler())
    try:
        request = urllib.request.Request(  # noqa: S310  the scheme was checked by `is_url`
            url, headers={"Accept": _ACCEPT, "User-Agent": "mcpgen"}
        )
        if known_etag:
            request.add_header("If-None-Match", known_etag)
        with opener.open(request, timeout=limits.fetch_timeout_seconds) as answer:
            content = _read(answer, deadline, limits.max_document_bytes)
            etag = answer.headers.get("ETag", "")
            final_url = strip_secrets(answer.geturl())
            return Download(content, final_url, etag if _ETAG.match(etag) else "")
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.NOT_MODIFIED and known_etag:
            raise NotModifiedError from None
        reason = f"the server returned {error.code} {error.reason}"
    except urllib.error.URLError as error:
        reason = getattr(error.reason, "strerror", None) or str(error.reason)
    except TimeoutError:
        reason = f"no complete response within {limits.fetch_timeout_seconds:g} seconds"
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
    problems.error(
        "fetch",
        f"cannot download {shown}: {reason}",
        at=Location(shown),
        why="there is no document to generate from",
        help="check the URL, or download the document and pass the path of the file",
    )
    raise UnreachableError


def _read(answer: http.client.HTTPResponse, deadline: float, max_bytes: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := answer.read1(_CHUNK_BYTES):
        chunks.append(chunk)
        size += len(chunk)
        if size > max_bytes:
            raise ValueError(f"it is larger than {max_bytes:,} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
    if answer.length:  # `read1` ignores it, and a truncated document may be valid
        raise ValueError(f"the response is {answer.length:,} bytes too short")
    return b"".join(chunks)
