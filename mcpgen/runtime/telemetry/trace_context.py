"""Trace context of W3C: the headers `traceparent` and `tracestate`, and new identifiers."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

SAMPLED: Final = 1
_RANDOM: Final = 2  # W3C Trace Context, level 2: the trace id is random
NEW_ROOT: Final = SAMPLED | _RANDOM  # the flags of a new trace that is recorded
_MAX_STATE: Final = 512  # characters; section 3.3.1.5
_PARENT: Final = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)
_IDS: Final = 256  # drawn at once
_ROOT: Final = struct.Struct("16s8s")
_SPAN: Final = struct.Struct("8s")
_SET_FIRST_BIT: Final = bytes(byte | 0x80 for byte in range(256))


class SpanContext(Struct, frozen=True, gc=False):
    """Identity of a span; `flags` and `state` as in the headers."""

    trace_id: bytes  # 16
    span_id: bytes  # 8
    flags: int
    state: str = ""
    is_remote: bool = False

    @property
    def is_sampled(self) -> bool:
        """Whether the span is recorded."""
        return bool(self.flags & SAMPLED)

    def format_parent(self) -> str:
        """Return the value of `traceparent` for requests within this span."""
        return f"00-{self.trace_id.hex()}-{self.span_id.hex()}-0{self.flags}"  # of two bits


def parse_trace_context(parent: object, state: object = None) -> SpanContext | None:
    """Parse `traceparent` and `tracestate`; None if the first is missing or invalid.

    An invalid `tracestate` is ignored (W3C Trace Context, sections 3.2 and 3.3).
    """
    if type(parent) is not str or len(parent) > _MAX_STATE:
        return None
    match = _PARENT.fullmatch(parent.strip())
    if match is None or (match[1] == "00" and match[5]):
        return None
    is_valid = type(state) is str and len(state) <= _MAX_STATE
    kept = state.strip() if is_valid and type(state) is str else ""
    if not (kept.isascii() and kept.isprintable()):
        kept = ""
    ids = bytes.fromhex(match[2]), bytes.fromhex(match[3])
    return SpanContext(*ids, int(match[4], 16) & 3, kept, is_remote=True)


class ContextSource:
    """Source of the contexts of new spans.

    It draws random bytes for many ids at once, so a process that forks must not create it before.
    """

    __slots__ = ("_roots", "_spans")

    def __init__(self) -> None:
        self._roots: list[tuple[bytes, bytes]] = []  # ids of a trace and of its first span
        self._spans: list[tuple[bytes]] = []

    def draw_root(self) -> tuple[bytes, bytes]:
        """Return the id of a new trace and that of its first span."""
        while True:
            try:  # another thread may have taken the last ids
                return self._roots.pop()
            except IndexError:
                self._roots.extend(self.draw_roots(_IDS))

    def draw_roots(self, count: int) -> Iterator[tuple[bytes, bytes]]:
        """Return the ids of so many new traces, each with that of its first span."""
        return _ROOT.iter_unpack(_draw_ids(count, 16, 8))

    def make_child(self, parent: SpanContext, *, is_sampled: bool) -> SpanContext:
        """Return the context of a span whose parent is given."""
        while True:
            try:
                (span_id,) = self._spans.pop()
            except IndexError:
                self._spans.extend(_SPAN.iter_unpack(_draw_ids(_IDS, 8)))
            else:
                flags = parent.flags & _RANDOM | is_sampled
                return SpanContext(parent.trace_id, span_id, flags, parent.state)


def make_root(ids: tuple[bytes, bytes], *, is_sampled: bool) -> SpanContext:
    """Return the context of the first span of a trace, from `ContextSource.draw_root`."""
    trace_id, span_id = ids
    return SpanContext(trace_id, span_id, NEW_ROOT if is_sampled else _RANDOM)


def _draw_ids(count: int, *sizes: int) -> bytes:
    """Return random ids of these sizes, `count` times.

    The first bit of each is 1, since an id must not be zero. The last 56 bits of the id of a trace
    are random (W3C Trace Context, level 2, section 4.3.4).
    """
    size = sum(sizes)
    ids = bytearray(os.urandom(size * count))
    start = 0
    for part in sizes:
        ids[start::size] = ids[start::size].translate(_SET_FIRST_BIT)
        start += part
    return bytes(ids)
