"""One document from an http(s) URL that the user named; nothing else is ever fetched."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import IO
from urllib.parse import urlsplit, urlunsplit

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.spec.limits import Limits

_ACCEPT = "application/json, application/yaml, text/yaml;q=0.9, */*;q=0.5"
_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Fetched:
    """The bytes, and the URL that gave them after redirects, without credentials or query."""

    content: bytes
    url: str


def without_secrets(url: str) -> str:
    """The URL without user information, query and fragment, which may carry credentials."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class _RedirectRefusedError(urllib.error.URLError):
    """The answer leads to another scheme."""


class _SameScheme(urllib.request.HTTPRedirectHandler):
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
        """Follow only to the scheme that the user wrote."""
        scheme = urlsplit(newurl).scheme.lower()
        if scheme != urlsplit(req.full_url).scheme.lower():
            raise _RedirectRefusedError(f"it redirects to a URL with the scheme {scheme!r}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(url: str, problems: Problems, limits: Limits) -> Fetched:
    """Fetch a document within the limits of size and time.

    Raises:
        RejectedError: nothing usable answered.
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
        _SameScheme,
    ):
        opener.add_handler(handler())
    try:
        request = urllib.request.Request(  # noqa: S310  the scheme was checked by `is_url`
            url, headers={"Accept": _ACCEPT, "User-Agent": "mcpgen"}
        )
        with opener.open(request, timeout=limits.fetch_timeout_seconds) as answer:
            content = _read(answer, deadline, limits.max_document_bytes)
            return Fetched(content, without_secrets(answer.geturl()))
    except urllib.error.HTTPError as error:
        error.close()
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
    raise RejectedError


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
    return b"".join(chunks)


def is_url(source: str) -> bool:
    """Whether a source names an http(s) URL and not a file."""
    return source.lower().startswith(("http://", "https://"))
