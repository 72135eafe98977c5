"""What the parts of a multipart body are: files, and the root of `multipart/related`."""

from __future__ import annotations

from mcpgen.ir.api import Encoding, MediaType
from mcpgen.ir.json_types import JsonSchema
from mcpgen.plan.media_types import Kind, is_json, kind_of
from mcpgen.plan.types import Types


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
    object says which that is where all but one of its members are files of one name.
    """
    keywords = types.shape_of(True if item.schema is None else item.schema).keywords
    encodings = item.encoding
    files = {
        name
        for name, schema in keywords.get("properties", {}).items()
        if is_binary_type(encodings.get(name)) or is_file(schema, types)
    }
    others = sorted(keywords.get("properties", {}).keys() - files)
    if len(files) != 1 or len(others) != 1 or others[0] not in keywords.get("required", ()):
        return ""
    (root,) = others
    told = encodings[root].content_type if root in encodings else ""
    is_object = types.shape_of(keywords["properties"][root]).types == ("object",)
    return root if (is_json(told) if told else is_object) else ""
