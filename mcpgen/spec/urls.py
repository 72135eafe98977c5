"""URLs that name documents; what fetches them takes a while to import."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit


def is_url(source: str) -> bool:
    """Whether a source names an http(s) URL and not a file."""
    return source.lower().startswith(("http://", "https://"))


def without_secrets(url: str) -> str:
    """The URL without user information, query and fragment, which may carry credentials."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
