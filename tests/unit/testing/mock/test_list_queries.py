"""Tests of lists of the stateful mock: filters, order, all paging styles, and invalid values."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.testing import MockUpstream

BASE = "https://api.example"
JSON = ("Content-Type", "application/json")
INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
NULLABLE = {"type": ["string", "null"]}
ITEM = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": INTEGER,
        "name": TEXT,
        "status": TEXT,
        "is_open": {"type": "boolean"},
        "labels": {"type": "array", "items": TEXT},
        "size": INTEGER,
    },
}
LIST = {"type": "array", "items": ITEM}
THINGS = [
    {"name": "cup", "status": "new", "is_open": True, "labels": ["a", "b"], "size": 3},
    {"name": "axe", "status": "used", "is_open": False, "labels": ["b"], "size": 10},
    {"name": "bag", "status": "new", "is_open": False, "labels": [], "size": 2},
    {"name": "dog", "status": "lost", "is_open": True},
]


def serve(
    query: dict[str, Any],
    answer: Any = LIST,
    *,
    has_link: bool = False,
    searched: tuple[Any, ...] = (),
) -> MockUpstream:
    """Return a stateful mock whose list has these query parameters, filled with THINGS.

    `searched` is another operation that lists: its method, its path, its body and its response.
    """
    body = {"content": [{"media_type": "application/json", "schema": {"type": "object"}}]}

    def respond(schema: Any, *headers: str) -> list[dict[str, Any]]:
        content = [{"media_type": "application/json", "schema": schema, "examples": []}]
        named = [{"name": it, "location": "header", "schema": TEXT} for it in headers]
        return [{"status": "200", "content": content, "headers": named}]

    parameters = [
        {"name": name, "location": "query", "schema": schema, "style": "form", "explode": True}
        for name, schema in query.items()
    ]
    key = {"name": "id", "location": "path", "required": True, "style": "simple", "schema": INTEGER}
    headers = ("Link",) if has_link else ()
    operations = [
        {"method": "POST", "path": "/things", "request_body": body, "responses": respond(ITEM)},
        {
            "method": "GET",
            "path": "/things",
            "parameters": parameters,
            "responses": respond(answer, *headers),
        },
        {"method": "GET", "path": "/things/{id}", "parameters": [key], "responses": respond(ITEM)},
    ]
    if searched:
        method, path, schema, found = searched
        sent = {"content": [{"media_type": "application/json", "schema": schema}]}
        responses = respond(found)
        operations.append(
            {"method": method, "path": path, "request_body": sent, "responses": responses}
        )
    mock = MockUpstream({"operations": operations, "servers": [{"url": BASE}]}, stateful=True)
    assert mock.state is not None
    for thing in THINGS:
        content = json.dumps(thing).encode()
        made = asyncio.run(mock.send(HttpRequest("POST", f"{BASE}/things", (JSON,), content)))
        assert made.status == 200
    return mock


def fetch(mock: MockUpstream, url: str = "/things", **query: Any) -> HttpResponse:
    whole = url if url.startswith(BASE) else f"{BASE}{url}"
    whole += f"?{urlencode(query, doseq=True)}" if query else ""
    return asyncio.run(mock.send(HttpRequest("GET", whole, (), None)))


def names(response: HttpResponse, member: str = "") -> list[str]:
    assert response.status == 200, response.body
    value = json.loads(response.body)
    return [item.get("name", "?") for item in (value[member] if member else value)][-4:]


@pytest.mark.parametrize(
    ("parameter", "schema", "value", "expected"),
    [
        ("status", TEXT, "new", ["cup", "bag"]),
        ("status", {"type": "array", "items": TEXT}, ["new", "lost"], ["cup", "bag", "dog"]),
        ("statuses", {"type": "array", "items": TEXT}, ["used"], ["cup", "axe", "bag", "dog"]),
        ("names", {"type": "array", "items": TEXT}, ["axe", "dog"], ["axe", "dog"]),
        ("isOpen", {"type": "boolean"}, "true", ["name", "cup", "dog"]),
        ("labels", TEXT, "b", ["cup", "axe"]),
        ("size", INTEGER, 10, ["axe"]),  # a member of the items, so not the size of a page
        ("status", TEXT, "", []),
        ("status", TEXT, "'; DROP", []),
        ("q", TEXT, "anything", ["cup", "axe", "bag", "dog"]),  # it names no member
    ],
)
def test_a_parameter_named_like_a_member_filters(
    parameter: str, schema: Any, value: Any, expected: list[str]
) -> None:
    assert names(fetch(serve({parameter: schema}), **{parameter: value})) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"sort": "name"}, ["axe", "bag", "cup", "dog"]),
        ({"sort": "-name"}, ["dog", "cup", "bag", "axe"]),
        ({"sort": "name:desc"}, ["dog", "cup", "bag", "axe"]),
        ({"sort": "name", "direction": "desc"}, ["dog", "cup", "bag", "axe"]),
        ({"sort": "status,-name"}, ["dog", "cup", "bag", "axe"]),
        ({"sort": "no_such_member"}, ["cup", "axe", "bag", "dog"]),
        ({"sort": ")("}, ["cup", "axe", "bag", "dog"]),
    ],
)
def test_a_list_is_sorted(query: dict[str, str], expected: list[str]) -> None:
    mock = serve({"sort": TEXT, "direction": TEXT, "status": {"type": "array", "items": TEXT}})
    query = {"status": ["new", "used", "lost"], **query}  # without the sample, which has no name
    assert names(fetch(mock, **query)) == expected


def walk(mock: MockUpstream, next_query: Any, member: str, **first: Any) -> list[list[str]]:
    """Fetch pages until `next_query` finds no further one."""
    pages, query = [], first
    while query:
        response = fetch(mock, **query)
        value = json.loads(response.body)
        items = value[member] if member else value
        pages.append([item.get("name", "?") for item in items])
        found = next_query(value, query)
        query = {**query, **found} if found else {}
        assert len(pages) < 10, "the pages do not end"
    return pages


PAGES = [["cup", "axe"], ["bag", "dog"]]
OUT_OF_SAMPLE = {"status": ["new", "used", "lost"]}
STATUS = {"status": {"type": "array", "items": TEXT}}


def envelope(**members: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["things"],
        "properties": {"things": LIST, **members},
    }


def test_numbered_pages() -> None:
    mock = serve({**STATUS, "page": {"type": "integer", "minimum": 1}, "per_page": INTEGER})
    pages = [names(fetch(mock, **OUT_OF_SAMPLE, page=number, per_page=2)) for number in (1, 2, 3)]
    assert pages == [*PAGES, []]
    assert names(fetch(mock, **OUT_OF_SAMPLE)) == [*PAGES[0], *PAGES[1]]
    assert names(fetch(mock, **OUT_OF_SAMPLE, per_page=3)) == ["cup", "axe", "bag"]


def test_pages_that_count_from_zero_and_a_default_size() -> None:
    page = {"type": "integer", "minimum": 0}
    mock = serve({**STATUS, "page": page, "limit": {"type": "integer", "default": 2}})
    assert names(fetch(mock, **OUT_OF_SAMPLE)) == PAGES[0]
    assert names(fetch(mock, **OUT_OF_SAMPLE, page=1)) == PAGES[1]


def test_offsets() -> None:
    mock = serve({**STATUS, "offset": INTEGER, "limit": INTEGER})
    assert names(fetch(mock, **OUT_OF_SAMPLE, offset=1, limit=2)) == ["axe", "bag"]
    assert names(fetch(mock, **OUT_OF_SAMPLE, offset=9, limit=2)) == []


def test_cursors_at_the_root_with_totals() -> None:
    answer = envelope(next_cursor=TEXT, has_more={"type": "boolean"}, total=INTEGER)
    mock = serve({**STATUS, "cursor": TEXT, "limit": INTEGER}, answer)

    def following(value: Any, _: Any) -> Any:
        assert ("next_cursor" in value) is value.get("has_more", False)
        return {"cursor": value["next_cursor"]} if "next_cursor" in value else None

    assert walk(mock, following, "things", **OUT_OF_SAMPLE, limit=2) == PAGES


@pytest.mark.parametrize("is_required", [True, False])
def test_cursors_one_level_deeper_end(is_required: bool) -> None:
    required = ["next"] if is_required else []
    meta = {"type": "object", "required": required, "properties": {"next_token": NULLABLE}}
    meta["required"] = ["next_token"] if is_required else []
    answer = envelope(meta=meta)
    answer["required"] = ["things", "meta"] if is_required else ["things"]
    mock = serve({**STATUS, "next_token": TEXT, "limit": INTEGER}, answer)

    def following(value: Any, _: Any) -> Any:
        token = value.get("meta", {}).get("next_token")
        return {"next_token": token} if token else None

    assert walk(mock, following, "things", **OUT_OF_SAMPLE, limit=3) == [
        ["cup", "axe", "bag"],
        ["dog"],
    ]


def test_the_id_of_the_last_item() -> None:
    answer = envelope(has_more={"type": "boolean"})
    mock = serve({**STATUS, "starting_after": TEXT, "limit": INTEGER}, answer)

    def following(value: Any, _: Any) -> Any:
        return {"starting_after": value["things"][-1]["id"]} if value.get("has_more") else None

    assert walk(mock, following, "things", **OUT_OF_SAMPLE, limit=2) == PAGES
    assert fetch(mock, starting_after="never").status == 400


def test_a_cursor_two_levels_deep_and_a_next_that_is_one() -> None:
    cursors = {"type": "object", "properties": {"before": TEXT, "after": TEXT}}
    paging = {"type": "object", "properties": {"cursors": cursors, "next": TEXT}}
    mock = serve({**STATUS, "after": TEXT, "limit": INTEGER}, envelope(paging=paging))

    def following(value: Any, _: Any) -> Any:
        found = value.get("paging", {})
        assert found.get("cursors", {}).get("after") == found.get("next")
        return {"after": found["next"]} if found else None

    assert walk(mock, following, "things", **OUT_OF_SAMPLE, limit=2) == PAGES


def test_the_number_of_the_next_page() -> None:
    answer = envelope(page=INTEGER, next_page=INTEGER, total_pages=INTEGER)
    answer["required"] = ["things", "page", "total_pages"]
    mock = serve({**STATUS, "page": {"type": "integer", "default": 1}, "limit": INTEGER}, answer)
    first = json.loads(fetch(mock, **OUT_OF_SAMPLE, limit=2).body)
    assert (first["page"], first["next_page"], first["total_pages"]) == (1, 2, 2)
    last = json.loads(fetch(mock, **OUT_OF_SAMPLE, limit=2, page=2).body)
    assert (last["page"], "next_page" in last) == (2, False)


def test_next_urls() -> None:
    url = {"type": ["string", "null"], "format": "uri"}
    answer = envelope(next=url, count=INTEGER)
    answer["required"] = ["things", "next", "count"]
    mock = serve({**STATUS, "offset": INTEGER, "limit": INTEGER}, answer)
    first = json.loads(fetch(mock, **OUT_OF_SAMPLE, limit=3).body)
    assert first["count"] == 4, "of all pages"
    second = json.loads(fetch(mock, first["next"]).body)
    assert [item["name"] for item in second["things"]] == ["dog"]
    assert second["next"] is None


def test_link_headers() -> None:
    mock = serve(
        {**STATUS, "page": {"type": "integer", "default": 1}, "per_page": INTEGER}, has_link=True
    )
    first = fetch(mock, **OUT_OF_SAMPLE, per_page=2)
    link = first.header("Link")
    assert link.endswith('>; rel="next"')
    second = fetch(mock, link.partition(">")[0].removeprefix("<"))
    assert (names(first), names(second)) == (PAGES[0], PAGES[1])
    assert 'rel="next"' not in second.header("Link")


@pytest.mark.parametrize(
    "query",
    [
        {"page": -5, "per_page": 2},
        {"page": 10**30, "per_page": 10**30},
        {"page": 0, "per_page": 0},
        {"per_page": -1},
        {"cursor": "0x1"},
        {"cursor": "²"},
        {"cursor": "1" * 5000},
        {"sort": "-" * 5000},
        {"status": "\u0000\ud7ff"},
        {"filter": "{"},
    ],
)
def test_bad_values_do_not_crash_the_mock(query: dict[str, Any]) -> None:
    declared = {"page": INTEGER, "per_page": INTEGER, "sort": TEXT, "status": TEXT, "filter": TEXT}
    mock = serve({"cursor": TEXT} if "cursor" in query else declared)
    assert fetch(mock, **query).status in {200, 400}


def test_an_unknown_cursor_is_an_error_of_the_request() -> None:
    mock = serve({"cursor": TEXT, "limit": INTEGER})
    assert fetch(mock, cursor="never").status == 400


SEARCHES: list[tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]] = [
    # The members of the body, the response, and the bodies that request page after page.
    ({"from": INTEGER, "limit": INTEGER}, {}, [{"limit": 2}, {"limit": 2, "from": 2}]),
    ({"page": INTEGER, "per_page": INTEGER}, {}, [{"per_page": 2}, {"per_page": 2, "page": 2}]),
    (
        {"options": {"type": "object", "properties": {"offset": INTEGER, "count": INTEGER}}},
        {"next": TEXT},
        [{"options": {"count": 2}}, {"options": {"count": 2, "offset": 2}}],
    ),
    (
        {"NextToken": TEXT, "MaxResults": INTEGER},
        {"NextToken": TEXT},
        [{"MaxResults": 2}, {"MaxResults": 2, "NextToken": "2"}],
    ),
]


@pytest.mark.parametrize(("members", "about", "bodies"), SEARCHES)
@pytest.mark.parametrize("where", ["POST /things/search", "QUERY /things"])
def test_a_search_returns_the_page_that_its_body_requests(
    members: Any, about: Any, bodies: list[Any], where: str
) -> None:
    method, path = where.split()
    body = {"type": "object", "properties": {**members, "status": TEXT}}
    answer = {"type": "object", "required": ["items"], "properties": {"items": LIST, **about}}
    mock = serve({}, searched=(method, path, body, answer))

    def search(sent: Any) -> Any:
        content = json.dumps(sent).encode()
        response = asyncio.run(mock.send(HttpRequest(method, f"{BASE}{path}", (JSON,), content)))
        assert response.status == 200
        return json.loads(response.body)

    pages = [search(body) for body in bodies]
    names = [[item["name"] for item in page["items"]] for page in pages]
    assert names == [["name", "cup"], ["axe", "bag"]]  # the first item is an example
    tokens = ["2", "4"] if "NextToken" in about else [None, None]
    assert [page.get("NextToken") for page in pages] == tokens
    assert "next" not in pages[0] or "://" not in pages[0]["next"]
    found = search({**bodies[0], "status": "new"})
    assert [item["name"] for item in found["items"]] == ["cup", "bag"]
