"""Messages to send, the streams that carry them, and changes that clients subscribe to."""

from __future__ import annotations

from collections.abc import Hashable

from mcpgen.runtime.protocol.jsonrpc import JsonObject, RequestId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

Stream: TypeAlias = Hashable
"""The transport's name of the stream that carried a request and carries its response. None is the
connection as a whole: the pipe of stdio, or the legacy GET stream of HTTP."""


class Outgoing:
    """One encoded message, ready to be written."""

    __slots__ = ("data", "http_status", "is_last", "stream")

    def __init__(
        self, data: bytes, stream: Stream = None, is_last: bool = False, http_status: int = 200
    ) -> None:
        # Without line breaks. If empty, nothing is written: the stream has ended, or (unless
        # `is_last`) the client has to fetch the rest over another connection (SSE polling).
        self.data = data
        self.stream = stream
        self.is_last = is_last  # every request of the stream is answered: close it after this
        self.http_status = http_status  # if nothing was written on the stream before


class Batch:
    """The responses to the elements of one JSON array (2025-03-26), until all are present."""

    __slots__ = ("pending", "responses", "stream")

    def __init__(self, stream: Stream, pending: int) -> None:
        self.stream = stream
        self.pending = pending
        self.responses: list[bytes] = []


class Subscription:
    """An open `subscriptions/listen` request; `notifications` is the filter that is honoured."""

    __slots__ = ("id", "notifications", "stream")

    def __init__(self, id: RequestId, stream: Stream, notifications: JsonObject) -> None:
        self.id = id
        self.stream = stream
        self.notifications = notifications


class Change:
    """A change in the server that clients subscribe to; two strings, to be sent across processes.

    `kind` is "tools", "prompts" or "resources" (the list changed), "resource" (the resource at the
    URI `subject` changed) or "elicitation" (the user completed the one with the id `subject`).
    """

    __slots__ = ("kind", "subject")

    def __init__(self, kind: str, subject: str = "") -> None:
        self.kind = kind
        self.subject = subject
