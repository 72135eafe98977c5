"""Files in multipart bodies whose schemas do not say so.

OpenAPI 3.1 and later declare them by a media type alone: that of the Encoding Object, or
`contentMediaType` (OpenAPI 3.1, "Considerations for File Uploads").
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from mcpgen.ir.api import Encoding, MediaType, Operation
from mcpgen.jsonschema.references import iterate_parts
from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.openapi.lower.keywords import NOT_OF_FILES
from mcpgen.text.media_types import essence_of, is_json, is_text, names_binary

_FILE: JsonObject = {"type": "string", "format": "binary"}
_CHOICES = frozenset({"anyOf", "const", "enum", "oneOf"})


def with_file_parts(operation: Operation, schemas: Mapping[str, JsonSchema]) -> Operation:
    """Add the format `binary` to the parts of multipart bodies that are files."""
    body = operation.request_body
    if body is None or not any(map(_is_multipart, body.content)):
        return operation
    content = tuple(
        _mark_files(item, schemas) if _is_multipart(item) else item for item in body.content
    )
    return replace(operation, request_body=replace(body, content=content))


def _is_multipart(item: MediaType) -> bool:
    return essence_of(item.media_type).startswith("multipart/")


def _mark_files(item: MediaType, schemas: Mapping[str, JsonSchema]) -> MediaType:
    schema = item.schema
    if not isinstance(schema, dict):
        return item
    marked: JsonObject = {}
    for part in iterate_parts(schema, schemas):
        for name, member in part.get("properties", {}).items():
            encoding = item.encoding.get(name, Encoding())
            if encoding.style or encoding.explode is not None or encoding.allow_reserved:
                continue  # serialized as in a query
            file = _mark_file(member, encoding.content_type, schemas)
            if file is not None:
                marked[name] = file
    if not marked:
        return item
    own = schema.get("properties", {})
    if marked.keys() <= own.keys():
        return replace(item, schema={**schema, "properties": {**own, **marked}})
    return replace(item, schema={"allOf": [schema], "properties": marked})


def _mark_file(
    schema: JsonSchema, declared: str, schemas: Mapping[str, JsonSchema]
) -> JsonSchema | None:
    """Return the schema with the format `binary`; None if it has it, or if no file is sent.

    `declared` is the media type of the Encoding Object, or "".
    """
    if schema is False:
        return None
    parts = list(iterate_parts(schema, schemas))
    keywords = {keyword for part in parts for keyword in part}
    if "contentEncoding" in keywords or any(part.get("format") == "binary" for part in parts):
        return None
    for part in parts:
        if "items" in part:
            items = _mark_file(part["items"], declared, schemas)
            return None if items is None else _extend(schema, {"items": items})
    types = {name for part in parts for name in _list_types(part)}
    if keywords & _CHOICES or (types and "string" not in types):
        return None
    inside = next((part["contentMediaType"] for part in parts if "contentMediaType" in part), "")
    if not _names_files(declared or inside, has_type=bool(types)):
        return None
    return _extend(schema, {"format": "binary"} if types else _FILE)


def _list_types(schema: JsonObject) -> list[str]:
    declared = schema.get("type", [])
    return declared if isinstance(declared, list) else [declared]


def _names_files(media_types: str, *, has_type: bool) -> bool:
    """Return whether a part is a file: what is declared as a string may be text of any type."""
    if names_binary(media_types) or has_type:
        return names_binary(media_types)
    return all(
        "/" in kind
        and "*" not in kind
        and not (is_text(kind) or is_json(kind) or kind.startswith("multipart/"))
        for kind in map(essence_of, media_types.split(","))
    )


def _extend(schema: JsonSchema, keywords: JsonObject) -> JsonObject:
    """Add keywords to the schema of a file, and drop those that do not apply to files."""
    if not isinstance(schema, dict):
        return keywords
    if "$ref" in schema or "allOf" in schema:
        return {"allOf": [schema], **keywords}
    kept = {name: value for name, value in schema.items() if name not in NOT_OF_FILES}
    return kept | keywords
