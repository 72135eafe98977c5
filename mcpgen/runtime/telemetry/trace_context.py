"""Trace context of W3C: the headers `traceparent` and `tracestate`, and new identifiers."""

from __future__ import annotations

import re
from random import getrandbits
from typing import Final, NamedTuple

SAMPLED: Final = 1
_RANDOM: Final = 2  # W3C Trace Context, level 2: the trace id is random
_MAX_STATE: Final = 512  # characters; section 3.3.1.5
_PARENT: Final = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)
# An id must not be zero, so its first bit is 1. Its last 56 bits must be random (section 4.3.4).
_SPAN_ID_BIT: Final = 1 << 63
_TRACE_ID_BIT: Final = 1 << 127


class SpanContext(NamedTuple):
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

    def without_sampling(self) -> SpanContext:
        """Return this context for a span that is not recorded."""
        return self._replace(flags=self.flags & ~SAMPLED)


_new: Final = tuple.__new__  # the constructor of `NamedTuple` is in Python and four times as slow


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


def make_root(*, is_sampled: bool) -> SpanContext:
    """Return the context of the first span of a new trace."""
    bits = getrandbits(192) | (_TRACE_ID_BIT << 64 | _SPAN_ID_BIT)
    ids = bits.to_bytes(24, "big")
    flags = _RANDOM | SAMPLED if is_sampled else _RANDOM
    return _new(SpanContext, (ids[:16], ids[16:], flags, "", False))


def make_child(parent: SpanContext, *, is_sampled: bool) -> SpanContext:
    """Return the context of a span whose parent is given."""
    span_id = (getrandbits(64) | _SPAN_ID_BIT).to_bytes(8, "big")
    flags = parent.flags & _RANDOM | is_sampled
    return _new(SpanContext, (parent.trace_id, span_id, flags, parent.state, False))
