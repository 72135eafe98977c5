"""Root element names of XML request bodies (OpenAPI 3.2, "XML Object")."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from mcpgen.ir.api import MediaType, Operation
from mcpgen.jsonschema.schemas import find_reference, iterate_parts
from mcpgen.jsonschema.types import JsonSchema
from mcpgen.text.media_types import essence_of

_NAME = re.compile(r"[^\W\d][\w.\-]*\Z")


def with_roots(operation: Operation, schemas: Mapping[str, JsonSchema]) -> Operation:
    """Add the root element to each XML body of an operation that can be serialised."""
    body = operation.request_body
    if body is None or not any(_is_xml(item.media_type) for item in body.content):
        return operation
    content = tuple(
        replace(item, xml_root=_find_root(item, schemas)) if _is_xml(item.media_type) else item
        for item in body.content
    )
    return replace(operation, request_body=replace(body, content=content))


def _is_xml(media_type: str) -> bool:
    essence = essence_of(media_type)
    return essence in ("application/xml", "text/xml") or essence.endswith("+xml")


def _find_root(item: MediaType, schemas: Mapping[str, JsonSchema]) -> str:
    """Return the `xml` name of an object or array, else the name of its component, else ""."""
    if not isinstance(item.schema, dict):
        return ""
    parts = list(iterate_parts(item.schema, schemas))
    types = {part["type"] for part in parts if isinstance(part.get("type"), str)}
    if not types and any("properties" in part for part in parts):
        types = {"object"}
    if types not in ({"object"}, {"array"}):
        return ""
    told = [part["xml"].get("name") for part in parts if isinstance(part.get("xml"), dict)]
    names = [*filter(None, told), find_reference(item.schema)]
    return names[0] if isinstance(names[0], str) and _NAME.match(names[0]) else ""
