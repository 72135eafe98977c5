"""Decoding of a request body, by its media type.

Binary content (a file, an image) becomes base64, as in arguments and test cases.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonSchema
from mcpgen.runtime.content import JsonObject
from mcpgen.testing.mock.description import Encoding, MediaType, Parameter
from mcpgen.testing.mock.styles import (
    Pairs,
    Reading,
    Shape,
    query_shapes,
    read_shapes,
    read_values,
    unescape,
)
from mcpgen.testing.mock.xml_bodies import UnreadableError, has_xml_shape, read_xml
from mcpgen.text.media_types import JSON_LINES, essence_of, is_json, is_text


def read_body(
    content: tuple[MediaType, ...], content_type: str, body: bytes, schemas: Schemas
) -> tuple[Reading | None, str]:
    """Decode a body that was sent as `content_type`; return its values and its problem."""
    if not content_type:
        return None, "it was sent without `Content-Type`"
    described = _find_media_type(content, content_type)
    if described is None:
        offered = ", ".join(f"`{entry.media_type}`" for entry in content)
        return None, f"`{content_type}` was sent, but the operation accepts {offered}"
    try:
        reading = _read(described, content_type, body, schemas)
    except UnreadableError as error:
        return None, str(error)
    return reading, reading.problem


def _find_media_type(content: Iterable[MediaType], content_type: str) -> MediaType | None:
    """Return the most specific entry of a `content` map for a media type."""
    kind = essence_of(content_type)
    entries = {entry.essence: entry for entry in content}
    type_, _, subtype = kind.partition("/")
    _, plus, suffix = subtype.rpartition("+")
    of_suffix = f"{type_}/*{plus}{suffix}" if plus else kind
    for candidate in (kind, of_suffix, f"{type_}/*", "*/*"):
        if candidate in entries:
            return entries[candidate]
    return None


def _read(described: MediaType, content_type: str, body: bytes, schemas: Schemas) -> Reading:
    kind = essence_of(content_type)
    if is_json(kind):
        return read_values([_parse_json(body)], described.schema, schemas)
    if kind == "application/x-www-form-urlencoded":
        return _read_form(described, body, schemas)
    if kind.startswith("multipart/"):
        if _has_parts_in_order(described, schemas):
            return _read_sequence(described, content_type, body, schemas)
        if kind == "multipart/related":
            return _read_related(described, content_type, body, schemas)
        return _read_multipart(described, content_type, body, schemas)
    if kind.endswith(("/xml", "+xml")) and has_xml_shape(described.schema, schemas):
        return read_shapes([read_xml(body, described.schema, schemas)], described.schema, schemas)
    if kind.startswith("message/"):  # text, or a file
        return Reading((body.decode("utf-8", "replace"), b64encode(body).decode()))
    if kind in JSON_LINES:
        return _read_lines(described, body, schemas)
    if _is_text(kind):
        return _read_string(_decode_text(body, content_type), described.schema, schemas)
    return Reading((b64encode(body).decode(),))  # the schema describes the bytes, not the base64


def _read_string(text: str, schema: JsonSchema, schemas: Schemas) -> Reading:
    """Read text; the schema of an object describes its content."""
    if "string" in schemas.types(schema):
        return read_values([text], schema, schemas)
    return Reading((text,))


def _read_lines(described: MediaType, body: bytes, schemas: Schemas) -> Reading:
    """Read one JSON value per line; the schema describes the list, or each value."""
    values = [_parse_json(line) for line in body.splitlines() if line.strip()]
    if described.item_schema is not None:
        return read_values([values], {"type": "array", "items": described.item_schema}, schemas)
    # Before OpenAPI 3.2, the meaning of a list's schema is undefined; documents use both.
    is_list = "array" in schemas.likely_types(described.schema)
    if is_list and (not values or not all(isinstance(value, list) for value in values)):
        return read_values([values], described.schema, schemas)
    return read_values([values], {"type": "array", "items": described.schema}, schemas)


def _parse_json(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError as error:
        raise UnreadableError(f"it is not JSON: {error}") from None


def _is_text(kind: str) -> bool:
    return is_text(kind) and not kind.startswith("message/")  # a message may be binary


def _decode_text(body: bytes, content_type: str) -> str:
    charset = re.search(r'charset\s*=\s*"?([\w.-]+)', content_type, re.IGNORECASE)
    try:
        return body.decode(charset[1] if charset else "utf-8")
    except (LookupError, UnicodeDecodeError) as error:
        raise UnreadableError(f"it is not text: {error}") from None


# Forms


def _read_form(described: MediaType, body: bytes, schemas: Schemas) -> Reading:
    """Read `application/x-www-form-urlencoded` (OpenAPI 3.2, "Encoding the x-www-form...")."""
    try:
        pairs = Pairs(body.decode("ascii"))
    except UnicodeDecodeError:
        raise UnreadableError("a form is ASCII, everything else is percent-encoded") from None
    return read_values([_read_form_value(described, pairs, schemas)], described.schema, schemas)


def _read_form_value(described: MediaType, pairs: Pairs, schemas: Schemas) -> JsonObject:
    """Return the object of a form's pairs, each property by its encoding."""
    found: JsonObject = {}
    for name in _order_form_names(described, pairs, schemas):
        schema = schemas.property_schema(described.schema, name)
        shapes = _take_form_shapes(
            name, schema, described.encoding.get(name, Encoding()), pairs, schemas
        )
        if shapes:
            found[name] = read_shapes(shapes, schema, schemas).value
    for name in pairs.list_names():  # neither declared nor in brackets
        texts: list[Shape] = [unescape(text, plus=True) for text in pairs.take(name)]
        shape: Shape = texts[0] if len(texts) == 1 else texts
        schema = schemas.property_schema(described.schema, name)
        found[name] = read_shapes([shape], schema, schemas).value
    return found


def _order_form_names(described: MediaType, pairs: Pairs, schemas: Schemas) -> list[str]:
    """Return declared names and names before brackets; exploded objects are last."""
    sent = [name.partition("[")[0] for name in pairs.list_names() if "[" in name[1:]]
    declared = sorted(schemas.property_names(described.schema), key=len, reverse=True)
    names = list(dict.fromkeys([*declared, *sent]))
    return sorted(names, key=lambda name: _is_spread(name, described, schemas))


def _is_spread(name: str, described: MediaType, schemas: Schemas) -> bool:
    encoding = described.encoding.get(name, Encoding())
    schema = schemas.property_schema(described.schema, name)
    return encoding.is_styled and schemas.likely_types(schema) == {"object"}


def _take_form_shapes(
    name: str, schema: JsonSchema, encoding: Encoding, pairs: Pairs, schemas: Schemas
) -> list[Shape]:
    """Take the pairs of a property; return their possible shapes, by its encoding."""
    if not encoding.is_styled:
        tree = pairs.take_tree(name)
        return [] if tree is None else [tree, [tree]]
    style = encoding.style or "form"
    explode = style == "form" if encoding.explode is None else encoding.explode
    as_query = Parameter(name, "query", required=False, schema=schema, style=style, explode=explode)
    is_there = name in pairs.list_names()
    shapes = list(query_shapes(as_query, pairs, schemas))
    if is_there and not shapes:
        raise UnreadableError(f"`{name}` is not encoded in style `{style}` with explode {explode}")
    return shapes


# Multipart


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart body."""

    name: str  # "" where it has none
    filename: str
    content_type: str
    content: bytes
    content_id: str = ""


def _read_multipart(
    described: MediaType, content_type: str, body: bytes, schemas: Schemas
) -> Reading:
    """Read `multipart/form-data` (RFC 7578) by the schema of its properties."""
    found: dict[str, list[object]] = {}
    styled: list[str] = []  # styled like a query; the style determines the names
    names = {name for name, encoding in described.encoding.items() if encoding.is_styled}
    declared = schemas.property_names(described.schema) - names
    for part in split_multipart(content_type, body):
        if not part.name:
            raise UnreadableError("a part has no name")
        if names and part.name not in declared:
            text = quote(_decode_text(part.content, part.content_type), safe=",")
            styled.append(f"{quote(part.name)}={text}")
            continue
        schema = schemas.property_schema(described.schema, part.name)
        found.setdefault(part.name, []).append(_read_part(part, schema, schemas))
    value = {
        name: values if _is_list(name, values, described.schema, schemas) else values[0]
        for name, values in found.items()
    }
    value |= _read_form_value(described, Pairs("&".join(styled)), schemas)
    return read_values([value], described.schema, schemas)


def _has_parts_in_order(described: MediaType, schemas: Schemas) -> bool:
    """Return whether the parts are the items of a list (OpenAPI 3.2, "By Position")."""
    if described.essence == "multipart/form-data":
        return False
    types = schemas.likely_types(described.schema)
    return described.item_schema is not None or types == {"array"}


def _read_sequence(
    described: MediaType, content_type: str, body: bytes, schemas: Schemas
) -> Reading:
    """Read parts by position, each by the schema of the item there."""
    schema = described.schema
    first = schema.get("prefixItems", ()) if isinstance(schema, dict) else ()
    others = schemas.item_schema(schema) if described.item_schema is None else described.item_schema
    values = [
        _read_part(part, first[place] if place < len(first) else others, schemas)
        for place, part in enumerate(split_multipart(content_type, body))
    ]
    return read_values([values], schema, schemas)


def _read_related(
    described: MediaType, content_type: str, body: bytes, schemas: Schemas
) -> Reading:
    """Read a JSON object and the files that it refers to, without names (RFC 2387)."""
    first, *others = split_multipart(content_type, body)
    if first.name or any(part.name for part in others):
        raise UnreadableError("a part has a name, which is allowed only in `multipart/form-data`")
    if f'type="{essence_of(first.content_type)}"' not in content_type:
        raise UnreadableError("`type` does not name the media type of the first part")
    names = schemas.property_names(described.schema)
    root, *files = sorted(names, key=lambda name: not _is_json_part(name, described, schemas))
    found: dict[str, list[object]] = {}
    for part in others:
        name = files[0] if len(files) == 1 else _find_name_by_id(part.content_id, files, described)
        found.setdefault(name, []).append(b64encode(part.content).decode())
    value: JsonObject = {root: _parse_json(first.content)}
    for name, read in found.items():
        is_list = _is_list(name, read, described.schema, schemas)
        value[name] = read if is_list else read[0]
    return read_values([value], described.schema, schemas)


def _find_name_by_id(content_id: str, names: Iterable[str], described: MediaType) -> str:
    for name in names:
        if content_id and described.encoding.get(name, Encoding()).content_id == content_id:
            return name
    raise UnreadableError(f"no part has the Content-ID `{content_id}`")


def _is_json_part(name: str, described: MediaType, schemas: Schemas) -> bool:
    declared = described.encoding.get(name, Encoding()).content_type
    schema = schemas.property_schema(described.schema, name)
    return is_json(declared) if declared else schemas.likely_types(schema) == {"object"}


def _is_list(name: str, values: list[object], schema: JsonSchema, schemas: Schemas) -> bool:
    if len(values) > 1:
        return True
    declared = schemas.property_schema(schema, name)
    is_array = schemas.likely_types(declared) - {"null"} == {"array"}
    return is_array and not isinstance(values[0], list)


def _read_part(part: Part, schema: JsonSchema, schemas: Schemas) -> object:
    if is_json(part.content_type):
        return _parse_json(part.content)
    is_text_type = not part.content_type or _is_text(essence_of(part.content_type))
    if part.filename or not (part.name or is_text_type):  # a file with a name has a file name, too
        return b64encode(part.content).decode()
    types = schemas.likely_types(schema)
    item = schemas.item_schema(schema) if "array" in types else schema
    return read_shapes([_decode_text(part.content, part.content_type)], item, schemas).value


def split_multipart(content_type: str, body: bytes) -> list[Part]:
    """Split a multipart body into its parts.

    Raises:
        ValueError: there is no boundary, or the body does not end with it.
    """
    boundary = re.search(r'boundary\s*=\s*(?:"([^"]+)"|([^\s;]+))', content_type)
    if boundary is None:
        raise UnreadableError("a multipart body was sent without a boundary")
    marker = b"\r\n--" + (boundary[1] or boundary[2]).encode()
    pieces = (b"\r\n" + body).split(marker)
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise UnreadableError("a multipart body does not end with its boundary")
    return [_parse_part(piece) for piece in pieces[1:-1]]


def _parse_part(piece: bytes) -> Part:
    head, blank_line, content = piece.partition(b"\r\n\r\n")
    if not blank_line:
        raise UnreadableError("a part has no blank line after its headers")
    headers: dict[str, str] = {}
    for line in head.decode("utf-8", "replace").split("\r\n"):
        field, _, value = line.partition(":")
        headers[field.strip().lower()] = value.strip()
    disposition = headers.get("content-disposition", "")
    name = re.search(r'(?<![*\w])name="([^"]*)"', disposition)
    filename = re.search(r'filename="([^"]*)"', disposition)
    return Part(
        unescape(name[1]) if name else "",
        filename[1] if filename else "",
        headers.get("content-type", ""),
        content,
        headers.get("content-id", ""),
    )
