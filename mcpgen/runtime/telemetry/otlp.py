"""Encoding of spans as OTLP protobuf messages (opentelemetry/proto/trace/v1/trace.proto).

The encoder of the OpenTelemetry SDK costs about as much as a whole call of a tool. Here most of a
span is encoded once: its name, kind and the attributes that all calls of a tool share.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from mcpgen.runtime.telemetry.trace_context import NEW_ROOT, SpanContext

SERVER: Final = 2  # SpanKind
CLIENT: Final = 3
_HAS_IS_REMOTE: Final = 0x100  # SpanFlags
_IS_REMOTE: Final = 0x200
_ERROR: Final = b"\x18\x02"  # Status.code = STATUS_CODE_ERROR
_FIXED: Final = struct.Struct("<H16sH8sBQBQHI")
"""Fields 1 and 2 (ids), 7 and 8 (times, fixed64), and 16 (flags, fixed32)."""
MAX_WAITING: Final = 256  # durations of an operation before they are aggregated
_MAX_BYTE: Final = 0x80  # a length below it is encoded as one byte

Attributes = tuple[tuple[str, Any], ...]

SpanRecord: TypeAlias = tuple[
    SpanContext | None, SpanContext | None, bytes, int, float, str | int | None, bytes
]
"""A span that has ended, as it waits for export.

Its context (None for the root of a trace whose ids nobody needed yet), that of its parent,
`encode_shared`, start in nanoseconds, duration in seconds, id of the request (None for a span of no
request), further encoded attributes and links.
"""


def encode_request(resource: bytes, spans: Sequence[bytes]) -> bytes:
    """Encode an `ExportTraceServiceRequest` of the results of two other functions here."""
    size = len(_SCOPE) + sum(map(len, spans))
    scope = b"\x12" + _varint(size) + _SCOPE
    start = b"\x0a" + _varint(len(resource) + len(scope) + size - len(_SCOPE)) + resource + scope
    return b"".join((start, *spans))


def encode_resource(attributes: Mapping[str, Any]) -> bytes:
    """Encode a `Resource` as field 1 of `ResourceSpans`."""
    return _field(1, b"".join(_field(1, _key_value(*item)) for item in attributes.items()))


def encode_shared(
    name: str, kind: int, attributes: Attributes, *, has_failed: bool = False
) -> bytes:
    """Encode the fields of a span that other spans share."""
    status = _field(15, _ERROR) if has_failed else b""
    fields = _field(5, name.encode()), bytes([0x30, kind]), encode_attributes(attributes), status
    return b"".join(fields)


def encode_attributes(attributes: Attributes) -> bytes:
    """Encode attributes of a span."""
    return b"".join([_field(9, _key_value(key, value)) for key, value in attributes])


class TextAttribute:
    """Encoder of a text attribute whose value differs between spans."""

    __slots__ = ("_key", "prefixes")

    def __init__(self, key: str) -> None:
        self._key = _encode_key(key)
        self.prefixes = tuple(
            b"".join((b"\x4a", bytes((len(self._key) + size + 4,)), self._key, b"\x12"))
            + bytes((size + 2, 0x0A, size))
            for size in range(_MAX_BYTE - len(self._key) - 4)
        )
        """Bytes before a value, by its size, as long as all lengths fit into one byte."""

    def encode(self, value: str) -> bytes:
        """Encode the attribute of a span."""
        text = value.encode("utf-8", "replace")
        size = len(text)
        return self.prefixes[size] + text if size < len(self.prefixes) else self.encode_long(text)

    def encode_long(self, text: bytes) -> bytes:
        """Encode a value of any size."""
        return _field(9, self._key + _field(2, _field(1, text)))


def encode_spans(
    records: Sequence[SpanRecord], draw_roots: Callable[[int], Iterator[tuple[bytes, bytes]]]
) -> list[bytes]:
    """Encode spans as fields 2 of `ScopeSpans`, each in several parts.

    `draw_roots` returns the ids of so many new traces, each with that of its first span. All is in
    one loop, since a call of a function for each span would cost as much as a tenth of a span.
    """
    parts: list[bytes] = []
    pack, fixed_size, id_prefixes = _FIXED.pack, _FIXED.size, _REQUEST_ID.prefixes
    roots = draw_roots(sum([record[0] is None for record in records]))
    for context, parent, shared, start_ns, seconds, request_id, given in records:
        own = given
        if context is None:
            trace_id, span_id = next(roots)
            flags = NEW_ROOT
        else:
            trace_id, span_id, flags = context.trace_id, context.span_id, context.flags
            if context.state:
                own += _field(3, context.state.encode())
        if parent is not None:
            flags |= _HAS_IS_REMOTE | (_IS_REMOTE if parent.is_remote else 0)
            own += b"\x22\x08" + parent.span_id
        if request_id is not None:
            if type(request_id) is int:
                text = str(request_id).encode()
            else:
                text = str(request_id).encode("utf-8", "replace")
            size = len(text)
            is_short = size < len(id_prefixes)
            own += id_prefixes[size] + text if is_short else _REQUEST_ID.encode_long(text)
        size = fixed_size + len(shared) + len(own)
        end_ns = start_ns + int(seconds * 1e9)
        parts += (
            _SHORT_PREFIXES[size] if size < _SHORT else b"\x12" + _varint(size),
            # Each field after its tag, which for ids includes their length.
            pack(0x100A, trace_id, 0x0812, span_id, 0x39, start_ns, 0x41, end_ns, 0x0185, flags),
            shared,
            own,
        )
    return parts


def encode_message(message: str) -> bytes:
    """Encode the message of a failed span, whose `shared` has the code of its status.

    A decoder merges both occurrences of the field.
    """
    return _field(15, _field(2, message.encode()))


def encode_link(link: SpanContext) -> bytes:
    """Encode a link of a span."""
    state = _field(3, link.state.encode()) if link.state else b""
    flags = struct.pack("<I", link.flags | _HAS_IS_REMOTE | _IS_REMOTE)
    ids = b"\x0a\x10" + link.trace_id + b"\x12\x08" + link.span_id
    return _field(13, ids + state + b"\x35" + flags)


@lru_cache(maxsize=64)
def _encode_key(key: str) -> bytes:
    return _field(1, key.encode())


def _key_value(key: str, value: Any) -> bytes:
    return _encode_key(key) + _field(2, _any_value(value))


def _any_value(value: Any) -> bytes:
    """Encode an `AnyValue`; values of other types as text."""
    if isinstance(value, bool):
        return b"\x10" + bytes([value])
    if isinstance(value, int):
        return b"\x18" + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)
    if isinstance(value, float):
        return b"\x21" + struct.pack("<d", value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _field(5, b"".join(_field(1, _any_value(item)) for item in value))
    return _field(1, str(value).encode(errors="replace"))


def _field(number: int, data: bytes) -> bytes:
    """Encode a length-delimited field."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    if number < 0x80:
        return bytes((number,))
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


_SHORT: Final = 1024
_SHORT_PREFIXES: Final = tuple(b"\x12" + _varint(size) for size in range(_SHORT))
"""Tag and length of field 2, by length."""
_SCOPE: Final = _field(1, _field(1, b"mcpgen"))
_REQUEST_ID: Final = TextAttribute("jsonrpc.request.id")
