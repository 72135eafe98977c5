"""Decoder for JSON of an API, with bounds on time, memory and depth.

msgspec takes 2 microseconds for each byte of a number like `1e-308` (20 s for 10 MB), and 30
bytes of memory for each byte of `[],[],`. Therefore a long text is measured first and then decoded
in slices. In a worker thread, the event loop can run between two slices.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

LONG_BYTES: Final = 32 * 1024
"""A longer text is decoded in a worker thread, so that other calls are served meanwhile."""
MAX_DEPTH: Final = 128  # of values longer than a slice; for others, the recursion limit applies
MAX_ELEMENTS: Final = 1_300_000  # of arrays and objects; each object counts two more
MAX_ARRAYS: Final = 500_000
MAX_MEMBERS: Final = 520_000

_REST_OF_STRING: Final = re.compile(rb'(?:[^"\\]+|\\.)*+("?)', re.DOTALL)
_STRING: Final = re.compile(rb'"(?:[^"\\]+|\\.)*+("?)', re.DOTALL)
_EXPONENT: Final = re.compile(rb"[0-9][eE][+-]?[0-9]")
_FEW_EXPONENTS: Final = 100  # of a slice
_SPACE: Final = b" \t\r\n"


class TooComplexError(Exception):
    """JSON exceeds a bound; the text completes "JSON with", as in "more than 128 levels"."""


def decode_json(text: bytes) -> Any:
    """Decode JSON.

    Raises:
        TooComplexError: it exceeds a bound.
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    if len(text) <= LONG_BYTES:
        return msgspec.json.decode(text)
    check_size(text)
    return _decode_long(text, 0)


def check_size(text: bytes) -> None:
    """Check the number of values in a JSON text, or in several of them.

    Raises:
        TooComplexError: there are too many values.
    """
    # The fast count includes the contents of strings; count exactly only if it is too high.
    if _Count().add(text).excess and (excess := _count_exactly(text).excess):
        raise TooComplexError(excess)


class _Count(Struct):
    """Number of values in a text, or a slightly higher number."""

    arrays: int = 0
    members: int = 0
    elements: int = 0

    def add(self, text: bytes) -> _Count:
        arrays = text.count(b"[")
        self.arrays += arrays
        self.members += text.count(b":")
        self.elements += text.count(b",") + arrays + 2 * text.count(b"{")
        return self

    @property
    def excess(self) -> str:
        if self.arrays > MAX_ARRAYS:
            return f"more than {MAX_ARRAYS:,} arrays"
        if self.members > MAX_MEMBERS:
            return f"more than {MAX_MEMBERS:,} members"
        return f"more than {MAX_ELEMENTS:,} elements" if self.elements > MAX_ELEMENTS else ""


def _count_exactly(text: bytes) -> _Count:
    """Count the values outside of strings, in slices: a regex match blocks all other threads."""
    count, start, is_in_string = _Count(), 0, False
    while start < len(text):
        end = start + LONG_BYTES
        while text[end - 1 : end] == b"\\":  # do not split an escape
            end += 1
        part = text[start:end]
        if is_in_string:
            rest = _REST_OF_STRING.match(part)
            assert rest is not None  # noqa: S101  (the pattern matches the empty string)
            is_in_string = not rest[1]
            part = part[rest.end() :]
        # "s" replaces a string. No other value ends with it, so a final "s" is an open string.
        part = _STRING.sub(rb"s\1", part)
        is_in_string = is_in_string or part.endswith(b"s")
        count.add(part)
        start = end
    return count


def _decode_long(text: bytes | Raw, depth: int) -> Any:
    """Decode a text in slices if it is longer than one."""
    size = len(memoryview(text))
    if size <= LONG_BYTES:
        return _decode_slice(text)
    if depth > MAX_DEPTH:
        raise TooComplexError(f"more than {MAX_DEPTH} levels")
    first = bytes(memoryview(text)[:64]).lstrip(_SPACE)[:1]
    if first == b"[":
        body = bytes(text)
        if body.count(b"[") == 1 and b'"' not in body and b"{" not in body:
            return _decode_scalars(body)
        del body
        items = msgspec.json.decode(text, type=list[Raw])
        return _decode_items(items, max(1, LONG_BYTES * len(items) // size), depth)
    if first == b"{":
        members = msgspec.json.decode(text, type=dict[str, Raw])
        return {name: _decode_long(member, depth + 1) for name, member in members.items()}
    return _decode_slice(text)  # one long string, or invalid JSON


def _decode_scalars(text: bytes) -> list[Any]:
    """Decode an array of numbers and literals, split at commas, without additional memory."""
    inner = text.strip(_SPACE)
    decoded: list[Any] = []
    start, end = 1, 0
    while end < len(inner):
        end = inner.find(b",", start + LONG_BYTES)
        end = len(inner) if end < 0 else end
        part = inner[start:end]
        decoded += _decode_slice(b"[" + part + (b"]" if end < len(inner) else b""))
        if not part.strip(_SPACE):
            raise msgspec.DecodeError("an item is missing")
        start = end + 1
    return decoded


def _decode_items(items: list[Raw], at_once: int, depth: int) -> list[Any]:
    """Decode the items of an array; decoded ones are removed from `items` to free memory."""
    decoded: list[Any] = []
    items.reverse()
    while items:
        slice_ = items[: -at_once - 1 : -1]
        del items[-at_once:]
        text = b"[" + b",".join(slice_) + b"]"
        if len(text) <= 4 * LONG_BYTES:
            decoded += _decode_slice(text)
        else:
            decoded += [_decode_long(item, depth + 1) for item in slice_]
    return decoded


def _decode_slice(text: bytes | Raw) -> Any:
    # Numbers with exponents may be slow in msgspec, but not in Python's parser. A text that could
    # not be sliced is one string or one long number, which takes linear time.
    is_short = len(memoryview(text)) <= 4 * LONG_BYTES
    if is_short and len(_EXPONENT.findall(text)) > _FEW_EXPONENTS:
        return _decode_exponents(text)
    return msgspec.json.decode(text)


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is out of range")
    return number


_decode_exponents: Final = msgspec.json.Decoder(float_hook=_parse_float).decode
