"""The server's half of MCP for one client connection: messages in, messages out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcpgen.runtime.protocol.jsonrpc import Encode, RequestId, encode_json
from mcpgen.runtime.protocol.messages import Change, Event, Outgoing, Stream
from mcpgen.runtime.protocol.offering import Offering
from mcpgen.runtime.protocol.session import LegacySession

Headers = Sequence[tuple[bytes, bytes]]
"""HTTP headers as ASGI gives them: names in lower case, repeated ones repeated."""


def is_modern(message: Any, headers: Headers | None) -> bool:
    """Tell the era of a decoded message: True for the stateless revisions (protocol.md, 4).

    An HTTP transport asks this to know whether a legacy session must be looked up.
    """
    raise NotImplementedError


class ServerProtocol:
    """The server's half of MCP for one peer, without I/O, tasks or a clock.

    One object for a stdio pipe, for a legacy HTTP session, or for a single POST of a modern
    client. Feed it with `receive`; after that, and after every method of a `Call`, write what
    `messages_to_send` hands over.
    """

    def __init__(
        self,
        offering: Offering,
        *,
        session: LegacySession | None = None,
        encode: Encode = encode_json,
    ) -> None:
        self.offering = offering
        self.session = session  # set by `initialize`; a transport may restore a stored one
        self.encode = encode  # replaced by a faster one when the hot path starts

    def receive(
        self,
        message: Any,
        *,
        stream: Stream = None,
        headers: Headers | None = None,
        principal: str = "",
    ) -> list[Event]:
        """Take one decoded message (or batch) and give what the driver must act on.

        `headers` is None where the transport has none, else the routing headers are held
        against the body. Answers that need no handler are in the outbox afterwards.
        """
        raise NotImplementedError

    def refuse(
        self,
        code: int,
        message: str,
        *,
        stream: Stream = None,
        request_id: RequestId | None = None,
        http_status: int = 400,
    ) -> None:
        """Answer something that could not be decoded, or is over a limit, with an error."""
        raise NotImplementedError

    def messages_to_send(self) -> list[Outgoing]:
        """Hand over what is ready to be written, oldest first, and forget it."""
        raise NotImplementedError

    def is_waiting(self, stream: Stream) -> bool:
        """Tell whether a request that came on `stream` is still to be answered."""
        raise NotImplementedError

    def calls_in_flight(self) -> int:
        """Count the calls that a handler works on; open `subscriptions/listen` are not calls."""
        raise NotImplementedError

    def disconnect(self, stream: Stream) -> list[Event]:
        """Note that nobody reads `stream` any more.

        Gives `CallCancelled` for each call that ends with it: modern ones. A legacy call goes on
        and its answer still comes out of the outbox, for replay.
        """
        raise NotImplementedError

    def announce(self, change: Change) -> None:
        """Tell this peer of a change, on each stream where it asked to be told."""
        raise NotImplementedError

    def cancel_client_request(self, request_id: RequestId, reason: str) -> None:
        """Give up on a request to the client (a timeout), and tell the client so."""
        raise NotImplementedError

    def close(self, reason: str) -> list[Event]:
        """End everything: calls in flight are answered with an error, listens end in order.

        Gives `CallCancelled` for each call whose handler still runs.
        """
        raise NotImplementedError
