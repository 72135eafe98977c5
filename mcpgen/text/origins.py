"""Origins of URLs (RFC 6454), and the comparison with origins confirmed for credentials."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from mcpgen.text.hosts import canonical_host

_DEFAULT_PORTS = {"http": 80, "https": 443}
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_ONE_LABEL = "[a-z0-9-]+"


@lru_cache(maxsize=256)
def origin_of(url: str) -> str:
    """Return the origin of an absolute URL (RFC 6454): "https://api.example.com:8443".

    The host is in its canonical form, and a default port is omitted. A URL without a host, or with
    an invalid port, has the origin "".
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if not parts.hostname:
        return ""
    scheme, host = parts.scheme.lower(), canonical_host(parts.hostname)
    bracketed = f"[{host}]" if ":" in host else host
    return f"{scheme}://{bracketed}" + (
        "" if port in (None, _DEFAULT_PORTS.get(scheme)) else f":{port}"
    )


def is_confirmed_origin(origin: str, confirmed: Iterable[str]) -> bool:
    """Return whether an origin is one of the confirmed origins.

    A `{placeholder}` in a confirmed origin matches a label of the host, or a part of one:
    "https://{region}.example.com".
    """
    return bool(origin) and any(_matches(origin, each) for each in confirmed)


def _matches(origin: str, confirmed: str) -> bool:
    if "{" not in confirmed:
        return origin == origin_of(confirmed)
    pieces = _PLACEHOLDER.split(confirmed.rstrip("/").lower())
    return re.fullmatch(_ONE_LABEL.join(map(re.escape, pieces)), origin) is not None
