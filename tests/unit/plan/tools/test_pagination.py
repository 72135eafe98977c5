"""Tests of detecting paged lists, by declarations in the document and by common names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import Pagination
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy

INT, TEXT, LIST = {"type": "integer"}, {"type": "string"}, {"type": "array", "items": {}}
ITEMS = {"type": "array", "items": {"type": "object", "properties": {"id": TEXT}}}


def within(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


def listed(**members: Any) -> dict[str, Any]:
    return within(items=ITEMS, **members)


def told(text: str, schema: Any = INT) -> dict[str, Any]:
    return {**schema, "description": text}


NULL_OR_TEXT = {"anyOf": [TEXT, {"type": "null"}]}
URL = {**TEXT, "format": "uri"}
LINK = within(rel=TEXT, href=TEXT)
BUNDLE_LINKS = {"type": "array", "items": within(relation=TEXT, url=URL)}  # of FHIR
DECLARED: list[tuple[dict[str, Any], dict[str, Any], tuple[Any, ...]]] = [
    # Query parameters, response; kind, parameter, list, next cursor, number of the first page.
    ({"page": {**INT, "default": 1}}, LIST, ("page", "page", "", "", 1)),
    ({"page": {**INT, "minimum": 0}}, LIST, ("page", "page", "", "", 0)),
    ({"page": {"type": "number", "default": 1}}, LIST, ("page", "page", "", "", 1)),
    ({"page": {**TEXT, "default": "0"}}, LIST, ("page", "page", "", "", 0)),
    ({"page[number]": {**INT, "default": 1}}, LIST, ("page", "page[number]", "", "", 1)),
    ({"page": told("Page number, starting at 1.")}, LIST, ("page", "page", "", "", 1)),
    ({"pageIndex": told("The zero-based page.")}, LIST, ("page", "pageIndex", "", "", 0)),
    ({"offset": INT, "limit": INT}, LIST, ("offset", "offset", "", "", 0)),
    ({"$skip": INT, "$top": INT}, within(value=LIST), ("offset", "$skip", "value", "", 0)),
    (
        {"startAt": {**INT, "default": 0}},
        within(values=LIST),
        ("offset", "startAt", "values", "", 0),
    ),
    (
        {"startIndex": {**INT, "default": 1}, "count": INT},
        within(Resources=LIST, schemas=LIST),
        ("offset", "startIndex", "Resources", "", 1),
    ),
    (
        {"cursor": TEXT},
        listed(next_cursor=NULL_OR_TEXT),
        ("cursor", "cursor", "items", "next_cursor", 0),
    ),
    (
        {"pageToken": TEXT},
        listed(nextPageToken=TEXT),
        ("cursor", "pageToken", "items", "nextPageToken", 0),
    ),
    (
        {"after": TEXT},
        listed(paging=within(cursors=within(before=TEXT, after=TEXT))),
        ("cursor", "after", "items", "paging.cursors.after", 0),
    ),
    (
        {"after": TEXT},
        listed(paging=within(next=within(after=TEXT, link=TEXT))),
        ("cursor", "after", "items", "paging.next.after", 0),
    ),
    (
        {"continue": TEXT},
        listed(metadata=within(**{"continue": TEXT})),
        ("cursor", "continue", "items", "metadata.continue", 0),
    ),
    (
        {"offset": TEXT, "limit": INT},
        listed(next_page=within(offset=TEXT, uri=TEXT)),
        ("cursor", "offset", "items", "next_page.offset", 0),
    ),
    ({"page": TEXT}, listed(next_page=TEXT), ("cursor", "page", "items", "next_page", 0)),
    ({"cursor": TEXT}, listed(meta=within(next=TEXT)), ("next", "cursor", "items", "meta.next", 0)),
    ({"limit": INT}, listed(next=URL), ("next", "", "items", "next", 0)),
    (
        {},
        listed(_links=within(next=within(href=TEXT))),
        ("next", "", "items", "_links.next.href", 0),
    ),
    (
        {},
        within(value=LIST, **{"@odata.nextLink": TEXT}),
        ("next", "", "value", "@odata.nextLink", 0),
    ),
    (
        {"limit": INT},
        listed(links={"type": "array", "items": LINK}),
        ("next", "", "items", "links", 0),
    ),
    (
        {"_count": INT, "name:contains": TEXT},
        within(link=BUNDLE_LINKS, entry=LIST),
        ("next", "", "entry", "link", 0),
    ),
    (
        {"Page": {**INT, "minimum": 0}, "PageToken": TEXT},
        within(rooms=LIST, meta=within(next_page_url=URL)),
        ("next", "", "rooms", "meta.next_page_url", 0),
    ),
    (
        {"offset": INT, "limit": INT},
        within(container=within(size=INT, rows=LIST)),
        ("offset", "offset", "container.rows", "", 0),
    ),
    (
        {"starting_after": TEXT},
        listed(has_more={"type": "boolean"}),
        ("last_item", "starting_after", "items", "id", 0),
    ),
    (  # the description names the member with the next value
        {"offset": told("Where to start (the lastKey of the response)", TEXT), "limit": INT},
        listed(lastKey=TEXT),
        ("cursor", "offset", "items", "lastKey", 0),
    ),
    ({"page": told("Page to show. Defaults to 1.")}, LIST, ("page", "page", "", "", 1)),
    (  # a list with the name of the path, beside another one
        {"offset": INT, "limit": INT},
        within(pets=LIST, owners=LIST),
        ("offset", "offset", "pets", "", 0),
    ),
    (  # a marker that is returned on request only
        {"offset": {**INT, "default": 0}, "marker": TEXT, "usemarker": {"type": "boolean"}},
        listed(next_marker=TEXT),
        ("offset", "offset", "items", "", 0),
    ),
]
ASSUMED: list[tuple[dict[str, Any], Any, tuple[Any, ...]]] = [
    # Query parameters, response; kind, parameter, list, whether the first number is unknown.
    ({"page": INT, "per_page": INT}, LIST, ("page", "page", "", True)),
    ({"page": {"type": "number"}}, None, ("page", "page", "", True)),
    ({"page": {**INT, "default": 0}}, {"type": "object"}, ("page", "page", "", False)),
    ({"offset": TEXT, "limit": TEXT}, LIST, ("offset", "offset", "", False)),
    (
        {"start": told("Offset to start at"), "count": INT},
        listed(),
        ("offset", "start", "items", False),
    ),
    ({"cursor": TEXT, "limit": INT}, None, ("cursor", "cursor", "", False)),
    (
        {"cursor": TEXT, "limit": INT},
        within(ok={"type": "boolean"}),
        ("cursor", "cursor", "", False),
    ),
    ({"after": TEXT, "limit": INT}, LIST, ("cursor", "after", "", False)),
    ({"offset": told("An offset token", TEXT)}, listed(), ("cursor", "offset", "items", False)),
]
WITHOUT: list[tuple[dict[str, Any], Any]] = [
    ({"limit": INT}, LIST),  # nothing says where a page begins
    ({"after": {**TEXT, "format": "date-time"}, "limit": INT}, LIST),
    ({"token": TEXT, "limit": INT}, LIST),  # may be a credential
    ({"start": told("Time of the first event"), "limit": INT}, LIST),
    ({"from": TEXT, "limit": INT}, LIST),
    ({"offset": INT}, within(parts=LIST)),  # of one thing: an offset in time
    ({"cursor": TEXT, "limit": INT}, within(pet=within(id=TEXT))),  # one thing, not a list
    ({"offset": INT, "limit": INT}, within(dogs=LIST, cats=LIST)),  # which of the lists?
    ({}, within(steps=LIST, next=TEXT)),  # `next` is not about pages
    ({}, within(parts=LIST, _metadata=within(next=URL))),
    ({}, within(entry=LIST, link=BUNDLE_LINKS)),  # of a document
    ({}, within(parts=LIST, links={"type": "array", "items": LINK})),  # links of one thing
    ({"max_pages": INT, "page": {**INT, "default": 1}}, LIST),
    ({"start": told("Page number, from 0"), "rows": INT}, listed()),  # does it count items?
    ({"offset": told("Timestamp offset"), "limit": INT}, LIST),
    (  # a list beside the usual place of the list
        {"page": {**INT, "default": 1}},
        within(hints=LIST, results=within(results=LIST, total=INT)),
    ),
    ({"page": INT, "limit": INT}, within(name=TEXT, virusScan=within(viruses=LIST))),  # one thing
]
IN_BODY: list[tuple[dict[str, Any], Any, tuple[Any, ...]]] = [
    # Members of the body, response; kind, place of the parameter, list, size, whether assumed.
    (
        {"cursor": TEXT, "count": INT},
        listed(next_cursor=TEXT),
        ("cursor", "cursor", "items", "", False),
    ),
    (
        {"NextToken": TEXT, "MaxResults": INT},
        listed(NextToken=TEXT),
        ("cursor", "NextToken", "items", "", False),
    ),
    (
        {"options": within(count=INT, offset=INT)},
        within(pets=LIST, owners=LIST, total=INT),
        ("offset", "options.offset", "pets", "", False),
    ),
    (
        {"from": {**INT, "minimum": 0}, "size": INT},
        listed(),
        ("offset", "from", "items", "", False),
    ),
    (
        {"page": {**INT, "default": 1}, "per_page": INT},
        LIST,
        ("page", "page", "", "per_page", False),
    ),
    (
        {"pagination": within(starting_after=TEXT, per_page=INT)},
        listed(pages=within(next=within(starting_after=TEXT))),
        ("cursor", "pagination.starting_after", "items", "", False),
    ),
    ({"page": INT, "limit": INT}, LIST, ("page", "page", "", "", True)),
]
NOT_IN_BODY: list[tuple[dict[str, Any], Any]] = [
    ({"limit": INT}, LIST),
    ({"token": TEXT, "limit": INT}, listed(next_cursor=TEXT)),  # a credential
    ({"limit": INT}, listed(next=URL)),  # the URL is not for a request with a body
    ({"pet": within(page=INT, limit=INT)}, LIST),  # a thing with pages
    ({"max_pages": INT, "page": {**INT, "default": 1}}, LIST),
]


@pytest.fixture
def plan(make: Any) -> Any:
    """Plan the tool of a GET with query parameters and an optional described response."""

    def plan(query: dict[str, Any], response: Any, headers: Any = None) -> Any:
        path = "/pet" if "parts" in str(response) else "/pets"
        root = make.with_response(response if response is not None else {}, path=path)
        operation = root["paths"][path]["get"]
        operation["parameters"] = [
            {
                "name": name,
                "in": "query",
                "schema": {key: schema[key] for key in schema if key != "description"},
                "description": schema.get("description", ""),
            }
            for name, schema in query.items()
        ]
        if response is None:
            operation["responses"] = {"200": {"description": "Done"}}
        if headers:
            operation["responses"]["200"]["headers"] = headers
        return make(root).tool()

    return plan


@pytest.mark.parametrize(("query", "response", "expected"), DECLARED)
def test_declared_paging(
    plan: Any, query: dict[str, Any], response: Any, expected: tuple[Any, ...]
) -> None:
    pages = plan(query, response).pagination
    place = ".".join((*pages.within, pages.items))
    found = (pages.kind, pages.parameter, place, ".".join(pages.cursor), pages.first)
    assert (found, pages.is_assumed) == (expected, False)
    assert pages.evidence


@pytest.mark.parametrize(("query", "response", "expected"), ASSUMED)
def test_assumed_paging(
    plan: Any, query: dict[str, Any], response: Any, expected: tuple[Any, ...]
) -> None:
    tool = plan(query, response)
    pages = tool.pagination
    found = (pages.kind, pages.parameter, pages.items, pages.is_first_unknown)
    assert (found, pages.is_assumed) == (expected, True)
    described = tool.input_schema["properties"]["max_pages"]["description"]
    assert described.endswith("Not sent to the API. Paging is assumed from parameter names.")


@pytest.mark.parametrize(("query", "response"), WITHOUT)
def test_other_parameters_are_no_paging(plan: Any, query: dict[str, Any], response: Any) -> None:
    assert plan(query, response).pagination is None


def test_a_declared_link_decides(plan: Any) -> None:
    link = {"Link": {"schema": TEXT}}
    pages = plan({"page": {**INT, "default": 1}}, LIST, link).pagination
    assert (pages.kind, pages.is_assumed) == ("link", False)


@pytest.fixture
def search(make: Any) -> Any:
    """Plan the tool of a POST with body members; return its pages, and the problems."""

    def search(
        members: dict[str, Any], response: Any, **entry: Any
    ) -> tuple[Pagination | None, Problems]:
        root = make.with_response(response, path="/pets/search")
        operation = root["paths"]["/pets/search"].pop("get")
        content = {"application/json": {"schema": within(query=TEXT, **members)}}
        operation["requestBody"] = {"content": content}
        root["paths"]["/pets/search"]["post"] = operation
        manifest = {
            "server": {"name": "demo"},
            "sources": [{"document": "openapi.json"}],
            "operations": {"POST /pets/search": entry},
        }
        problems = Problems()
        intent = read_manifest(json.dumps(manifest).encode(), problems)
        (tool,) = plan_tools(make(root).api, Policy(intent), problems).tools
        return tool.pagination, problems

    return search


READ = {"annotations": {"readOnlyHint": True}}


@pytest.mark.parametrize(("members", "response", "expected"), IN_BODY)
def test_paging_in_a_body(
    search: Any, members: dict[str, Any], response: Any, expected: tuple[Any, ...]
) -> None:
    pages, _ = search(members, response, **READ)
    assert pages is not None
    found = (pages.kind, ".".join(pages.body), pages.items, pages.size, pages.is_assumed)
    assert found == expected
    assert pages.body[-1] == pages.parameter
    assert pages.evidence.endswith(f"`{'.'.join(pages.body)}` is in the body")


@pytest.mark.parametrize(("members", "response"), NOT_IN_BODY)
def test_other_members_of_a_body_are_no_paging(
    search: Any, members: dict[str, Any], response: Any
) -> None:
    assert search(members, response, **READ)[0] is None


def test_a_post_has_pages_only_if_it_is_known_to_read(search: Any) -> None:
    members, response, _ = IN_BODY[0]
    assert search(members, response)[0] is None
    assert search(members, response, paginate=False, **READ)[0] is None


def test_a_fixed_member_of_a_body_is_not_moved(search: Any) -> None:
    members, response, _ = IN_BODY[0]
    fixed = {"parameters": {"body.cursor": {"fixed": "a"}}}
    assert search(members, response, **READ, **fixed)[0] is None


def test_paginate_needs_a_post_that_is_known_to_read(search: Any) -> None:
    members, response, _ = IN_BODY[0]
    pages, problems = search(members, response, paginate={"max_pages": 3})
    (problem,) = problems
    assert pages is None
    assert problem.code == "paginate-entry"
    assert "readOnlyHint: true" in problem.help
    pages, problems = search(members, response, paginate={"max_pages": 3}, **READ)
    assert pages is not None
    assert (pages.most, [*problems]) == (3, [])
