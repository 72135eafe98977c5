"""JSON-RPC 2.0 with the restrictions of MCP: ids, error codes, encoding."""

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
    """Encode compactly with the standard library, which is the cheapest to import.

    Raises:
        ValueError: `value` contains NaN, an infinity or a lone surrogate.
        TypeError: `value` contains an object that JSON cannot represent.
    """
    return _encoder.encode(value).encode()


def http_status(code: int) -> int:
    """Return the HTTP status for an error code (MCP 2026-07-28, "Transports")."""
    return _HTTP_STATUS.get(code, 200)


def parse_id(value: object) -> RequestId | None:
    """Return an id or a progress token as a string or an integer; None if it is invalid."""
    if type(value) is str or type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)  # JSON has one type of number: `1.0` is the integer 1
    return None


def read_id(message: object) -> RequestId | None:
    """Return the id of a decoded message; None if it has no valid one."""
    return parse_id(message.get("id")) if isinstance(message, dict) else None


def error_message(
    code: int, message: str, data: Any = None, request_id: RequestId | None = None
) -> JsonObject:
    """Return an error response, without `id` if the request has no readable one.

    JSON-RPC 2.0 requires null in that case, which no schema of MCP allows.
    """
    error: JsonObject = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    response: JsonObject = {"jsonrpc": "2.0"}
    if request_id is not None:
        response["id"] = request_id
    response["error"] = error
    return response


PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
