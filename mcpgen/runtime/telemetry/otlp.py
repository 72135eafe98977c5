"""Encoding of spans as OTLP protobuf messages (opentelemetry/proto/trace/v1/trace.proto).

The encoder of the OpenTelemetry SDK costs about as much as a whole call of a tool. Here most of a
span is encoded once: its name, kind and the attributes that all calls of a tool share.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from mcpgen.runtime.telemetry.trace_context import SpanContext

SERVER: Final = 2  # SpanKind
CLIENT: Final = 3
_HAS_IS_REMOTE: Final = 0x100  # SpanFlags
_IS_REMOTE: Final = 0x200
_ERROR: Final = b"\x18\x02"  # Status.code = STATUS_CODE_ERROR
_HEAD: Final = struct.Struct("<2s16s2s8sBQBQHI")
"""Fields 1 and 2 (ids), 7 and 8 (times, fixed64), and 16 (flags, fixed32)."""
_FLAGS_TAG: Final = 0x0185
_SHORT_TEXT: Final = 100  # of key and value: all lengths fit into one byte

Attributes = tuple[tuple[str, Any], ...]


def encode_request(resource: bytes, spans: Iterable[bytes]) -> bytes:
    """Encode an `ExportTraceServiceRequest` of the results of two other functions here."""
    return _field(1, resource + _field(2, _SCOPE + b"".join(spans)))


def encode_resource(attributes: Mapping[str, Any]) -> bytes:
    """Encode a `Resource` as field 1 of `ResourceSpans`."""
    return _field(1, b"".join(_field(1, _key_value(*item)) for item in attributes.items()))


def encode_shared(name: str, kind: int, attributes: Attributes) -> bytes:
    """Encode the fields of a span that other spans share."""
    return b"".join([_field(5, name.encode()), bytes([0x30, kind]), encode_attributes(attributes)])


def encode_attributes(attributes: Attributes) -> bytes:
    """Encode attributes of a span."""
    return b"".join([_field(9, _key_value(key, value)) for key, value in attributes])


@lru_cache(maxsize=512)
def _encode_short_prefix(key: str, size: int) -> bytes:
    """Encode what precedes a text of this size, if all lengths are below 128."""
    head = _encode_key(key)
    return b"".join(
        (bytes((0x4A, len(head) + size + 4)), head, bytes((0x12, size + 2, 0x0A, size)))
    )


def encode_text_attribute(key: str, value: str) -> bytes:
    """Encode an attribute of a span, faster than `encode_attributes`."""
    text = value.encode(errors="replace")
    size = len(text)
    if size + len(key) > _SHORT_TEXT:
        return _field(9, _encode_key(key) + _field(2, _field(1, text)))
    return _encode_short_prefix(key, size) + text


def encode_span(
    context: SpanContext,
    parent: SpanContext | None,
    shared: bytes,
    start_ns: int,
    end_ns: int,
    own: bytes = b"",
    link: SpanContext | None = None,
    *,
    has_failed: bool = False,
    message: str = "",
) -> bytes:
    """Encode a span as field 2 of `ScopeSpans`.

    `shared` is the result of `encode_shared`, and `own` are further encoded attributes.
    """
    flags = context.flags
    rest = shared + own
    if parent is not None:
        flags |= _HAS_IS_REMOTE | (_IS_REMOTE if parent.is_remote else 0)
        rest += b"\x22\x08" + parent.span_id
    if context.state:
        rest += _field(3, context.state.encode())
    if link is not None:
        rest += _encode_link(link)
    if has_failed:
        rest += _field(15, (_field(2, message.encode()) if message else b"") + _ERROR)
    ids = (b"\x0a\x10", context.trace_id, b"\x12\x08", context.span_id)
    size = _HEAD.size + len(rest)
    prefix = _SHORT_PREFIXES[size] if size < _SHORT else b"\x12" + _varint(size)
    return prefix + _HEAD.pack(*ids, 0x39, start_ns, 0x41, end_ns, _FLAGS_TAG, flags) + rest


def _encode_link(link: SpanContext) -> bytes:
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
