"""JSON decoders for incoming messages. They reject hostile input before it costs much."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

from mcpgen.runtime.protocol.jsonrpc import (
    INVALID_REQUEST,
    PARSE_ERROR,
    RequestId,
    encode_json,
    read_id,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn, TypeAlias

Decode: TypeAlias = "Callable[[bytes], Any]"

MAX_DEPTH: Final = 128
MAX_ELEMENTS: Final = 100_000
MAX_DIGITS: Final = 400  # of an integer

_STRING: Final = rb'"(?:[^"\\]+|\\.)*+"'  # compiled when first used, which most servers never do
_EXPONENT: Final = rb"[0-9][eE][+-]?[0-9]"
_LONG_NUMBER: Final = b"[0-9]{%d}" % (MAX_DIGITS + 1)
# A level takes two bytes, and one of an object five: `{"":}`. A shorter text is not too deep, or
# leaves its brackets open.
_FLAT_BYTES: Final = 2 * MAX_DEPTH
_FLAT_OBJECT_BYTES: Final = 5 * MAX_DEPTH
_SHORT_BYTES: Final = 4 * 1024  # too short for numbers that take long to parse
_FEW_EXPONENTS: Final = 100
_BRACKET: Final = rb"[\[\]{}]"
_BACKSLASH: Final = ord("\\")  # one byte is found 15 times faster than a sequence
_ARRAY: Final = ord("[")
_SPACE: Final = ord(" ")
_START: Final = 16  # bytes that have a space if the text has any between its tokens
_NO_META: Final[dict[str, Any]] = {}
_SCALARS: Final = (  # the members of a message before the first that is an object
    rb'\s*\{((?:\s*"(?:jsonrpc|id|method)"\s*:\s*(?:"[^"\\]*"|-?[0-9]{1,18})\s*,)+)'
)


class UndecodableError(ValueError):
    """Input that is not a valid message.

    `code` is the JSON-RPC error code of the answer, and `id` the request id, None if unreadable.
    """

    def __init__(self, code: int, message: str, id: RequestId | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id


def find_leading_id(data: bytes) -> RequestId | None:
    """Return the id of a request that exceeds a bound, if the id precedes `params`."""
    found = re.match(_SCALARS, data)
    try:
        return None if found is None else _read_request_id(json.loads(b"{%b}" % found[1][:-1]))
    except ValueError:
        return None


def decode_cold(data: bytes) -> Any:
    """Decode a message with the standard library, which is the cheapest to import.

    Raises:
        UndecodableError: the bytes are not JSON (RFC 8259, UTF-8), or exceed a bound.
    """
    _check_bounds(data)
    has_duplicates = False

    def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_duplicates
        found = dict(pairs)
        has_duplicates = has_duplicates or len(found) < len(pairs)
        return found

    decoder = json.JSONDecoder(
        parse_constant=_reject_constant,
        parse_float=_parse_float,
        parse_int=_parse_integer,
        object_pairs_hook=build_object,
    )
    try:
        message = decoder.decode(data.decode())
        if b"\\u" in data:
            encode_json(message)  # fails for a lone surrogate, which no answer could repeat
    except (ValueError, RecursionError) as error:
        raise _make_parse_error(error) from None
    if has_duplicates:  # a proxy may have read the other value
        raise UndecodableError(
            INVALID_REQUEST, "duplicate name in an object", _read_request_id(message)
        )
    return message


def make_hot_decoder() -> Decode:
    """Return a faster decoder with the same bounds; its import is too slow for a cold start."""
    from msgspec.json import Decoder, Encoder

    decode, encode = Decoder().decode, Encoder().encode
    # The decoder takes 14 microseconds for a number like `1e-308`, and Python's parser 1.
    decode_exponents = Decoder(float_hook=_parse_float).decode

    def decode_hot(data: bytes) -> Any:
        size = len(data)
        if size > _FLAT_BYTES and (size > _FLAT_OBJECT_BYTES or _ARRAY in data):
            _check_bounds(data)
        if size > MAX_DIGITS and _may_have_long_number(data):
            return decode_cold(data)
        try:
            is_slow = size > _SHORT_BYTES and len(re.findall(_EXPONENT, data)) > _FEW_EXPONENTS
            message = decode_exponents(data) if is_slow else decode(data)
            colons = 0
            if _SPACE in data[:_START]:  # or else the encoding is probably equal
                # A duplicate member was dropped, and each member had a colon of its own: there is
                # none if as many members are left as the text has colons.
                colons = data.count(b":")
                if _count_members(message) == colons:
                    return message
            encoded = encode(message)
            if encoded == data:
                return message
            # A dropped member took its colons with it. Encoding keeps all other colons, and adds
            # one only for an escape of the form `\u003a`.
            is_escaped = _BACKSLASH in data and b"\\u003" in data
            if not is_escaped and encoded.count(b":") == (colons or data.count(b":")):
                return message
        except OverflowError:
            pass  # an integer that msgspec decodes but cannot encode
        except (ValueError, RecursionError) as error:
            raise _make_parse_error(error) from None
        return decode_cold(data)

    return decode_hot


def _count_members(message: Any) -> int:
    """Count the members of a call, its params, its arguments and its metadata; 0 if it is no call.

    Objects deeper inside are not counted: encoding them costs less than looking for them.
    """
    try:
        params = message["params"]
        arguments = params["arguments"]
    except (KeyError, TypeError):
        return 0
    meta = params.get("_meta", _NO_META)
    if type(arguments) is not dict or type(meta) is not dict:
        return 0
    return len(message) + len(params) + len(arguments) + len(meta)


def _check_bounds(data: bytes) -> None:
    """Reject input that is too deep or has too many elements.

    Counting brackets and commas is enough for nearly every message. Otherwise the strings, which
    may contain any number of either, are removed before the exact count.
    """
    has_few_elements = len(data) <= MAX_ELEMENTS or data.count(b",") <= MAX_ELEMENTS
    if has_few_elements and data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    structure = re.sub(_STRING, b"", data)
    # Few arrays have no comma between them: they are nested, or the text is not JSON.
    arrays = structure.count(b"[") + structure.count(b"{")
    if structure.count(b",") > MAX_ELEMENTS or arrays > MAX_ELEMENTS + MAX_DEPTH:
        text = f"more than {MAX_ELEMENTS} elements"
        raise UndecodableError(INVALID_REQUEST, text, find_leading_id(data))
    depth = 0
    for bracket in re.finditer(_BRACKET, structure):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > MAX_DEPTH:
            text = f"deeper than {MAX_DEPTH} levels"
            raise UndecodableError(INVALID_REQUEST, text, find_leading_id(data))


def _may_have_long_number(data: bytes) -> bool:
    """Return whether the input has more digits in a row than an integer may have.

    Every 200th byte is checked first: a long number covers two of them in a row.
    """
    samples = data[:: MAX_DIGITS // 2]
    return bool(re.search(b"[0-9]{2}", samples) and re.search(_LONG_NUMBER, data))


def _read_request_id(message: Any) -> RequestId | None:
    # The id of a response is one of the server's: an answer must not repeat it as the client's.
    is_request = isinstance(message, dict) and "method" in message
    return read_id(message) if is_request else None


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is out of range")
    return number


def _parse_integer(text: str) -> int:
    # Comparing an integer takes time that grows with the square of its digits.
    if len(text.removeprefix("-")) > MAX_DIGITS:
        raise ValueError(f"an integer has more than {MAX_DIGITS} digits")
    return int(text)


def _make_parse_error(error: Exception) -> UndecodableError:
    # The decoder's text states the position and quotes nothing of the message.
    return UndecodableError(PARSE_ERROR, f"not JSON: {error}"[:200])
