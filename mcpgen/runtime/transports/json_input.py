"""One decoded message from bytes, within bounds: hostile JSON is refused before it costs much."""

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
    readable_id,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn, TypeAlias

Decode: TypeAlias = "Callable[[bytes], Any]"

MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
MAX_DEPTH: Final = 128
MAX_ELEMENTS: Final = 100_000

_STRING: Final = rb'"(?:[^"\\]+|\\.)*+"'  # compiled when first used, which most servers never do
_BRACKET: Final = rb"[\[\]{}]"
_BACKSLASH: Final = ord("\\")  # one byte is found 15 times faster than a sequence
_ARRAY: Final = ord("[")
_SCALARS: Final = (  # the members of a message before the first that is an object
    rb'\s*\{((?:\s*"(?:jsonrpc|id|method)"\s*:\s*(?:"[^"\\]*"|-?[0-9]{1,18})\s*,)+)'
)


class UndecodableError(ValueError):
    """Bytes that are no message; `code` is the JSON-RPC error to answer with.

    `id` is the request's, if it could be read: whoever waits for an answer gets this one.
    """

    def __init__(self, code: int, message: str, id: RequestId | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id


def leading_id(data: bytes) -> RequestId | None:
    """Give the id of a request that is too much to decode, where it stands before the params."""
    found = re.match(_SCALARS, data)
    try:
        return None if found is None else _request_id(json.loads(b"{%b}" % found[1][:-1]))
    except ValueError:
        return None


def decode_cold(data: bytes) -> Any:
    """Decode with the standard library, whose import is the cheapest.

    Raises:
        UndecodableError: the bytes are no JSON (RFC 8259, UTF-8), or are over a bound.
    """
    _check_bounds(data)
    has_twins = False

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_twins
        found = dict(pairs)
        has_twins = has_twins or len(found) < len(pairs)
        return found

    decoder = json.JSONDecoder(
        parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=members
    )
    try:
        message = decoder.decode(data.decode())
        if b"\\u" in data:
            encode_json(message)  # fails for half a surrogate pair, which nothing could repeat
    except (ValueError, RecursionError) as error:
        raise _not_json(error) from None
    if has_twins:  # others on the way may have read another value than we would
        raise UndecodableError(INVALID_REQUEST, "an object has a name twice", _request_id(message))
    return message


def hot_decoder() -> Decode:
    """Give a faster decoder with the same bounds; importing it costs more than a cold start."""
    from msgspec.json import Decoder, Encoder

    decode, encode = Decoder().decode, Encoder().encode

    def decode_hot(data: bytes) -> Any:
        # A level takes two bytes, and one of an object five: `{"":}`. What is shorter is not too
        # deep, or closes no bracket.
        if len(data) > 2 * MAX_DEPTH and (len(data) > 5 * MAX_DEPTH or _ARRAY in data):
            _check_bounds(data)
        try:
            message = decode(data)
            encoded = encode(message)
            if encoded == data:
                return message
            # A member that a later one of its name has displaced took its colons along. Encoding
            # keeps all others, and adds one only for what was spelled `\u003a`.
            is_escaped = _BACKSLASH in data and b"\\u003" in data
            if not is_escaped and encoded.count(b":") == data.count(b":"):
                return message
        except OverflowError:
            pass  # an integer that is decoded but not encoded
        except (ValueError, RecursionError) as error:
            raise _not_json(error) from None
        return decode_cold(data)

    return decode_hot


def _check_bounds(data: bytes) -> None:
    """Refuse what is too deep or has too many elements.

    Counting brackets and commas settles nearly every message; where it does not, the strings are
    taken out first, since they may hold any number of either.
    """
    has_few_elements = len(data) <= MAX_ELEMENTS or data.count(b",") <= MAX_ELEMENTS
    if has_few_elements and data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    structure = re.sub(_STRING, b"", data)
    if structure.count(b",") > MAX_ELEMENTS:
        text = f"more than {MAX_ELEMENTS} elements"
        raise UndecodableError(INVALID_REQUEST, text, leading_id(data))
    depth = 0
    for bracket in re.finditer(_BRACKET, structure):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > MAX_DEPTH:
            text = f"deeper than {MAX_DEPTH} levels"
            raise UndecodableError(INVALID_REQUEST, text, leading_id(data))


def _request_id(message: Any) -> RequestId | None:
    # The id of a response is one of ours: in an answer it would be taken for one of the client's.
    is_request = isinstance(message, dict) and "method" in message
    return readable_id(message) if is_request else None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is out of range")
    return number


def _not_json(error: Exception) -> UndecodableError:
    # The decoder's words tell where the fault is and hold nothing of the message itself.
    return UndecodableError(PARSE_ERROR, f"not JSON: {error}"[:200])
