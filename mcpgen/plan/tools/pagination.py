"""Recognition of paginated lists, only if names and types leave no doubt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from msgspec.structs import replace

from mcpgen.ir.api import Operation, Parameter
from mcpgen.ir.tool_plan import Pagination
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.plan.schemas.tool_schema import InputSchemas, list_response_schemas

ARGUMENT = "max_pages"

_PAGES = frozenset({"page", "pagenumber"})
_OFFSETS = frozenset({"offset", "skip"})
_SIZES = frozenset({"limit", "perpage", "pagesize"})
_CURSORS: Mapping[str, str] = {
    "cursor": "nextcursor",
    "pagetoken": "nextpagetoken",
    "nexttoken": "nexttoken",
    "continuationtoken": "nextcontinuationtoken",
    "marker": "nextmarker",
}
_MORE = "hasmore"  # a member that says whether another page follows
_LAST_ITEMS = frozenset({"startingafter"})  # parameters that take the `id` of the last item
_LAST_IDS: Mapping[str, str] = {"after": "lastid"}  # cursors only where `has_more` is beside them
_POSITIONS = frozenset({*_CURSORS, *_LAST_IDS, *_LAST_ITEMS, *_OFFSETS, *_PAGES})


def recognize_pagination(
    operation: Operation, requests: Shapes, responses: Shapes
) -> Pagination | None:
    """Return how an operation paginates its list, or None if that is uncertain."""
    found, _ = list_response_schemas(operation)
    if operation.method != "GET" or len(found) != 1:
        return None
    if any(parameter.name == ARGUMENT for parameter in operation.parameters):
        return None
    items = _find_items(found[0], responses)
    if items is None:
        return None
    query = [parameter for parameter in operation.parameters if parameter.location == "query"]
    size = find_size_parameter(operation)
    if _has_link(operation):
        return Pagination("link", items=items)
    more = _find_more(found[0], responses)
    for parameter in query:
        path = _find_cursor(parameter, found[0], responses, _LAST_IDS if more else {})
        if path:
            return Pagination("cursor", parameter.name, items=items, cursor=path, more=more)
        if more and _fold(parameter.name) in _LAST_ITEMS and _have_ids(found[0], items, responses):
            return Pagination("last_item", parameter.name, items=items, cursor=("id",), more=more)
    for parameter in query:
        name, keywords = _fold(parameter.name), requests.of(parameter.schema).keywords
        if keywords.get("type") != "integer":
            continue
        first = keywords.get("default", keywords.get("minimum"))
        if name in _PAGES and first in (0, 1):
            return Pagination("page", parameter.name, items=items, first=first, size=size)
        if name in _OFFSETS and first in (0, None):
            return Pagination("offset", parameter.name, items=items, size=size)
    return None


def is_page_position(name: str) -> bool:
    """Return whether a parameter of this name says where a page of a list begins."""
    return _fold(name) in _POSITIONS


def find_size_parameter(operation: Operation) -> str:
    """Return the query parameter for the number of items of a page, or ""."""
    query = (item.name for item in operation.parameters if item.location == "query")
    return next((name for name in query if _fold(name) in _SIZES), "")


def add_page_argument(inputs: InputSchemas, pages: Pagination) -> InputSchemas:
    """Return the input schemas with the argument for the number of pages."""
    argument: JsonObject = {
        "type": "integer",
        "minimum": 1,
        "maximum": pages.most,
        "description": f"How many pages to fetch and join, 1 to {pages.most}; 1 by default. Not "
        "sent to the API.",
    }

    def add(schema: JsonObject) -> JsonObject:
        return {**schema, "properties": {**schema["properties"], ARGUMENT: argument}}

    full = None if inputs.full is None else add(inputs.full)
    return replace(inputs, listed=add(inputs.listed), full=full)


@lru_cache(maxsize=4096)
def _fold(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _find_items(schema: JsonSchema, responses: Shapes) -> str | None:
    """Return the member with the list; "" if the response is the list, None if it is unclear."""
    shape = responses.of(schema)
    if shape.types == ("array",):
        return ""
    lists = [
        name
        for name, member in shape.keywords.get("properties", {}).items()
        if "array" in responses.of(member).types
    ]
    return lists[0] if len(lists) == 1 else None


def _has_link(operation: Operation) -> bool:
    """Whether a successful response has a `Link` header (RFC 8288)."""
    return any(
        header.name.lower() == "link"
        for response in operation.responses
        if response.status.startswith("2")
        for header in response.headers
    )


def _find_more(schema: JsonSchema, responses: Shapes) -> str:
    """Return the boolean member that states whether another page follows, or ""."""
    members = responses.of(schema).keywords.get("properties", {})
    return next(
        (
            name
            for name, member in members.items()
            if _fold(name) == _MORE and "boolean" in responses.of(member).types
        ),
        "",
    )


def _have_ids(schema: JsonSchema, items: str, responses: Shapes) -> bool:
    """Whether each item of the list in the member `items` has an `id`."""
    listed = responses.of(schema).keywords.get("properties", {}).get(items, False)
    item = responses.of(responses.of(listed).keywords.get("items", False))
    return "id" in item.keywords.get("properties", {})


def _find_cursor(
    parameter: Parameter, schema: JsonSchema, responses: Shapes, more: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the path of the next cursor in the response: at its root, or one level below."""
    wanted = {**_CURSORS, **more}.get(_fold(parameter.name), "")
    members = responses.of(schema).keywords.get("properties", {})
    found: list[tuple[str, ...]] = [(name,) for name in members if wanted and _fold(name) == wanted]
    if wanted and not found:
        found += [
            (outer, name)
            for outer, member in members.items()
            for name in responses.of(member).keywords.get("properties", {})
            if _fold(name) == wanted
        ]
    return found[0] if len(found) == 1 else ()
