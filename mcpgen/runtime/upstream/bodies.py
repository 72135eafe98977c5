"""How a value travels as a request body, by media type, to the exact bytes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.media_types import JSON_LINES, is_text
from mcpgen.runtime.upstream.files import FileReader
from mcpgen.runtime.upstream.forms import urlencoded
from mcpgen.runtime.upstream.multipart import is_range_of, parts_in_order, parts_of_members
from mcpgen.runtime.upstream.parameters import (
    UnsendableError,
    charset_of,
    checked_header,
    is_json,
    json_text,
    primitive_text,
)
from mcpgen.runtime.upstream.xml_bodies import xml_document


@dataclass(frozen=True, slots=True)
class MediaTypeRule:
    """One way in which the body can travel. `schema` stands where the serialiser needs it.

    `xml_root` is the element that an object or an array becomes; "" for XML that is given as text.
    `is_binary` tells that a message is a file argument, and no text. `prefix_encoding` and
    `item_encoding` are for parts that are known by their position, and `root_part` is the member of
    an object that comes first where they have no names. `chosen` is the type within the
    range `media_type` that the caller selected.
    """

    media_type: str
    encoding: Mapping[str, JsonObject] = field(default_factory=dict)
    schema: JsonObject | bool | None = None
    xml_root: str = ""
    is_binary: bool = False
    prefix_encoding: tuple[JsonObject, ...] = ()
    item_encoding: JsonObject = field(default_factory=dict)
    root_part: str = ""
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class BodyRule:
    """The `request.body` of a tool's contract; media types are ordered, the best first."""

    argument: str
    required: bool
    media_types: tuple[MediaTypeRule, ...]
    content_type_argument: str = ""
    is_composed: bool = False  # the handler puts arguments into it, which may be ABSENT

    @classmethod
    def from_json(cls, entry: JsonObject) -> BodyRule:
        """Read `body` as it stands in `tools/<tag>.json`.

        Raises:
            ConfigurationError: it names a media type that cannot be written.
        """
        rules = tuple(
            MediaTypeRule(
                media["media_type"],
                media.get("encoding", {}),
                media.get("schema"),
                media.get("xml_root", ""),
                media.get("is_binary", False),
                tuple(media.get("prefix_encoding", ())),
                media.get("item_encoding", {}),
                media.get("root_part", ""),
            )
            for media in entry["media_types"]
        )
        for rule in rules:
            kind_of_body(rule.media_type)
        return cls(
            argument=entry["argument"],
            required=entry.get("required", False),
            media_types=rules,
            content_type_argument=entry.get("content_type_argument", ""),
            is_composed=entry.get("is_composed", False),
        )

    def choose(self, content_type: str) -> MediaTypeRule:
        """The rule for a media type that a caller selected; "" stands for the best one.

        Raises:
            UnsendableError: the operation does not take this media type.
        """
        if not content_type:
            return self.media_types[0]
        for rule in self.media_types:
            if rule.media_type == content_type:
                return rule
        for rule in self.media_types:
            if is_range_of(rule.media_type, content_type):
                return replace(rule, chosen=checked_header(content_type))
        offered = ", ".join(f"`{rule.media_type}`" for rule in self.media_types)
        raise UnsendableError(f"must be one of {offered}")


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """Bytes, and the `Content-Type` that says what they are."""

    content_type: str
    content: bytes = field(repr=False)


class BodyKind(enum.Enum):
    """How a body of some media type is written."""

    JSON = "json"
    JSON_LINES = "lines of JSON"
    URLENCODED = "urlencoded"
    MULTIPART = "multipart"
    TEXT = "text"
    BYTES = "bytes"


def kind_of_body(media_type: str) -> BodyKind:
    """How a body of this media type is written; of a range, any type that a caller selects.

    Raises:
        ConfigurationError: it cannot be written.
    """
    essence = _essence(media_type)
    if "/" not in essence or essence == "multipart/*":
        raise ConfigurationError(f"a body must have a media type of its own, not `{media_type}`")
    if is_json(essence):
        return BodyKind.JSON
    if essence in JSON_LINES:
        return BodyKind.JSON_LINES
    if essence == "application/x-www-form-urlencoded":
        return BodyKind.URLENCODED
    if essence.startswith("multipart/"):
        return BodyKind.MULTIPART
    return BodyKind.TEXT if is_text(essence) else BodyKind.BYTES


def encode_body(rule: MediaTypeRule, value: Any, files: FileReader) -> EncodedBody:
    """Write a body in the way that `rule` says.

    Raises:
        UnsendableError: the value has no spelling in this media type.
    """
    kind = kind_of_body(rule.media_type)
    named = rule.chosen or rule.media_type
    if kind is BodyKind.JSON:
        return EncodedBody(named, json_text(value).encode())
    if kind is BodyKind.JSON_LINES:
        items = value if isinstance(value, (list, tuple)) else [value]
        return EncodedBody(named, "".join(f"{json_text(i)}\n" for i in items).encode())
    if kind is BodyKind.URLENCODED:
        return EncodedBody(named, urlencoded(value, rule.encoding))
    if kind is BodyKind.MULTIPART:
        return _multipart(rule, value, files)
    if rule.xml_root:
        return EncodedBody(named, _xml_bytes(value, rule))
    if kind is BodyKind.TEXT and not rule.is_binary:
        media_type = _one_of_range(rule, "")
        return EncodedBody(media_type, _text_bytes(value, media_type))
    file = files.read(value)
    return EncodedBody(_one_of_range(rule, file.media_type), file.content)


def _essence(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


_WITHIN = {
    "*/*": "application/octet-stream",
    "application/*": "application/octet-stream",
    "text/*": "text/plain",
}


def _one_of_range(rule: MediaTypeRule, known: str) -> str:
    """The media type that a body is sent as; `known` is what a file says that it is."""
    media_type = rule.media_type
    if "*" not in _essence(media_type):
        return media_type
    if rule.chosen or is_range_of(media_type, known):
        return rule.chosen or known
    if media_type not in _WITHIN:
        raise UnsendableError(
            f"needs its media type, one within `{media_type}`: as `content_type`,"
            " or in a `data:` URI"
        )
    return _WITHIN[media_type]


def _multipart(rule: MediaTypeRule, value: Any, files: FileReader) -> EncodedBody:
    kind = _essence(rule.media_type)
    if isinstance(value, (list, tuple)) and kind != "multipart/form-data":
        body = parts_in_order(value, rule.prefix_encoding, rule.item_encoding, rule.schema, files)
    else:
        body = parts_of_members(value, rule.encoding, rule.schema, files, rule.root_part)
    content_type = f"{kind}; boundary={body.boundary}"
    if kind == "multipart/related":  # which names the type of its root (RFC 2387, section 3.1)
        content_type += f'; type="{_essence(body.root_type)}"'
    return EncodedBody(content_type, body.content)


def _xml_bytes(value: Any, rule: MediaTypeRule) -> bytes:
    if isinstance(value, str):
        raise UnsendableError("must be an object or an array, from which the XML is made")
    schema = rule.schema if isinstance(rule.schema, dict) else {}
    charset = charset_of(rule.media_type)
    try:
        # What the charset lacks is written as a character reference.
        text = xml_document(value, rule.xml_root, schema, charset)
        return text.encode(charset, "xmlcharrefreplace")
    except LookupError:
        return xml_document(value, rule.xml_root, schema, "utf-8").encode()
    except UnicodeEncodeError:
        raise UnsendableError("has half of a surrogate pair, which is no character") from None


def _text_bytes(value: Any, media_type: str) -> bytes:
    if isinstance(value, (dict, list, tuple)):
        raise UnsendableError(f"must be a string: it travels as `{media_type}`")
    try:
        return primitive_text(value).encode(charset_of(media_type))
    except LookupError:
        return primitive_text(value).encode()
    except UnicodeEncodeError:
        raise UnsendableError(f"has a character that `{media_type}` cannot hold") from None
