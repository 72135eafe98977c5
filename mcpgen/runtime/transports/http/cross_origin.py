"""CORS response headers for pages of an allowed origin (Fetch Standard)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpgen.runtime.transports.http.request_head import Header

# Header fields that clients of any revision send, besides `Mcp-Param-*`.
_REQUEST_FIELDS: Final = frozenset(
    {
        b"accept",
        b"authorization",
        b"content-type",
        b"last-event-id",
        b"mcp-method",
        b"mcp-name",
        b"mcp-protocol-version",
        b"mcp-session-id",
    }
)
_PARAMETER_FIELDS: Final = b"mcp-param-"
_EXPOSED: Final[Header] = (
    b"access-control-expose-headers",
    b"mcp-protocol-version, mcp-session-id, retry-after",
)
_METHODS: Final[Header] = (b"access-control-allow-methods", b"GET, POST, DELETE")
_MAX_AGE: Final[Header] = (b"access-control-max-age", b"600")  # seconds


def is_preflight(method: str, fields: Mapping[bytes, bytes]) -> bool:
    """Return whether a request is a CORS preflight."""
    return method == "OPTIONS" and b"access-control-request-method" in fields


def make_cors_fields(origin: bytes) -> tuple[Header, ...]:
    """Return the fields that let pages of `origin`, and no others, read the response.

    They do not allow credentials such as cookies.
    """
    return ((b"access-control-allow-origin", origin), (b"vary", b"origin"), _EXPOSED)


def make_preflight_fields(fields: Mapping[bytes, bytes]) -> tuple[Header, ...]:
    """Return the fields that allow the requested header fields, as far as MCP defines them."""
    named = fields.get(b"access-control-request-headers", b"").lower().split(b",")
    wanted = [name.strip() for name in named]
    allowed = b", ".join(
        name for name in wanted if name in _REQUEST_FIELDS or name.startswith(_PARAMETER_FIELDS)
    )
    return (_METHODS, (b"access-control-allow-headers", allowed), _MAX_AGE)
