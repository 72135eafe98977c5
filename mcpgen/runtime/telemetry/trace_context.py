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


def make_root(trace_id: bytes, *, is_sampled: bool) -> SpanContext:
    """Return the context of the first span of a trace."""
    return SpanContext(trace_id, _make_span_id(), _RANDOM | is_sampled)


def make_child(parent: SpanContext, *, is_sampled: bool) -> SpanContext:
    """Return the context of a span whose parent is given."""
    flags = parent.flags & _RANDOM | is_sampled
    return SpanContext(parent.trace_id, _make_span_id(), flags, parent.state)


def make_trace_id() -> bytes:
    """Return a random trace id."""
    return (getrandbits(128) or 1).to_bytes(16, "big")


def _make_span_id() -> bytes:
    return (getrandbits(64) or 1).to_bytes(8, "big")
