"""One client's connection: its session, its open requests, and the messages to send to it.

A `Request` answers through this object, so that it needs nothing of the server that parses
messages. `ServerProtocol` extends it with the parsing.
"""

from __future__ import annotations

from mcpgen.runtime.protocol.jsonrpc import (
    SUBSCRIPTION_ID,
    Encode,
    JsonObject,
    RequestId,
    encode_json,
    error_message,
)
from mcpgen.runtime.protocol.messages import Batch, Outgoing, Stream, Subscription
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.session import LegacySession
from mcpgen.runtime.protocol.versions import REVISION_2026_07_28

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ClientConnection:
    """State of one client's connection, and its outbox."""

    __slots__ = (
        "_unanswered",
        "address",
        "definition",
        "encode",
        "in_flight",
        "outbox",
        "session",
        "subscriptions",
    )

    def __init__(
        self,
        definition: ServerDefinition,
        session: LegacySession | None = None,
        encode: Encode = encode_json,
        address: str = "",
    ) -> None:
        self.definition = definition
        self.address = address  # of the client: "192.0.2.7"; "" where there is only one client
        self.session = session  # set by `initialize`; a transport may restore a stored one
        self.encode = encode  # replaced by a faster encoder when the first call arrives
        self.in_flight: dict[RequestId, Any] = {}  # each `Request` that a handler works on
        self.subscriptions: dict[RequestId, Subscription] = {}  # open ones, by the request's id
        self._unanswered: dict[RequestId, Stream] = {}  # requests that the client has not answered
        self.outbox: list[Outgoing] = []

    def messages_to_send(self) -> list[Outgoing]:
        """Return the messages that are ready to send, oldest first, and clear the queue."""
        ready, self.outbox = self.outbox, []
        return ready

    def refuse(
        self, code: int, message: str, *, stream: Stream = None, id: RequestId | None = None
    ) -> None:
        """Send an error for a message that cannot be decoded or exceeds a limit."""
        data = self.encode(error_message(code, message, None, id))
        self.outbox.append(Outgoing(data, stream, True, http_status=400))

    def notify(self, method: str, params: JsonObject, stream: Stream = None) -> None:
        """Send a notification; an empty `params` is omitted."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        if params:
            message["params"] = params
        self.outbox.append(Outgoing(self.encode(message), stream))

    def add_envelope(self, result: JsonObject, method: str, definition: ServerDefinition) -> None:
        """Add the members that every result of a modern revision has.

        `definition` is the server as this client sees it.
        """
        if "resultType" not in result:
            result["resultType"] = "complete"
        if method in REVISION_2026_07_28.cacheable and result["resultType"] == "complete":
            is_list = method != "resources/read"
            result.setdefault("ttlMs", definition.ttl_ms if is_list else 0)
            result.setdefault("cacheScope", definition.cache_scope if is_list else "private")
        meta = definition.result_meta
        result["_meta"] = {**meta, **result["_meta"]} if "_meta" in result else meta

    def end_stream(self, stream: Stream, batch: Batch | None = None) -> None:
        """End the stream of a request that gets no response."""
        if batch is not None:
            self.settle(batch, None)
        elif stream is not None:
            self.outbox.append(Outgoing(b"", stream, True))

    def settle(self, batch: Batch, response: bytes | None) -> None:
        """Count an element of a batch as answered; send the batch after its last one."""
        batch.pending -= 1
        if response is not None:
            batch.responses.append(response)
        if batch.pending == 0 and (batch.responses or batch.stream is not None):
            data = b"[" + b",".join(batch.responses) + b"]" if batch.responses else b""
            self.outbox.append(Outgoing(data, batch.stream, True))

    def ask_client(self, method: str, params: JsonObject, stream: Stream) -> RequestId:
        """Send a request to the client of a legacy session; return its id.

        Raises:
            ValueError: there is no session.
        """
        session = self.session
        if session is None:
            raise ValueError("requests to the client need a session")
        request_id = session.take_request_id()
        self._unanswered[request_id] = stream
        if "elicitationId" in params:
            session.expect_elicitation(params["elicitationId"])
        message: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params:
            message["params"] = params
        self.outbox.append(Outgoing(self.encode(message), stream))
        return request_id

    def awaits_answer(self, request_id: RequestId | None) -> bool:
        """Return whether the client has not answered this request."""
        return request_id in self._unanswered

    def cancel_client_request(self, request_id: RequestId, reason: str) -> None:
        """Cancel a request to the client; do nothing if the client has answered it."""
        if request_id in self._unanswered:
            stream = self._unanswered.pop(request_id)
            self.notify(
                "notifications/cancelled", {"requestId": request_id, "reason": reason}, stream
            )

    @property
    def listens_to_tasks(self) -> bool:
        """Whether the client listens to tasks."""
        return any("taskIds" in it.notifications for it in self.subscriptions.values())

    def announce_task(self, task: JsonObject) -> bool:
        """Send a task to each stream that listens to it; return whether there is one."""
        listening = [
            it
            for it in self.subscriptions.values()
            if task["taskId"] in it.notifications.get("taskIds", ())
        ]
        for each in listening:
            params = {"_meta": {SUBSCRIPTION_ID: each.id}, **task}
            self.notify("notifications/tasks", params, each.stream)
        return bool(listening)

    def subscribe(self, subscription: Subscription) -> None:
        """Keep a `subscriptions/listen` request open, and acknowledge its filter."""
        self.subscriptions[subscription.id] = subscription
        params = {
            "_meta": {SUBSCRIPTION_ID: subscription.id},
            "notifications": subscription.notifications,
        }
        self.notify("notifications/subscriptions/acknowledged", params, subscription.stream)
