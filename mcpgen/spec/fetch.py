"""One document from an http(s) URL that the user named; nothing else is ever fetched."""

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
from mcpgen.spec.limits import Limits
from mcpgen.spec.urls import without_secrets

_ACCEPT = "application/json, application/yaml, text/yaml;q=0.9, */*;q=0.5"
_CHUNK_BYTES = 64 * 1024
_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,200}"\Z')


class Fetched(Struct, frozen=True):
    """The bytes, and the URL that gave them after redirects, without credentials or query.

    `etag` is what the server calls them (RFC 9110, section 8.8.3); "" if it does not say.
    """

    content: bytes
    url: str
    etag: str = ""


class UnreachableError(RejectedError):
    """Nothing usable answered."""


class NotModifiedError(Exception):
    """The server still has what it called by the entity tag that it was asked with."""


class _RedirectRefusedError(urllib.error.URLError):
    """The answer leads to another origin."""


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
        """Follow only within the origin that the user wrote, so to no other network's addresses."""
        if _origin(newurl) != _origin(req.full_url):
            raise _RedirectRefusedError(
                f"it redirects to another origin, {without_secrets(newurl)};"
                " name that URL if you trust it"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(scheme)


def fetch(url: str, problems: Problems, limits: Limits, *, known_etag: str = "") -> Fetched:
    """Fetch a document within the limits of size and time.

    Raises:
        UnreachableError: nothing usable answered.
        NotModifiedError: the server still has the document that it called `known_etag`.
    """
    shown = without_secrets(url)
    deadline = time.monotonic() + limits.fetch_timeout_seconds
    # http and https alone: the default opener would also read file: and ftp: after a redirect.
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
            return Fetched(content, without_secrets(answer.geturl()), etag if _fits(etag) else "")
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.NOT_MODIFIED and known_etag:
            raise NotModifiedError from None
        reason = f"it answered {error.code} {error.reason}"
    except urllib.error.URLError as error:
        reason = getattr(error.reason, "strerror", None) or str(error.reason)
    except TimeoutError:
        reason = f"no whole answer within {limits.fetch_timeout_seconds:g} seconds"
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
    problems.error(
        "fetch",
        f"no document came from {shown}: {reason}",
        at=Location(shown),
        why="there is nothing to generate from",
        help="check the URL, or download the document and name the file",
    )
    raise UnreachableError


def _fits(etag: str) -> bool:
    """Whether an entity tag is one, short enough to be kept, and safe in a header."""
    return bool(_ETAG.match(etag))


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
    if answer.length:  # which `read1` does not look at, and half a document may be one, too
        raise ValueError(f"it ended {answer.length:,} bytes before its end")
    return b"".join(chunks)
