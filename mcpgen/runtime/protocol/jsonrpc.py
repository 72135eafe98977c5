"""JSON-RPC 2.0 as MCP narrows it: ids, error codes, encoding."""

from __future__ import annotations

import json
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

JsonObject: TypeAlias = "dict[str, Any]"
RequestId: TypeAlias = str | int
Encode: TypeAlias = "Callable[[Any], bytes]"

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
URL_ELICITATION_REQUIRED: Final = -32042

LOG_LEVELS: Final = (  # least severe first (RFC 5424)
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)

_HTTP_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    METHOD_NOT_FOUND: 404,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode_json(value: Any) -> bytes:
    """Encode compactly with the standard library, whose import is the cheapest.

    Raises:
        ValueError: `value` holds NaN, an infinity or a lone surrogate.
        TypeError: `value` holds something that JSON has no form for.
    """
    return _encoder.encode(value).encode()


def http_status(code: int) -> int:
    """Give the HTTP status that goes with an error code (MCP 2026-07-28, "Transports")."""
    return _HTTP_STATUS.get(code, 200)


def as_id(value: object) -> RequestId | None:
    """Give a value as an id (or progress token) if MCP allows it: a string or an integer."""
    if type(value) is str or type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)  # JSON has one type of number: `1.0` is the integer 1
    return None


def readable_id(message: object) -> RequestId | None:
    """Give the id of whatever was received, if it has one that MCP allows."""
    return as_id(message.get("id")) if isinstance(message, dict) else None
