"""JSON-RPC 2.0 as MCP narrows it: ids, error codes, encoding."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
RequestId: TypeAlias = str | int
Encode: TypeAlias = Callable[[Any], bytes]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
URL_ELICITATION_REQUIRED: Final = -32042

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode_json(value: Any) -> bytes:
    """Encode compactly with the standard library, whose import is the cheapest.

    Raises:
        ValueError: `value` holds NaN, an infinity or a lone surrogate.
        TypeError: `value` holds something that JSON has no form for.
    """
    return _encoder.encode(value).encode()


def is_request_id(value: object) -> bool:
    """Tell whether MCP allows this as an id: a string or an integer, and never null."""
    return type(value) is str or type(value) is int
