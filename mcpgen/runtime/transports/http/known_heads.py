"""Cache of parsed HTTP request heads."""

from __future__ import annotations

from typing import Final, NamedTuple

from mcpgen.runtime.transports.http.request_head import RequestHead

MAX_HEADS: Final = 256
MAX_HEAD_BYTES: Final = 4096
END_OF_HEAD: Final = b"\r\n\r\n"


class KnownHead(NamedTuple):
    """A parsed head and the length of its body."""

    head: RequestHead
    body_bytes: int


class KnownHeads:
    """Cache of the newest heads, keyed by their bytes without the empty line.

    Clients repeat the same head: two calls differ only in their bodies.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, KnownHead | None] = {}  # None: received once
        self.find = self._known.get

    def add(self, received: bytes, head: RequestHead, body_bytes: int) -> None:
        """Cache a parsed head from its second occurrence: some clients never repeat one."""
        if len(received) > MAX_HEAD_BYTES:
            return
        if received in self._known:
            self._known[received] = KnownHead(head, body_bytes)
            return
        if len(self._known) >= MAX_HEADS:
            del self._known[next(iter(self._known))]
        self._known[received] = None
