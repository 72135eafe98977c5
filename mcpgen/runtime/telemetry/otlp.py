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
_TIMES: Final = struct.Struct("<BQBQHI")
"""Fields 7 and 8 (times, fixed64), and 16 (flags, fixed32), each after its tag."""
_FIXED_SIZE: Final = 18 + 10 + _TIMES.size  # of these fields, and of the ids before them
_MAX_BYTE: Final = 0x80  # a length below it is encoded as one byte

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


class TextAttribute:
    """Encoder of a text attribute whose value differs between spans."""

    __slots__ = ("_key", "_prefixes")

    def __init__(self, key: str) -> None:
        self._key = _encode_key(key)
        self._prefixes = tuple(
            b"".join((b"\x4a", bytes((len(self._key) + size + 4,)), self._key, b"\x12"))
            + bytes((size + 2, 0x0A, size))
            for size in range(_MAX_BYTE - len(self._key) - 4)
        )
        """What precedes a value, by its size, while all lengths fit into one byte."""

    def encode(self, value: str) -> bytes:
        """Encode the attribute of a span."""
        text = value.encode("utf-8", "replace")
        size = len(text)
        if size < len(self._prefixes):
            return self._prefixes[size] + text
        return _field(9, self._key + _field(2, _field(1, text)))


def encode_span(
    context: SpanContext,
    parent: SpanContext | None,
    shared: bytes,
    start_ns: int,
    seconds: float,
    own: bytes = b"",
    *,
    has_failed: bool = False,
    message: str = "",
) -> bytes:
    """Encode a span as field 2 of `ScopeSpans`.

    `shared` is the result of `encode_shared`, and `own` are further encoded attributes and links.
    """
    flags = context.flags
    if parent is not None:
        flags |= _HAS_IS_REMOTE | (_IS_REMOTE if parent.is_remote else 0)
        own += b"\x22\x08" + parent.span_id
    if context.state:
        own += _field(3, context.state.encode())
    if has_failed:
        own += _field(15, (_field(2, message.encode()) if message else b"") + _ERROR)
    size = _FIXED_SIZE + len(shared) + len(own)
    return b"".join(
        (
            _SHORT_PREFIXES[size] if size < _SHORT else b"\x12" + _varint(size),
            b"\x0a\x10",
            context.trace_id,
            b"\x12\x08",
            context.span_id,
            _TIMES.pack(0x39, start_ns, 0x41, start_ns + int(seconds * 1e9), 0x0185, flags),
            shared,
            own,
        )
    )


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
