"""The reserved `_meta` keys of 2026-07-28, and what a request says in them."""

from __future__ import annotations

from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.protocol.call import Call
from mcpgen.runtime.protocol.jsonrpc import INVALID_PARAMS, LOG_LEVELS, JsonObject, as_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"


def read_request_meta(call: Call, meta: JsonObject) -> None:
    """Take over what a modern request says of its client; nothing is known from elsewhere.

    Raises:
        ProtocolError: the log level is none that MCP has.
    """
    call.client_capabilities = meta[CLIENT_CAPABILITIES]
    if "progressToken" in meta:
        call.progress_token = as_id(meta["progressToken"])
    if LOG_LEVEL in meta:
        if meta[LOG_LEVEL] not in LOG_LEVELS:
            raise ProtocolError(INVALID_PARAMS, f"{LOG_LEVEL!r} is one of {', '.join(LOG_LEVELS)}")
        call.log_level = meta[LOG_LEVEL]
