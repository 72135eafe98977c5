"""Common data of requests with equal tool, revision and outcome: name, attributes, durations."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcpgen.runtime.protocol.jsonrpc import INTERNAL_ERROR
from mcpgen.runtime.telemetry.otlp import SERVER, Attributes, TextAttribute, encode_shared

if TYPE_CHECKING:
    from mcpgen.runtime.telemetry.metrics import DurationSeries, Metrics

MAX_OPERATIONS: Final = 2048
_NOT_FOUND: Final = -32002  # of older revisions: the client asked for something unknown
_CLIENT_ADDRESS: Final = TextAttribute("client.address")


class Operation(NamedTuple):
    """Requests that differ only in what `Observation` adds to their spans."""

    shared: bytes  # name, kind and attributes of the span, encoded
    durations: DurationSeries | None  # None without metrics


class OperationTable:
    """Operations, each described once."""

    def __init__(self, transport: Attributes, metrics: Metrics | None) -> None:
        """Create a table; `transport` are the attributes of the transport."""
        self._transport = transport
        self._metrics = metrics
        self.find = lru_cache(MAX_OPERATIONS)(self._describe)

    def _describe(
        self, method: str, target: str, version: str, outcome: str, code: int
    ) -> Operation:
        """Describe requests; `target` is a tool or prompt, `code` 0 without a JSON-RPC error."""
        error_type = classify_error(outcome, code)
        attributes = describe_operation(method, target, version, error_type, code)
        attributes = (*attributes, *self._transport)
        name = f"{method} {target}" if target else method
        metrics = self._metrics
        return Operation(
            encode_shared(name, SERVER, attributes, has_failed=bool(error_type)),
            None if metrics is None else metrics.operations.get_series(attributes),
        )


def describe_operation(
    method: str, target: str, version: str, error_type: str, code: int
) -> Attributes:
    """Return the attributes of the conventions for MCP, without those of the transport."""
    attributes: list[tuple[str, Any]] = [("mcp.method.name", method)]
    if method == "tools/call":
        attributes.append(("gen_ai.operation.name", "execute_tool"))
        if target:
            attributes.append(("gen_ai.tool.name", target))
    elif target:
        attributes.append(("gen_ai.prompt.name", target))
    if error_type:
        attributes.append(("error.type", error_type))
    if code:
        attributes.append(("rpc.response.status_code", str(code)))
    if version:
        attributes.append(("mcp.protocol.version", version))
    return tuple(attributes)


def classify_error(outcome: str, code: int) -> str:
    """Return `error.type`; "" for a request that did not fail because of the server.

    The semantic conventions for MCP count -32603 and -32000 to -32099 as errors. The client
    caused the others, and a resource that is not found.
    """
    if outcome == "tool_error":
        return outcome
    is_error = code == INTERNAL_ERROR or -32099 <= code <= -32000
    return str(code) if is_error and code != _NOT_FOUND else ""


@lru_cache(maxsize=1024)
def encode_client_address(address: str) -> bytes:
    """Encode `client.address`; nothing for IPv6, of which only the network is known."""
    return _CLIENT_ADDRESS.encode(address) if address and ":" not in address else b""
