"""Serialization of request bodies, by media type."""

from __future__ import annotations

import enum
from collections.abc import Collection
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.request.files import FileReader
from mcpgen.runtime.upstream.request.forms import check_styled_members, encode_form
from mcpgen.runtime.upstream.request.parameters import (
    UnsendableError,
    check_header_value,
    find_charset,
    format_json,
    format_primitive,
)
from mcpgen.text.media_types import (
    JSON_LINES,
    essence_of,
    find_codec,
    is_json,
    is_range_of,
    is_text,
)


class MediaTypeRule(Struct, frozen=True):
    """One media type of a body. `schema` is set if the serializer needs it.

    `xml_root` is the element name for an object or an array; "" for XML that is passed as text.
    `is_binary` states that the body is a file argument. `prefix_encoding` and `item_encoding` are
    for multipart parts without names, and `root_part` is the member that becomes the first of
    them. `chosen` is the caller's media type within the range `media_type`.

    Raises:
        ConfigurationError: the media type is not supported.
    """

    media_type: str
    encoding: dict[str, JsonObject] = {}
    schema: JsonObject | bool | None = None
    xml_root: str = ""
    is_binary: bool = False
    prefix_encoding: tuple[JsonObject, ...] = ()
    item_encoding: JsonObject = {}
    root_part: str = ""
    chosen: str = ""

    def __post_init__(self) -> None:
        classify_body(self.media_type)


class BodyRule(Struct, frozen=True):
    """The `request.body` of a tool's contract, with the preferred media type first."""

    argument: str
    media_types: tuple[MediaTypeRule, ...]
    required: bool = False
    content_type_argument: str = ""
    is_composed: bool = False  # the handler inserts arguments, which may be ABSENT
    reserved: tuple[str, ...] = ()  # fixed and hidden members, which no argument may set
    arguments: dict[str, str] = {}  # that are members of the body, by the names of the API

    def choose(self, content_type: str) -> MediaTypeRule:
        """Return the rule for the caller's media type; "" stands for the preferred one.

        Raises:
            UnsendableError: the operation does not accept this media type.
        """
        if not content_type:
            return self.media_types[0]
        for rule in self.media_types:
            if rule.media_type == content_type:
                return rule
        for rule in self.media_types:
            if is_range_of(rule.media_type, content_type):
                return replace(rule, chosen=check_header_value(content_type))
        offered = ", ".join(f"`{rule.media_type}`" for rule in self.media_types)
        raise UnsendableError(f"must be one of {offered}")


class EncodedBody(Struct, frozen=True):
    """A serialized body with its `Content-Type`."""

    content_type: str
    content: bytes

    def __repr__(self) -> str:
        return f"EncodedBody({self.content_type!r})"


class BodyKind(enum.Enum):
    """Serialization format of a body."""

    JSON = "json"
    JSON_LINES = "lines of JSON"
    URLENCODED = "urlencoded"
    MULTIPART = "multipart"
    TEXT = "text"
    BYTES = "bytes"


def classify_body(media_type: str) -> BodyKind:
    """Return the format of a body with this media type or range.

    Raises:
        ConfigurationError: the media type is not supported.
    """
    essence = essence_of(media_type)
    if "/" not in essence or essence == "multipart/*":
        raise ConfigurationError(f"unsupported media type of a body: `{media_type}`")
    if is_json(essence):
        return BodyKind.JSON
    if essence in JSON_LINES:
        return BodyKind.JSON_LINES
    if essence == "application/x-www-form-urlencoded":
        return BodyKind.URLENCODED
    if essence.startswith("multipart/"):
        return BodyKind.MULTIPART
    return BodyKind.TEXT if is_text(essence) else BodyKind.BYTES


def encode_body(
    rule: MediaTypeRule, value: Any, files: FileReader, reserved: Collection[str] = ()
) -> EncodedBody:
    """Serialize a body as `rule` defines.

    In forms, exploded objects may not have members with a `reserved` name or that of a field.

    Raises:
        UnsendableError: this media type cannot represent the value.
    """
    kind = classify_body(rule.media_type)
    named = rule.chosen or rule.media_type
    if kind is BodyKind.JSON:
        return EncodedBody(named, format_json(value).encode())
    if kind is BodyKind.JSON_LINES:
        items = value if isinstance(value, (list, tuple)) else [value]
        return EncodedBody(named, "".join(f"{format_json(i)}\n" for i in items).encode())
    if kind is BodyKind.URLENCODED:
        return EncodedBody(named, encode_form(value, rule.encoding, reserved))
    if kind is BodyKind.MULTIPART:
        return _encode_multipart(rule, value, files, reserved)
    if rule.xml_root:
        return EncodedBody(named, _encode_xml(value, rule))
    if kind is BodyKind.TEXT and not rule.is_binary:
        media_type = _choose_media_type(rule, "")
        return EncodedBody(media_type, _encode_text(value, media_type))
    file = files.read(value)
    return EncodedBody(_choose_media_type(rule, file.media_type), file.content)


_WITHIN = {
    "*/*": "application/octet-stream",
    "application/*": "application/octet-stream",
    "text/*": "text/plain",
}


def _choose_media_type(rule: MediaTypeRule, known: str) -> str:
    """Return the media type of a text or a file; `known` is the type that the file declares."""
    media_type = rule.media_type
    if "*" not in essence_of(media_type):
        return media_type
    if rule.chosen or is_range_of(media_type, known):
        return rule.chosen or known
    if media_type not in _WITHIN:
        raise UnsendableError(
            f"has an unknown media type: expected one within `{media_type}` as `content_type`"
            " or in a `data:` URI"
        )
    return _WITHIN[media_type]


def _encode_multipart(
    rule: MediaTypeRule, value: Any, files: FileReader, reserved: Collection[str]
) -> EncodedBody:
    # few tools send such bodies
    from mcpgen.runtime.upstream.request.multipart import encode_items, encode_members

    kind = essence_of(rule.media_type)
    if isinstance(value, (list, tuple)) and kind != "multipart/form-data":
        body = encode_items(value, rule.prefix_encoding, rule.item_encoding, rule.schema, files)
    else:
        check_styled_members(value, rule.encoding, reserved)
        body = encode_members(value, rule.encoding, rule.schema, files, rule.root_part)
    content_type = f"{kind}; boundary={body.boundary}"
    if kind == "multipart/related":  # its `type` is that of the root (RFC 2387, section 3.1)
        content_type += f'; type="{essence_of(body.root_type)}"'
    return EncodedBody(content_type, body.content)


def _encode_xml(value: Any, rule: MediaTypeRule) -> bytes:
    from mcpgen.runtime.upstream.request.xml_bodies import render_xml  # few tools send XML

    if isinstance(value, str):
        raise UnsendableError("must be an object or an array: it is sent as XML")
    schema = rule.schema if isinstance(rule.schema, dict) else {}
    charset = find_charset(rule.media_type)
    codec = find_codec(charset)
    # Characters outside of the charset become character references.
    text = render_xml(value, rule.xml_root, schema, charset if codec else "utf-8")
    return text.encode(codec or "utf-8", "xmlcharrefreplace")


def _encode_text(value: Any, media_type: str) -> bytes:
    if isinstance(value, (dict, list, tuple)):
        raise UnsendableError(f"must be a string: it is sent as `{media_type}`")
    try:
        return format_primitive(value).encode(find_codec(find_charset(media_type)) or "utf-8")
    except UnicodeEncodeError:
        raise UnsendableError(f"has a character that `{media_type}` cannot represent") from None
