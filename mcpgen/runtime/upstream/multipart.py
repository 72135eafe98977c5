"""Bodies of several parts: `multipart/form-data` and its kin."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.part_headers import fixed_value
from mcpgen.runtime.upstream.body_schemas import (
    Described,
    described,
    is_declared,
    item_at,
    items_of,
    property_of,
)
from mcpgen.runtime.upstream.files import FileReader
from mcpgen.runtime.upstream.forms import is_styled, members
from mcpgen.runtime.upstream.parameters import (
    UnsendableError,
    checked_header,
    is_json,
    json_text,
    percent_encode,
    primitive_text,
    styled_pairs,
)

_OCTETS = "application/octet-stream"

Encodings = Mapping[str, JsonObject]


@dataclass(frozen=True, slots=True)
class _Part:
    name: str | None  # None where it is known by its position
    content: bytes = field(repr=False)
    content_type: str = ""
    file_name: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def to_bytes(self) -> bytes:
        lines = []
        if self.name is not None:
            disposition = f'form-data; name="{_quoted(self.name)}"'
            if self.file_name is not None:
                disposition += f'; filename="{_quoted(self.file_name)}"'
            lines.append(f"Content-Disposition: {disposition}")
        if self.content_type:
            lines.append(f"Content-Type: {self.content_type}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*lines, "", ""]).encode() + self.content


def _quoted(name: str) -> str:
    """Escape a name as browsers do (HTML, "multipart/form-data encoding algorithm")."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


@dataclass(frozen=True, slots=True)
class Multipart:
    """A multipart body, the boundary that its `Content-Type` has to name, and its first part's."""

    boundary: str
    content: bytes = field(repr=False)
    root_type: str = ""  # the media type of the first part


def parts_of_members(
    value: Any,
    encodings: Encodings,
    schema: JsonObject | bool | None,
    files: FileReader,
    root_part: str = "",
) -> Multipart:
    """Write an object as parts with names (RFC 7578): arrays part by part, objects as JSON.

    What the schema calls binary is read as a file argument and sent as one. With a `root_part` the
    parts have no names, and that member is the first of them (RFC 2387).

    Raises:
        UnsendableError: it is no object, or a value has no spelling.
    """
    root = schema if isinstance(schema, dict) else {}
    whole = described(root, root)
    parts: list[_Part] = []
    for name, item in sorted(members(value), key=lambda member: member[0] != root_part):
        if root_part and not is_declared(whole, name):
            raise UnsendableError("is no part that the operation takes").inside(name)
        about = property_of(whole, name, root)
        shown = None if root_part else name
        try:
            parts += _parts(shown, item, encodings.get(name, {}), about, root, files)
        except UnsendableError as error:
            raise error.inside(name) from None
    return _joined(parts)


def parts_in_order(
    value: Sequence[Any],
    prefix: Sequence[JsonObject],
    encoding: JsonObject,
    schema: JsonObject | bool | None,
    files: FileReader,
) -> Multipart:
    """Write a list as parts without names (RFC 2046, section 5.1.1), a part an item.

    `prefix` has the Encoding Objects of the first parts, and `encoding` is that of the others.

    Raises:
        UnsendableError: there is no item, or one has no spelling.
    """
    if not value:
        raise UnsendableError("must have an item: a body in parts has at least one")
    root = schema if isinstance(schema, dict) else {}
    whole = described(root, root)
    parts: list[_Part] = []
    for index, item in enumerate(value):
        chosen = prefix[index] if index < len(prefix) else encoding
        try:
            parts.append(_part(None, item, chosen, item_at(whole, index, root), files))
        except UnsendableError as error:
            raise error.inside(index) from None
    return _joined(parts)


def _joined(parts: Sequence[_Part]) -> Multipart:
    try:
        written = [part.to_bytes() for part in parts]
    except UnicodeEncodeError:
        raise UnsendableError("has half of a surrogate pair, which is no character") from None
    # Made from the content: the same call gives the same bytes, and no content can foresee it.
    boundary = f"mcpgen-{hashlib.sha256(b'|'.join(written)).hexdigest()[:32]}"
    marker = f"--{boundary}".encode()
    content = b"".join(marker + b"\r\n" + part + b"\r\n" for part in written)
    root_type = (parts[0].content_type or "text/plain") if parts else ""
    return Multipart(boundary, content + marker + b"--\r\n", root_type)


def _parts(
    name: str | None,
    value: Any,
    encoding: JsonObject,
    about: Described,
    root: JsonObject,
    files: FileReader,
) -> Iterator[_Part]:
    if name is not None and is_styled(encoding):
        yield from _styled_parts(name, value, encoding, tuple(_fixed_headers(encoding, name)))
    elif isinstance(value, (list, tuple)):
        about = items_of(about, root)
        for index, item in enumerate(value):
            try:
                yield _part(name, item, encoding, about, files)
            except UnsendableError as error:
                raise error.inside(index) from None
    else:
        yield _part(name, value, encoding, about, files)


def _part(
    name: str | None, item: Any, encoding: JsonObject, about: Described, files: FileReader
) -> _Part:
    headers = tuple(_fixed_headers(encoding, name))
    wanted = encoding.get("content_type", "")
    is_file = any(_is_binary(schema) for schema in about)
    is_encoded = any("contentEncoding" in schema for schema in about)  # and stays so
    if isinstance(item, str) and not is_encoded and (is_file or _names_binary(wanted)):
        file = files.read(item)
        content_type = _chosen_type(wanted, file.media_type) or _OCTETS
        return _Part(name, file.content, content_type, file.name or name, headers)
    if isinstance(item, (dict, list, tuple)) or is_json(wanted):
        content_type = _chosen_type(wanted, "application/json") or "application/json"
        return _Part(name, json_text(item).encode(), content_type, None, headers)
    plain = _OCTETS if is_encoded else ""
    content_type = _chosen_type(wanted, plain) or plain
    return _Part(name, _encoded(primitive_text(item)), content_type, None, headers)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UnsendableError("has half of a surrogate pair, which is no character") from None


def _styled_parts(
    name: str, value: Any, encoding: JsonObject, headers: tuple[tuple[str, str], ...]
) -> Iterator[_Part]:
    style = encoding.get("style") or "form"
    explode = encoding.get("explode", style == "form")
    for pair in styled_pairs(percent_encode(name), value, style=style, explode=explode):
        key, _, text = pair.partition("=")
        yield _Part(unquote(key), unquote(text).encode(), headers=headers)


def _fixed_headers(encoding: JsonObject, name: str | None) -> Iterator[tuple[str, str]]:
    """The headers of a part whose schema leaves them one value; no argument gives the others.

    A part without a name may have such as `Content-ID`, and its type is not among them.
    """
    ours = "content-" if name is not None else "content-type"
    for header in encoding.get("headers", ()):
        fixed = fixed_value(header.get("schema"))
        if fixed is not None and not header["name"].lower().startswith(ours):
            yield header["name"], checked_header(primitive_text(fixed))


def _chosen_type(wanted: str, known: str) -> str:
    """The media type of a part: what the file is, where the encoding allows that, else its first.

    `wanted` may list several, and have wildcards: "image/png, image/*".
    """
    options = [option.strip() for option in wanted.split(",") if option.strip()]
    for option in options:
        if known and (option == known or is_range_of(option, known)):
            return known
    exact = [option for option in options if "*" not in option]
    if exact:
        return exact[0]
    return known if not options else ""


def is_range_of(option: str, media_type: str) -> bool:
    """Whether `option` is a range that `media_type` is in: `image/*`, `application/*+xml`."""
    if option == "*/*":
        return "/" in media_type
    before, star, after = option.partition("*")
    has_room = len(media_type) > len(before) + len(after)
    return bool(star) and has_room and media_type.startswith(before) and media_type.endswith(after)


def _names_binary(content_type: str) -> bool:
    """Whether every media type of an Encoding Object is of bytes that are no text."""
    kinds = [kind.partition(";")[0].strip().lower() for kind in content_type.split(",")]
    return all(
        kind == "application/octet-stream"
        or kind in {"application/pdf", "application/zip", "application/gzip"}
        or kind.startswith(("image/", "audio/", "video/", "font/"))
        for kind in kinds
    )


# What the schema says of a property


def _is_binary(schema: JsonObject) -> bool:
    if schema.get("format") == "binary":
        return True
    media_type = schema.get("contentMediaType", "")
    is_encoded = "contentEncoding" in schema
    return bool(media_type) and not is_encoded and _names_binary(media_type)
