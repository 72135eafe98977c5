"""What lets pages of an allowed origin use the server from a browser (Fetch Standard, CORS)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpgen.runtime.transports.request_head import Header

# What clients of any revision send, beside `Mcp-Param-*`.
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
_MAX_AGE: Final[Header] = (b"access-control-max-age", b"600")  # seconds; a page asks once


def is_preflight(method: str, fields: Mapping[bytes, bytes]) -> bool:
    """Tell whether a browser asks if a page may send what it wants to."""
    return method == "OPTIONS" and b"access-control-request-method" in fields


def fields_for(origin: bytes) -> tuple[Header, ...]:
    """Give the fields by which a browser shows an answer to the pages of `origin`, and no other.

    They never have it send a cookie along.
    """
    return ((b"access-control-allow-origin", origin), (b"vary", b"origin"), _EXPOSED)


def preflight_fields(fields: Mapping[bytes, bytes]) -> tuple[Header, ...]:
    """Give what a page may send: of the fields that it names those that MCP has."""
    named = fields.get(b"access-control-request-headers", b"").lower().split(b",")
    wanted = [name.strip() for name in named]
    allowed = b", ".join(
        name for name in wanted if name in _REQUEST_FIELDS or name.startswith(_PARAMETER_FIELDS)
    )
    return (_METHODS, (b"access-control-allow-headers", allowed), _MAX_AGE)
