"""What the parts of a multipart body are: files, and the root of `multipart/related`."""

from __future__ import annotations

from collections.abc import Set

from mcpgen.ir.api import Encoding, MediaType
from mcpgen.ir.json_types import JsonSchema, JsonValue
from mcpgen.plan.media_types import Kind, is_json, kind_of
from mcpgen.plan.types import Types
from mcpgen.runtime.part_headers import CONTENT_ID, fixed_value


def is_file(schema: JsonSchema, types: Types) -> bool:
    """Whether a part, or each of several of one name, is the content of a file."""
    keywords = types.shape_of(schema).keywords
    if "items" in keywords:
        keywords = types.shape_of(keywords["items"]).keywords
    is_encoded = "contentEncoding" in keywords
    return keywords.get("format") == "binary" or (
        not is_encoded and kind_of(keywords.get("contentMediaType") or "text/plain") is Kind.BINARY
    )


def is_binary_type(encoding: Encoding | None) -> bool:
    """Whether an Encoding Object makes a file of its part."""
    told = encoding.content_type.split(",") if encoding is not None else []
    return bool(told) and all(kind_of(name) is Kind.BINARY for name in told if "*" not in name)


def root_part(item: MediaType, types: Types) -> str:
    """The member of an object that is the first part of `multipart/related`; "" if none is known.

    Its parts have no names, and the first is what the others belong to (RFC 2387, section 3.2). An
    object says which that is where all but one of its members are files, and which file is which
    where there is one, or each has a Content-ID of its own.
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
    """Whether each member is one part, with a Content-ID that no other part has."""
    given = [_content_id(encoding) for encoding in item.encoding.values()]
    properties = types.shape_of(True if item.schema is None else item.schema).keywords["properties"]
    for name in names:
        content_id = _content_id(item.encoding.get(name, Encoding()))
        is_one = types.shape_of(properties[name]).types == ("string",)
        if not (content_id and is_one and given.count(content_id) == 1):
            return False
    return True


def _content_id(encoding: Encoding) -> JsonValue:
    """The Content-ID that the document gives a part; None where it gives none."""
    for header in encoding.headers:
        if header.name.lower() == CONTENT_ID:
            return fixed_value(header.schema)
    return None
