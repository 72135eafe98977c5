"""What passes between the protocol core and whoever drives it."""

from __future__ import annotations

from collections.abc import Hashable

from mcpgen.runtime.protocol.jsonrpc import JsonObject, RequestId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from mcpgen.runtime.protocol.call import Call

Stream: TypeAlias = Hashable
"""The transport's own name for where a message came from and its answers go; None is the
connection as a whole (stdio's pipe; over HTTP the legacy GET stream)."""


class Outgoing:
    """One encoded message, ready to be written."""

    __slots__ = ("data", "http_status", "is_last", "stream")

    def __init__(
        self, data: bytes, stream: Stream = None, is_last: bool = False, http_status: int = 200
    ) -> None:
        # No line break inside. Empty: nothing to write, the stream has only ended, or (where
        # `is_last` is not set) the client is to come back for the rest: SSE polling.
        self.data = data
        self.stream = stream
        self.is_last = is_last  # all requests of the stream are answered: close it after this
        self.http_status = http_status  # if nothing was written on the stream before


class CallCancelled:
    """A call whose handler must stop; nothing more is sent for it."""

    __slots__ = ("call", "reason")

    def __init__(self, call: Call, reason: str = "") -> None:
        self.call = call
        self.reason = reason


class ClientAnswer:
    """The client's response to a request of ours: `result` or `error`, never both."""

    __slots__ = ("error", "request_id", "result")

    def __init__(
        self,
        request_id: RequestId,
        result: JsonObject | None = None,
        error: JsonObject | None = None,
    ) -> None:
        self.request_id = request_id
        self.result = result
        self.error = error


class SessionOpened:
    """`initialize` was answered; over HTTP the moment to mint a session id."""

    __slots__ = ()


class RootsChanged:
    """The client's roots are not what they were."""

    __slots__ = ()


class Change:
    """What changed in the server, for whoever listens; two strings, so that processes can share it.

    `kind` is "tools", "prompts" or "resources" (the list changed), "resource" (the one at the URI
    `subject` did) or "elicitation" (the user has finished, at its URL, the one with this id).
    """

    __slots__ = ("kind", "subject")

    def __init__(self, kind: str, subject: str = "") -> None:
        self.kind = kind
        self.subject = subject


Event: TypeAlias = "Call | CallCancelled | ClientAnswer | SessionOpened | RootsChanged"
