"""JSON as it is written to files: sorted keys, UTF-8, LF, the same bytes for the same data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from mcpgen.jsonschema.types import JsonObject, JsonValue

_SHORT_BYTES = 80  # of an array or object that stays on one line
_CONTAINERS = (dict, list, tuple)
_encoder = msgspec.json.Encoder(order="sorted")


def compact(value: JsonValue) -> bytes:
    """Encode a value without a space or a line break."""
    return _encode_text(_encoder.encode, value)


def pretty(value: JsonValue) -> bytes:
    """Encode a value to be reviewed: two spaces of indent, a final newline."""
    return msgspec.json.format(compact(value), indent=2) + b"\n"


def wrap(value: JsonValue) -> bytes:
    """Encode a value for review: each member on a line of its own, unless the whole is short.

    Lines are indented by tabs. Without its tabs and line ends the text is that of `compact`.
    """
    return _encode_text(_wrap, value) + b"\n"


def wrap_tools(tools: Iterable[JsonObject]) -> bytes:
    """Encode tools as `wrap`, in an array from which a server cuts each tool as compact JSON.

    The line that begins a tool is not indented and every other line of a tool is.
    """
    text = _encode_text(_wrap_tools, list(tools))
    return b"[\n" + text + b"\n]\n" if text else b"[]\n"


def lines(values: Iterable[JsonValue]) -> bytes:
    """Encode each value on its own line (JSON Lines)."""
    values = list(values)
    try:
        return _encoder.encode_lines(values)
    except UnicodeEncodeError:
        return _encoder.encode_lines(_without_surrogates(values))


def entry_a_line(sections: Mapping[str, JsonValue]) -> bytes:
    """Encode an object of arrays and objects with each of their entries on its own line.

    Diffs of large data stay readable, at a fraction of the size of full indentation.
    """
    parts = [compact(name) + b": " + _section(value) for name, value in sorted(sections.items())]
    return b"{\n" + b",\n".join(parts) + b"\n}\n"


def array_of(blocks: Iterable[bytes]) -> bytes:
    """Return a file of what `block` gave of each object."""
    return b"[\n" + b",\n".join(blocks) + b"\n]\n"


def block(entry: Mapping[str, JsonValue]) -> bytes:
    """Encode an object: each member on a line, and each item of a member that is an array.

    Diffs show single items in this form, and stay short.
    """
    members = [compact(name) + b": " + _items(entry[name]) for name in sorted(entry)]
    return b"{" + b",\n ".join(members) + b"}"


def _items(value: JsonValue) -> bytes:
    if not (isinstance(value, list) and any(isinstance(item, dict) for item in value)):
        return compact(value)
    # JSON has no line break inside a text.
    return b"[\n  " + lines(value)[:-1].replace(b"\n", b",\n  ") + b"\n ]"


def _wrap_tools(tools: list[JsonObject]) -> bytes:
    wrapped: dict[int, bytes] = {}  # by identity, for this call: many tools share a schema
    for tool in tools:
        for member in tool.values():
            if id(member) not in wrapped:
                wrapped[id(member)] = _wrap(member, 1)
    members = (
        (_encoder.encode(name) + b":" + wrapped[id(tool[name])] for name in sorted(tool))
        for tool in tools
    )
    return b",\n".join(b"{" + b",\n\t".join(each) + b"}" for each in members)


def _wrap(value: JsonValue, depth: int = 0) -> bytes:
    text = _encoder.encode(value)
    if len(text) <= _SHORT_BYTES or not isinstance(value, _CONTAINERS):
        return text
    line = b"\n" + b"\t" * (depth + 1)
    members = (b"," + line).join(_members(value, depth + 1))
    return text[:1] + line + members + line[:-1] + text[-1:]


def _members(value: Any, depth: int) -> list[bytes]:
    encode = _encoder.encode
    if isinstance(value, dict):
        return [
            encode(key)
            + b":"
            + (_wrap(item, depth) if isinstance(item := value[key], _CONTAINERS) else encode(item))
            for key in sorted(value)
        ]
    return [_wrap(item, depth) if isinstance(item, _CONTAINERS) else encode(item) for item in value]


def _section(value: Any) -> bytes:
    if isinstance(value, dict) and value:
        entries = [compact(key) + b": " + compact(item) for key, item in sorted(value.items())]
        return b"{\n" + b",\n".join(entries) + b"\n}"
    if isinstance(value, list | tuple) and value:
        return b"[\n" + b",\n".join(compact(item) for item in value) + b"\n]"
    return compact(value)


def _encode_text(encode: Callable[[Any], bytes], value: Any) -> bytes:
    """Encode a value by `encode`; if it has lone surrogates, replace these first."""
    try:
        return encode(value)
    except UnicodeEncodeError:
        return encode(_without_surrogates(value))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value
