"""Parts of multipart bodies: which are files, and which is the root of `multipart/related`."""

from __future__ import annotations

from collections.abc import Set

from mcpgen.contract.http_names import CONTENT_ID, read_fixed_value
from mcpgen.ir.api import Encoding, MediaType
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.plan.arguments.media_types import Kind, classify_media_type, is_json
from mcpgen.plan.schemas.types import Types


def is_file(schema: JsonSchema, types: Types) -> bool:
    """Check whether a part, or each part of a list, is the content of a file."""
    keywords = types.shape_of(schema).keywords
    if "items" in keywords:
        keywords = types.shape_of(keywords["items"]).keywords
    is_encoded = "contentEncoding" in keywords
    return keywords.get("format") == "binary" or (
        not is_encoded
        and classify_media_type(keywords.get("contentMediaType") or "text/plain") is Kind.BINARY
    )


def is_binary_type(encoding: Encoding | None) -> bool:
    """Check whether the content type of an Encoding Object makes its part a file."""
    told = encoding.content_type.split(",") if encoding is not None else []
    return bool(told) and all(
        classify_media_type(name) is Kind.BINARY for name in told if "*" not in name
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
        if is_binary_type(encodings.get(name)) or is_file(schema, types)
    }
    others = sorted(properties.keys() - files)
    if not files or len(others) != 1 or others[0] not in keywords.get("required", ()):
        return ""
    if len(files) > 1 and not _can_be_told_apart(files, item, types):
        return ""
    (root,) = others
    told = encodings[root].content_type if root in encodings else ""
    is_object = types.shape_of(properties[root]).types == ("object",)
    return root if (is_json(told) if told else is_object) else ""


def _can_be_told_apart(names: Set[str], item: MediaType, types: Types) -> bool:
    """Check whether each member is one part with a unique Content-ID."""
    given = [_find_content_id(encoding) for encoding in item.encoding.values()]
    properties = types.shape_of(True if item.schema is None else item.schema).keywords["properties"]
    for name in names:
        content_id = _find_content_id(item.encoding.get(name, Encoding()))
        is_one = types.shape_of(properties[name]).types == ("string",)
        if not (content_id and is_one and given.count(content_id) == 1):
            return False
    return True


def _find_content_id(encoding: Encoding) -> JsonValue:
    """Return the fixed Content-ID of a part; None if the document declares none."""
    for header in encoding.headers:
        if header.name.lower() == CONTENT_ID:
            return read_fixed_value(header.schema)
    return None
