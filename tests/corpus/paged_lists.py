"""Print the lists of the documents named on stdin, and how mcpgen pages them, one per line.

`paging.py` runs this file with the mcpgen of two source trees, so it uses nothing else of the
repository, and of mcpgen only what both trees have. Which operations are lists, and which style of
paging their document shows, is decided here, by names of its own.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.api import Operation
from mcpgen.jsonschema.direction import Shapes
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.parse import parse_source
from mcpgen.plan.schemas.tool_schema import list_response_schemas
from mcpgen.plan.tools import annotations
from mcpgen.plan.tools.pagination import recognize_pagination

DEPTH = 3
STYLES = {
    "cursor or token": re.compile(
        r"cursor|^marker$|^(page|next|nextpage|continuation|pagination)token$|^continue$|^continuation"
        r"|^scrollid$|^bookmark$"
    ),
    "after an item": re.compile(r"^(after|startingafter)(id)?$"),
    "page": re.compile(
        r"^(page)?(paged?|pageno|pagenr|pagenum|pagenumber|pageindex)$|^currentpage$"
    ),
    "offset": re.compile(
        r"^(page|item|record|result)?offset$|^skip$|^start(at|index|position|row)$"
    ),
}
"""Paging styles by the query parameters that show them; the first match applies."""
COUNTED_IF_NUMBER = re.compile(r"^(from|start|first)$")
LIMIT = re.compile(
    r"limit$|perpage$|^page(limit|size)$|^count$|^max(items|num|results)$|^size$|^top$|^take$"
)
NEXT = re.compile(r"^(odata)?next(link|page|url|uri|href|pageuri|pageurl|pagelink)?$")
LISTING = re.compile(r"^(get)?(list|search|find|query|all)", re.IGNORECASE)
NUMBERS = {"integer", "number"}


def fold(name: str) -> str:
    """Return the letters of a name in lower case."""
    return re.sub(r"[^a-z]", "", name.lower())


def paged_lists(path: str) -> Iterator[dict[str, Any]]:
    """Yield the lists of a document that show paging, each with its style and the detected one."""
    problems = Problems()
    options = BuildOptions(external_validator=False)
    try:
        api = parse_source(path, options, problems, lambda _: None).api
    except RejectedError:
        return
    requests, responses = Shapes(api.schemas, "request"), Shapes(api.schemas, "response")
    for operation in api.operations:
        if operation.method not in {"GET", "POST"} or not is_list(operation, responses):
            continue
        fields = [it for it in operation.parameters if it.location == "query"]
        if operation.method == "POST":
            fields += [*iterate_body(operation, requests)]
        style = style_of(operation, fields, requests, responses)
        if not style:
            continue
        found = recognize_pagination(operation, requests, responses)
        yield {
            "operation": operation.key,
            "method": operation.method,
            "reads": operation.method == "GET" or is_known_to_read(operation),
            "style": style,
            "kind": "" if found is None else found.kind,
            "assumed": bool(getattr(found, "is_assumed", False)),
            "evidence": getattr(found, "evidence", ""),
            "parameters": [describe(it) for it in fields],
            "members": [".".join(it) for it in members_of(operation, responses)][:40],
        }


def iterate_body(operation: Operation, requests: Shapes) -> Iterator[Any]:
    """Yield the members of a JSON body, and those of the objects in it."""
    content = () if operation.request_body is None else operation.request_body.content
    for item in content:
        if "json" in item.media_type and item.schema is not None:
            yield from iterate_fields(item.schema, requests, 0)


def iterate_fields(schema: Any, requests: Shapes, depth: int) -> Iterator[Any]:
    """Yield the members of an object, each with a name, a schema and a description."""
    for name, member in requests.of(schema).keywords.get("properties", {}).items():
        about = str(requests.of(member).keywords.get("description", ""))
        yield SimpleNamespace(name=name, schema=member, description=about)
        if depth == 0:
            yield from iterate_fields(member, requests, 1)


def is_known_to_read(operation: Operation) -> bool:
    """Return whether a POST of a trusted document only reads; False in trees without this rule."""
    decide = getattr(annotations, "decide_hints", None)
    return decide is not None and decide(operation, is_trusted=True).effect == "read"


def describe(parameter: Any) -> str:
    """Describe a parameter in one line."""
    schema = parameter.schema if isinstance(parameter.schema, dict) else {}
    facts = {key: schema[key] for key in ("type", "default", "minimum", "format") if key in schema}
    return f"{parameter.name} {facts} {' '.join(parameter.description.split())[:160]}"


def is_list(operation: Operation, responses: Shapes) -> bool:
    """Return whether a response is a JSON list or, if it is not described, has a list-like name."""
    found, _ = list_response_schemas(operation)
    if any(has_list(schema, responses, 0) for schema in found):
        return True
    described = [it for it in operation.responses if it.status.startswith("2") and it.content]
    is_silent = not described or any(responses.of(schema).keywords == {} for schema in found)
    last = operation.path.rstrip("/").rpartition("/")[2].removesuffix(".json")
    has_name = last.endswith("s") or last == "search" or LISTING.match(operation.operation_id)
    return is_silent and "{" not in last and bool(has_name)


def has_list(schema: Any, responses: Shapes, depth: int) -> bool:
    """Return whether a response is a list, or an object around one."""
    shape = responses.of(schema)
    variants = [*shape.keywords.get("anyOf", ()), *shape.keywords.get("oneOf", ())]
    if "array" in shape.types or depth > DEPTH:
        return "array" in shape.types
    if depth < 2 and any(has_list(it, responses, depth + 1) for it in variants):
        return True
    members = shape.keywords.get("properties", {}).values()
    return any("array" in responses.of(it).types for it in members) or (
        depth < 1 and len(members) < 4 and any(has_list(it, responses, 1) for it in members)
    )


def members_of(operation: Operation, responses: Shapes) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the members of a response, except those inside lists."""
    found, _ = list_response_schemas(operation)
    for schema in found:
        yield from iterate_members(schema, responses, ())


def iterate_members(schema: Any, responses: Shapes, path: tuple[str, ...]) -> Iterator[Any]:
    """Yield the paths of the members of an object, and of nested objects."""
    shape = responses.of(schema)
    for it in (*shape.keywords.get("anyOf", ()), *shape.keywords.get("oneOf", ())):
        if len(path) < DEPTH:
            yield from iterate_members(it, responses, path or ("",))
    for name, member in shape.keywords.get("properties", {}).items():
        yield (*path, name)
        if len(path) + 1 < DEPTH:
            yield from iterate_members(member, responses, (*path, name))


def style_of(operation: Operation, query: list[Any], requests: Shapes, responses: Shapes) -> str:
    """Return the style of paging that a document shows for a list; "" if it shows none."""
    names = {fold(it.name) for it in query}
    for style, pattern in STYLES.items():
        if any(pattern.search(name) for name in names):
            return style
    for it in query:
        types = {*requests.of(it.schema).types}
        if COUNTED_IF_NUMBER.search(fold(it.name)) and types & NUMBERS:
            return "offset"
    if any(
        header.name.lower() == "link"
        for response in operation.responses
        if response.status.startswith("2")
        for header in response.headers
    ):
        return "`Link` header"
    if any(NEXT.search(fold(it[-1])) for it in members_of(operation, responses)):
        return "URL of the next page"
    return "only a limit" if any(LIMIT.search(name) for name in names) else ""


def main() -> None:
    """Print one JSON line for each document named on stdin."""
    for line in sys.stdin:
        print(json.dumps([*paged_lists(line.rstrip("\n"))], default=str), flush=True)


if __name__ == "__main__":
    main()
