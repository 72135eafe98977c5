"""Heads of HTTP requests that were parsed before, and need not be parsed again."""

from __future__ import annotations

from typing import Final, NamedTuple

from mcpgen.runtime.transports.http_exchange import Scope
from mcpgen.runtime.transports.request_head import RequestHead

MAX_HEADS: Final = 256
MAX_HEAD_BYTES: Final = 4096
END_OF_HEAD: Final = b"\r\n\r\n"
_OF_CONNECTION: Final = frozenset({"client", "server", "state", "extensions"})


class KnownHead(NamedTuple):
    """What was made of a head: its scope but for the connection, its fields, its body's length."""

    scope: Scope
    head: RequestHead
    body_bytes: int


class KnownHeads:
    """The newest heads of a server's requests, by their bytes, up to the empty line.

    Clients send the same ones again and again: what differs between two calls is in the body.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, KnownHead | None] = {}  # None: it has come once
        self.find = self._known.get

    def add(self, head: bytes, scope: Scope, body_bytes: int) -> None:
        """Remember a head as it was parsed, if it comes again: some clients say ever new things."""
        if len(head) > MAX_HEAD_BYTES:
            return
        if head not in self._known:
            if len(self._known) >= MAX_HEADS:
                del self._known[next(iter(self._known))]
            self._known[head] = None
            return
        of_all = {key: value for key, value in scope.items() if key not in _OF_CONNECTION}
        self._known[head] = KnownHead(of_all, RequestHead(scope["headers"]), body_bytes)
