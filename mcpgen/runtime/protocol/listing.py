"""Lists that clients page through, kept as the bytes that go on the wire."""

from __future__ import annotations

from collections.abc import Sequence

from mcpgen.runtime.protocol.jsonrpc import JsonObject


class Listing:
    """One of the four lists (tools, prompts, resources, resource templates), prepared.

    Each line is one item as compact JSON in the newest shape, in the order in which it is listed.
    Nothing is decoded until a client of an older revision asks.
    """

    def __init__(self, kind: str, lines: Sequence[bytes], page_size: int = 1000) -> None:
        raise NotImplementedError

    def find(self, key: str) -> JsonObject | None:
        """Give the item of this name (or URI, or URI template), decoded."""
        raise NotImplementedError
