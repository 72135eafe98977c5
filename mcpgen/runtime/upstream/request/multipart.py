"""Serialization of multipart bodies: `multipart/form-data`, `multipart/related` and others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from mcpgen.contract.http_names import read_fixed_value
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.request.body_schemas import (
    PartSchemas,
    describe,
    find_item_at,
    find_items,
    find_property,
    is_declared,
)
from mcpgen.runtime.upstream.request.files import FileReader
from mcpgen.runtime.upstream.request.forms import is_styled, list_members
from mcpgen.runtime.upstream.request.parameters import (
    NOT_UNICODE,
    UnsendableError,
    check_header_value,
    format_json,
    format_pairs,
    format_primitive,
    percent_encode,
)
from mcpgen.text.media_types import is_json, is_range_of, names_binary

_OCTETS = "application/octet-stream"

Encodings = Mapping[str, JsonObject]


@dataclass(frozen=True, slots=True)
class _Part:
    name: str | None  # None for a part without a name
    content: bytes = field(repr=False)
    content_type: str = ""
    file_name: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def to_bytes(self) -> bytes:
        lines = []
        if self.name is not None:
            disposition = f'form-data; name="{_escape_name(self.name)}"'
            if self.file_name is not None:
                disposition += f'; filename="{_escape_name(self.file_name)}"'
            lines.append(f"Content-Disposition: {disposition}")
        if self.content_type:
            lines.append(f"Content-Type: {self.content_type}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*lines, "", ""]).encode() + self.content


def _escape_name(name: str) -> str:
    """Escape a name as browsers do (HTML, "multipart/form-data encoding algorithm")."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


@dataclass(frozen=True, slots=True)
class Multipart:
    """A multipart body, its boundary and the media type of its first part."""

    boundary: str
    content: bytes = field(repr=False)
    root_type: str = ""


def encode_members(
    value: Any,
    encodings: Encodings,
    schema: JsonObject | bool | None,
    files: FileReader,
    root_part: str = "",
) -> Multipart:
    """Serialize an object as named parts (RFC 7578): arrays as repeated parts, objects as JSON.

    Binary members are file arguments. With a `root_part`, the parts have no names and that member
    comes first (RFC 2387).

    Raises:
        UnsendableError: the value is not an object, or a member cannot be represented.
    """
    root = schema if isinstance(schema, dict) else {}
    whole = describe(root, root)
    parts: list[_Part] = []
    for name, item in sorted(list_members(value), key=lambda member: member[0] != root_part):
        if root_part and not is_declared(whole, name):
            raise UnsendableError("is an unknown part").locate_in(name)
        about = find_property(whole, name, root)
        shown = None if root_part else name
        try:
            parts += _encode_member(shown, item, encodings.get(name, {}), about, root, files)
        except UnsendableError as error:
            raise error.locate_in(name) from None
    return _join(parts)


def encode_items(
    value: Sequence[Any],
    prefix: Sequence[JsonObject],
    encoding: JsonObject,
    schema: JsonObject | bool | None,
    files: FileReader,
) -> Multipart:
    """Serialize each item of a list as a part without a name (RFC 2046, section 5.1.1).

    `prefix` contains the Encoding Objects of the first parts, `encoding` is that of the others.

    Raises:
        UnsendableError: the list is empty, or an item cannot be represented.
    """
    if not value:
        raise UnsendableError("must not be empty: a multipart body has at least one part")
    root = schema if isinstance(schema, dict) else {}
    whole = describe(root, root)
    parts: list[_Part] = []
    for index, item in enumerate(value):
        chosen = prefix[index] if index < len(prefix) else encoding
        try:
            parts.append(_encode_part(None, item, chosen, find_item_at(whole, index, root), files))
        except UnsendableError as error:
            raise error.locate_in(index) from None
    return _join(parts)


def _join(parts: Sequence[_Part]) -> Multipart:
    try:
        written = [part.to_bytes() for part in parts]
    except UnicodeEncodeError:
        raise UnsendableError(NOT_UNICODE) from None
    # Derived from the content: equal calls send equal bytes, and content cannot contain it.
    boundary = f"mcpgen-{hashlib.sha256(b'|'.join(written)).hexdigest()[:32]}"
    marker = f"--{boundary}".encode()
    content = b"".join(marker + b"\r\n" + part + b"\r\n" for part in written)
    root_type = (parts[0].content_type or "text/plain") if parts else ""
    return Multipart(boundary, content + marker + b"--\r\n", root_type)


def _encode_member(
    name: str | None,
    value: Any,
    encoding: JsonObject,
    about: PartSchemas,
    root: JsonObject,
    files: FileReader,
) -> Iterator[_Part]:
    if name is not None and is_styled(encoding):
        yield from _encode_styled(name, value, encoding)
    elif isinstance(value, (list, tuple)):
        about = find_items(about, root)
        for index, item in enumerate(value):
            try:
                yield _encode_part(name, item, encoding, about, files)
            except UnsendableError as error:
                raise error.locate_in(index) from None
    else:
        yield _encode_part(name, value, encoding, about, files)


def _encode_part(
    name: str | None, item: Any, encoding: JsonObject, about: PartSchemas, files: FileReader
) -> _Part:
    headers = tuple(_list_fixed_headers(encoding, name))
    declared = encoding.get("content_type", "")
    is_file = any(
        schema.get("format") == "binary" or names_binary(schema.get("contentMediaType", ""))
        for schema in about
    )
    is_encoded = any("contentEncoding" in schema for schema in about)  # and is sent encoded
    if isinstance(item, str) and not is_encoded and (is_file or names_binary(declared)):
        file = files.read(item)
        content_type = _choose_type(declared, file.media_type) or _OCTETS
        return _Part(name, file.content, content_type, file.name or name, headers)
    if isinstance(item, (dict, list, tuple)) or is_json(declared):
        content_type = _choose_type(declared, "application/json") or "application/json"
        return _Part(name, format_json(item).encode(), content_type, None, headers)
    plain = _OCTETS if is_encoded else ""
    content_type = _choose_type(declared, plain) or plain
    return _Part(name, _encode_text(format_primitive(item)), content_type, None, headers)


def _encode_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UnsendableError(NOT_UNICODE) from None


def _encode_styled(name: str, value: Any, encoding: JsonObject) -> Iterator[_Part]:
    headers = tuple(_list_fixed_headers(encoding, name))
    style = encoding.get("style") or "form"
    explode = encoding.get("explode", style == "form")
    for pair in format_pairs(percent_encode(name), value, style=style, explode=explode):
        key, _, text = pair.partition("=")
        yield _Part(unquote(key), unquote(text).encode(), headers=headers)


def _list_fixed_headers(encoding: JsonObject, name: str | None) -> Iterator[tuple[str, str]]:
    """List the headers of a part whose schemas allow a single value; others cannot be set."""
    # mcpgen itself writes `Content-*` of a named part, and `Content-Type` of others.
    ours = "content-" if name is not None else "content-type"
    for header in encoding.get("headers", ()):
        fixed = read_fixed_value(header.get("schema"))
        if fixed is not None and not header["name"].lower().startswith(ours):
            yield header["name"], check_header_value(format_primitive(fixed))


def _choose_type(declared: str, known: str) -> str:
    """Return the file's type if `declared` ("image/*, text/csv") allows it, else its first."""
    options = [option.strip() for option in declared.split(",") if option.strip()]
    if not options:
        return known
    if known and any(option == known or is_range_of(option, known) for option in options):
        return known
    return next((option for option in options if "*" not in option), "")
