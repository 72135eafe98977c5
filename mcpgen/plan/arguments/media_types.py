"""Kinds of media types, and their order of preference for bodies and responses."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Set
from functools import lru_cache

from mcpgen.contract.http_names import CONTENT_ID, read_fixed_value
from mcpgen.ir.api import Encoding, MediaType
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.plan.arguments.input_refs import ShapeOf
from mcpgen.plan.schemas.types import Types
from mcpgen.text.media_types import JSON_LINES, essence_of, is_text


class Kind(enum.IntEnum):
    """Kind of content of a media type, in order of preference."""

    JSON = 0
    OTHER_JSON = 1  # `+json`, a patch format for instance
    FORM = 2
    MULTIPART = 3
    LINES = 4  # a JSON value a line
    XML = 5  # its shape is defined by the document
    TEXT = 6
    BINARY = 7
    UNSENDABLE = 8  # no media type, or `multipart/*`


STRUCTURED = frozenset(
    {Kind.JSON, Kind.OTHER_JSON, Kind.FORM, Kind.MULTIPART, Kind.LINES, Kind.XML}
)
"""Kinds whose values are described by the schema; the others are sent as one string."""
_ANY = frozenset({"*/*", "application/*", "*"})


@lru_cache(maxsize=256)
def classify_media_type(media_type: str) -> Kind:
    """Return the kind of a media type. A range that includes JSON counts as JSON.

    For another range such as `image/*`, the concrete type is an argument of the call.
    """
    name = essence_of(media_type)
    if name in ("application/json", "text/json") or name in _ANY:
        return Kind.JSON
    if name.endswith("+json"):
        return Kind.OTHER_JSON
    if name == "application/x-www-form-urlencoded":
        return Kind.FORM
    if name in JSON_LINES:
        return Kind.LINES
    if "/" not in name or name == "multipart/*":
        return Kind.UNSENDABLE
    if name.startswith("multipart/"):
        return Kind.MULTIPART
    return Kind.TEXT if is_text(name) else Kind.BINARY


def classify_body(item: MediaType) -> Kind:
    """Return the kind of a body, by its media type and schema.

    A range that includes JSON is binary if the schema is absent or a string. A message (RFC 5322)
    is text unless its schema has the format `binary`.
    """
    kind = classify_media_type(item.media_type)
    name = essence_of(item.media_type)
    keywords = item.schema if isinstance(item.schema, dict) else {}
    if name in _ANY and (not keywords or keywords.get("type") == "string"):
        return Kind.BINARY
    if name.startswith("message/") and keywords.get("format") == "binary":
        return Kind.BINARY
    return Kind.XML if item.xml_root and kind is not Kind.UNSENDABLE else kind


def is_patch(media_type: str) -> bool:
    """Check whether a media type is a patch format, such as `application/merge-patch+json`."""
    return essence_of(media_type).endswith(("patch+json", "patch+yaml"))


def is_range(media_type: str) -> bool:
    """Check whether `media_type` is a range: `image/*`."""
    return "*" in essence_of(media_type)


def rank_media_types(content: Iterable[MediaType]) -> list[MediaType]:
    """Sort media types by kind and name, best first, independent of the document's order.

    `application/json` comes before a range that includes it, and a form with files after multipart.
    """
    found = list(content)
    if len(found) < 2:
        return found
    return sorted(
        found,
        key=lambda item: (
            Kind.MULTIPART + 0.5 if _is_form_with_files(item) else classify_body(item),
            "*" in item.media_type,
            item.media_type,
        ),
    )


def _is_form_with_files(item: MediaType) -> bool:
    properties = item.schema.get("properties", {}) if isinstance(item.schema, dict) else {}
    return classify_media_type(item.media_type) is Kind.FORM and any(
        isinstance(schema, dict) and schema.get("format") == "binary"
        for schema in properties.values()
    )


def is_json(media_type: str) -> bool:
    """Check whether a body of this type is one JSON value."""
    return classify_media_type(media_type) <= Kind.OTHER_JSON


def choose_content_type(item: MediaType) -> str:
    """Return the `Content-Type` of a request: `application/json` for a range that includes it."""
    is_json_range = is_range(item.media_type) and classify_body(item) is Kind.JSON
    return "application/json" if is_json_range else item.media_type


def is_file(schema: JsonSchema, shape_of: ShapeOf) -> bool:
    """Check whether a part, or each part of a list, is the content of a file."""
    keywords = shape_of(schema).keywords
    if "items" in keywords:
        keywords = shape_of(keywords["items"]).keywords
    is_encoded = "contentEncoding" in keywords
    return keywords.get("format") == "binary" or (
        not is_encoded
        and classify_media_type(keywords.get("contentMediaType") or "text/plain") is Kind.BINARY
    )


def is_binary_type(encoding: Encoding | None) -> bool:
    """Check whether the content type of an Encoding Object makes its part a file."""
    names = encoding.content_type.split(",") if encoding is not None else []
    return bool(names) and all(
        classify_media_type(name) is Kind.BINARY for name in names if "*" not in name
    )


def root_part(item: MediaType, types: Types) -> str:
    """Return the member that is the root part of `multipart/related`; "" if it is undecidable.

    Parts have no names, and the root comes first (RFC 2387, section 3.2). The root of an object is
    its only member that is not a file. If several members are files, each must have a unique
    Content-ID.
    """
    keywords = types.shape_of(True if item.schema is None else item.schema).keywords
    properties = keywords.get("properties", {})
    encodings = item.encoding
    files = {
        name
        for name, schema in properties.items()
        if is_binary_type(encodings.get(name)) or is_file(schema, types.shape_of)
    }
    others = sorted(properties.keys() - files)
    if not files or len(others) != 1 or others[0] not in keywords.get("required", ()):
        return ""
    if len(files) > 1 and not _are_distinguishable(files, item, types):
        return ""
    (root,) = others
    content_type = encodings[root].content_type if root in encodings else ""
    is_object = types.shape_of(properties[root]).types == ("object",)
    return root if (is_json(content_type) if content_type else is_object) else ""


def _are_distinguishable(names: Set[str], item: MediaType, types: Types) -> bool:
    """Check whether each member is one part with a unique Content-ID."""
    content_ids = [_find_content_id(encoding) for encoding in item.encoding.values()]
    properties = types.shape_of(True if item.schema is None else item.schema).keywords["properties"]
    for name in names:
        content_id = _find_content_id(item.encoding.get(name, Encoding()))
        is_one = types.shape_of(properties[name]).types == ("string",)
        if not (content_id and is_one and content_ids.count(content_id) == 1):
            return False
    return True


def _find_content_id(encoding: Encoding) -> JsonValue:
    """Return the fixed Content-ID of a part; None if the document declares none."""
    for header in encoding.headers:
        if header.name.lower() == CONTENT_ID:
            return read_fixed_value(header.schema)
    return None
