"""Identifiers of resources: the URLs for which access tokens are issued (RFC 8707)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit, urlunsplit

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


def canonicalize(identifier: str) -> str:
    """Return a URL with lower-case scheme and host, without default port and trailing slash.

    Any other text is returned unchanged: an audience need not be a URL.
    """
    try:
        parts = urlsplit(identifier)
    except ValueError:
        return identifier
    scheme, authority = parts.scheme.lower(), parts.netloc.lower()
    if scheme not in _DEFAULT_PORTS or not authority:
        return identifier
    authority = authority.removesuffix(_DEFAULT_PORTS[scheme])
    return urlunsplit((scheme, authority, parts.path.rstrip("/"), parts.query, ""))


def is_audience(claim: object, accepted: Iterable[str]) -> bool:
    """Return whether an `aud` claim names one of the accepted audiences, which are canonical."""
    named = [claim] if isinstance(claim, str) else claim
    if not isinstance(named, list):
        return False
    accepted = frozenset(accepted)
    return any(isinstance(it, str) and canonicalize(it) in accepted for it in named)


def make_metadata_url(resource: str) -> str:
    """Return the URL of a resource's metadata (RFC 9728, section 3.1)."""
    parts = urlsplit(resource)
    return urlunsplit((parts.scheme, parts.netloc, WELL_KNOWN + parts.path, parts.query, ""))
