"""Recognition of URLs and removal of their secrets; separate from `fetch`, whose import is slow."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit


def is_url(source: str) -> bool:
    """Return whether a source is an http(s) URL and not a file."""
    return source.lower().startswith(("http://", "https://"))


def strip_secrets(url: str) -> str:
    """Remove user information, query and fragment, which may contain credentials, from a URL."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
