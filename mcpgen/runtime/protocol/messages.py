"""What passes between the protocol core and whoever drives it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcpgen.runtime.protocol.jsonrpc import JsonObject, RequestId

if TYPE_CHECKING:
    from mcpgen.runtime.protocol.call import Call

Stream: TypeAlias = Hashable
"""The transport's own name for where a message came from and its answers go; None is the
connection as a whole (stdio's pipe; over HTTP the legacy GET stream)."""


class Outgoing(NamedTuple):
    """One encoded message, ready to be written."""

    data: bytes  # no line break inside; b"": nothing to write, the stream has only ended, or
    # (where `is_last` is not set) the client is to come back for the rest: SSE polling
    stream: Stream = None
    is_last: bool = False  # all requests of the stream are answered: close it after this
    http_status: int = 200  # if nothing was written on the stream before


class CallCancelled(NamedTuple):
    """A call whose handler must stop; nothing more is sent for it."""

    call: Call
    reason: str = ""


class ClientAnswer(NamedTuple):
    """The client's response to a request of ours: `result` or `error`, never both."""

    request_id: RequestId
    result: JsonObject | None = None
    error: JsonObject | None = None


class SessionOpened(NamedTuple):
    """`initialize` was answered; over HTTP the moment to mint a session id."""


class RootsChanged(NamedTuple):
    """The client's roots are not what they were."""


class Change(NamedTuple):
    """What changed in the server, for whoever listens. JSON-able, so that processes can share it.

    `kind` is "tools", "prompts" or "resources" (the list changed), or "resource" (`uri` did).
    """

    kind: str
    uri: str = ""


Event: TypeAlias = "Call | CallCancelled | ClientAnswer | SessionOpened | RootsChanged"
