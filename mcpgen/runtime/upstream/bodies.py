"""How a value travels as a request body, by media type, to the exact bytes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.files import FileReader
from mcpgen.runtime.upstream.forms import multipart, urlencoded
from mcpgen.runtime.upstream.parameters import (
    UnsendableError,
    charset_of,
    is_json,
    json_text,
    primitive_text,
)
from mcpgen.runtime.upstream.xml_bodies import xml_document


@dataclass(frozen=True, slots=True)
class MediaTypeRule:
    """One way in which the body can travel. `schema` stands where the serialiser needs it.

    `xml_root` is the element that an object or an array becomes; "" for XML that is given as text.
    """

    media_type: str
    encoding: Mapping[str, JsonObject] = field(default_factory=dict)
    schema: JsonObject | bool | None = None
    xml_root: str = ""


@dataclass(frozen=True, slots=True)
class BodyRule:
    """The `request.body` of a tool's contract; media types are ordered, the best first."""

    argument: str
    required: bool
    media_types: tuple[MediaTypeRule, ...]
    content_type_argument: str = ""

    @classmethod
    def from_json(cls, entry: JsonObject) -> BodyRule:
        """Read `body` as it stands in `tools/<tag>.json`.

        Raises:
            ConfigurationError: it names a media type that cannot be written.
        """
        rules = tuple(
            MediaTypeRule(
                _concrete(media["media_type"]),
                media.get("encoding", {}),
                media.get("schema"),
                media.get("xml_root", ""),
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
        offered = ", ".join(f"`{rule.media_type}`" for rule in self.media_types)
        raise UnsendableError(f"must be one of {offered}")


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """Bytes, and the `Content-Type` that says what they are."""

    content_type: str
    content: bytes = field(repr=False)


_CONCRETE = {"*/*": "application/json", "application/*": "application/json", "text/*": "text/plain"}


def _concrete(media_type: str) -> str:
    """The media type that a request names where a document allows a range."""
    essence = media_type.partition(";")[0].strip().lower()
    if not essence.endswith("/*"):
        return media_type
    return _CONCRETE.get(essence, "application/octet-stream")


class BodyKind(enum.Enum):
    """How a body of some media type is written."""

    JSON = "json"
    JSON_LINES = "lines of JSON"
    URLENCODED = "urlencoded"
    MULTIPART = "multipart"
    TEXT = "text"
    BYTES = "bytes"


_JSON_LINES = frozenset(
    {
        "application/json-lines",
        "application/jsonl",
        "application/jsonlines",
        "application/ndjson",
        "application/x-jsonlines",
        "application/x-ndjson",
        "text/x-ndjson",
    }
)
_TEXTUAL = frozenset(
    {
        "application/graphql",
        "application/javascript",
        "application/jwt",
        "application/sql",
        "application/toml",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    }
)


def kind_of_body(media_type: str) -> BodyKind:
    """How a body of this media type is written.

    Raises:
        ConfigurationError: it cannot be: no media type, or one of parts without names.
    """
    essence = media_type.partition(";")[0].strip().lower()
    if "*" in essence or "/" not in essence:
        raise ConfigurationError(f"a body must have a media type of its own, not `{media_type}`")
    if is_json(essence):
        return BodyKind.JSON
    if essence in _JSON_LINES:
        return BodyKind.JSON_LINES
    if essence == "application/x-www-form-urlencoded":
        return BodyKind.URLENCODED
    if essence == "multipart/form-data":
        return BodyKind.MULTIPART
    if essence.startswith(("multipart/", "message/")):
        raise ConfigurationError(f"a body of type `{media_type}` cannot be written")
    if essence.startswith("text/") or essence in _TEXTUAL or essence.endswith(("+xml", "+yaml")):
        return BodyKind.TEXT
    return BodyKind.BYTES


def encode_body(rule: MediaTypeRule, value: Any, files: FileReader) -> EncodedBody:
    """Write a body in the way that `rule` says.

    Raises:
        UnsendableError: the value has no spelling in this media type.
    """
    kind = kind_of_body(rule.media_type)
    if kind is BodyKind.JSON:
        return EncodedBody(rule.media_type, json_text(value).encode())
    if kind is BodyKind.JSON_LINES:
        items = value if isinstance(value, (list, tuple)) else [value]
        return EncodedBody(rule.media_type, "".join(f"{json_text(i)}\n" for i in items).encode())
    if kind is BodyKind.URLENCODED:
        return EncodedBody(rule.media_type, urlencoded(value, rule.encoding))
    if kind is BodyKind.MULTIPART:
        form = multipart(value, rule.encoding, rule.schema, files)
        return EncodedBody(f"multipart/form-data; boundary={form.boundary}", form.content)
    if rule.xml_root:
        return EncodedBody(rule.media_type, _xml_bytes(value, rule))
    if kind is BodyKind.TEXT:
        return EncodedBody(rule.media_type, _text_bytes(value, rule.media_type))
    return EncodedBody(rule.media_type, files.read(value).content)


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
