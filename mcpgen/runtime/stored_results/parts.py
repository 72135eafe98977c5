"""Parts of stored results: where they begin, and the calls that read on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools.continuation import NextCall
from mcpgen.runtime.tools.projection import Cut, Place, shorten_text
from mcpgen.text.json_pointer import json_pointer, pointer_tokens

MAX_QUERY: Final = 1_000  # characters
_BASE64: Final = (3, 4)  # bytes, and the characters that they take
_MAX_DIGITS: Final = 12  # of an index


class Reading(Struct, frozen=True):
    """Arguments that read a part of a stored result, without `offset`."""

    tool: str
    handle: str
    pointer: str | None = ""  # None for a text
    query: str | None = None  # replaces `pointer`

    def list_calls(self, cuts: Sequence[Cut], value: Any, offset: int = 0) -> Iterator[NextCall]:
        """Yield the call for each part that is cut of a value, which is shown from an offset on."""
        tokens = pointer_tokens(self.pointer or "")
        for cut in cuts:
            place, skipped = cut.place, 0
            if not place:
                skipped = offset
            elif isinstance(place[0], int):
                place = (place[0] + offset, *place[1:])
            start = _find_start(value, cut, place) if cut.unit == "members" else skipped + cut.shown
            shown = Cut((*tokens, *place), cut.unit, cut.shown, cut.total, cut.following)
            yield NextCall(f"Cut: {shown.describe(skipped)}", self._make_call(place, start))

    def _make_call(self, place: Place, offset: int) -> JsonObject | None:
        """Return the call from an offset on in a place; None if its query would be too long."""
        arguments: JsonObject = {"handle": self.handle}
        if self.query is not None:
            query = f"{self.query} | {_spell(place)}" if place else self.query
            if len(query) > MAX_QUERY:
                return None
            arguments["query"] = query
        elif self.pointer is not None:
            arguments["pointer"] = self.pointer + json_pointer(place)
        return {"name": self.tool, "arguments": {**arguments, "offset": offset}}


def find_value(value: Any, pointer: str) -> Any:
    """Return the value that a JSON Pointer leads to.

    Raises:
        ToolError: there is none.
    """
    try:
        for token in pointer_tokens(pointer):
            value = value[token] if isinstance(value, dict) else value[_to_index(token, value)]
    except (LookupError, ValueError):
        raise ToolError(
            f"The stored result has no `{pointer[:200]}`. A JSON Pointer is like"
            ' `/items/0/name`; "" is the whole.'
        ) from None
    return value


def skip(value: Any, offset: int) -> Any:
    """Return a list, an object or a text without its first items, members or characters.

    Raises:
        ToolError: the value has no such parts.
    """
    if not offset:
        return value
    if not isinstance(value, list | dict | str):
        raise ToolError("`offset` is for lists, objects and texts, and this value is none.")
    check_offset(offset, len(value))
    if isinstance(value, dict):
        return dict(list(value.items())[offset:])
    return value[offset:]


def check_offset(offset: int, total: int) -> None:
    """Check that something is left after an offset.

    Raises:
        ToolError: there is not.
    """
    if offset and offset >= total:
        raise ToolError(f"`offset` {offset:,} is behind the end: the length is {total:,}.")


def take_text(text: str, offset: int, max_bytes: int) -> str:
    """Return what fits of a text, from a character on."""
    part = text[offset : offset + max_bytes]
    return shorten_text(part, max_bytes).text


def take_bytes(data: bytes, offset: int, max_bytes: int) -> bytes:
    """Return what fits of some bytes when they are sent as Base64.

    The part has a multiple of three bytes, so that its Base64 can be joined with the next.
    """
    unit, characters = _BASE64
    return data[offset : offset + max(max_bytes // characters, 1) * unit]


def describe_part(unit: str, offset: int, end: int, total: int) -> str:
    """Return which part is shown: "characters 1 to 99,000 of 250,000"."""
    return f"{unit} {offset + 1:,} to {end:,} of {total:,}"


def _find_start(value: Any, cut: Cut, place: Place) -> int:
    """Return the number of the first member that is not shown."""
    for token in place:
        value = value[token]
    return list(value).index(str(cut.following))


def _spell(place: Place) -> str:
    """Return a place as a JMESPath expression."""
    parts = [
        f"[{token}]" if isinstance(token, int) else f".{encode_json(token).decode()}"
        for token in place
    ]
    return "".join(parts).removeprefix(".")


def _to_index(token: str, value: Any) -> int:
    """Return the index that a token is for a list.

    Raises:
        ValueError: the value is no list, or the token no index.
    """
    if not (isinstance(value, list) and token.isascii() and token.isdecimal()):
        raise ValueError(token)
    if len(token) > _MAX_DIGITS or (len(token) > 1 and token.startswith("0")):
        raise ValueError(token)
    return int(token)
