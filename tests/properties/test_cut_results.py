"""Properties of truncated results: the calls that they name return every part exactly once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.runtime.content import ToolResult
from mcpgen.runtime.tools.registry import ToolRegistry
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.text.json_pointer import pointer_tokens
from tests.wire.served import serve

LIMIT = 250  # tokens
ITEM = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "text": {"type": "string"},
        "parts": {"type": "array", "items": {"type": "string"}},
    },
}
LIST = {"type": "array", "items": ITEM}


def listed(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"items": LIST, **members}}


def within(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


NUMBER, WORD = {"type": "integer"}, {"type": "string"}
MORE = {"has_more": {"type": "boolean"}}
LINK = within(rel=WORD, href=WORD)
OPEN: dict[str, Any] = {"type": "object"}
STYLES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "whole": ({}, LIST, False),
    "nested": ({}, {"type": "object", "properties": {"data": listed()}}, False),
    "offsets": ({"offset": NUMBER, "limit": NUMBER}, listed(total=NUMBER), False),
    "pages": ({"page": {**NUMBER, "default": 1}, "per_page": NUMBER}, LIST, False),
    "plain_pages": ({"page": {**NUMBER, "default": 0}}, listed(), False),
    "cursors": ({"cursor": WORD}, listed(next_cursor=WORD), False),
    "last_items": ({"starting_after": WORD}, listed(**MORE), False),
    "linked": ({"page": NUMBER, "q": WORD}, LIST, True),
    "linked_opaquely": ({"q": WORD}, listed(), True),
    "next_urls": ({"q": WORD}, listed(next=WORD, previous=WORD), False),
    "href": ({"limit": NUMBER}, listed(_links=within(next=within(href=WORD))), False),
    "odata": ({"$top": NUMBER}, listed(**{"@odata.nextLink": WORD}), False),
    "rels": ({"limit": NUMBER}, listed(links={"type": "array", "items": LINK}), False),
    "tokens": ({"pageToken": WORD}, listed(nextPageToken=WORD), False),
    "graph": ({"after": WORD}, listed(paging=within(cursors=within(after=WORD))), False),
    "either": ({"cursor": WORD, "limit": NUMBER}, listed(meta=within(next=WORD)), False),
    "continued": ({"continue": WORD}, listed(metadata=within(**{"continue": WORD})), False),
    "scim": ({"startIndex": {**NUMBER, "default": 1}, "count": NUMBER}, listed(), False),
    "texts": ({"offset": WORD, "limit": WORD}, LIST, False),
    "deep": ({"offset": NUMBER, "limit": NUMBER}, within(found=listed()), False),
    "from_0": ({"page": NUMBER, "per_page": NUMBER}, LIST, False),
    "from_1": ({"page": NUMBER, "per_page": NUMBER}, LIST, False),
    "told_number": ({"page": NUMBER, "per_page": NUMBER}, OPEN, False),
    "told_cursor": ({"cursor": WORD, "limit": NUMBER}, OPEN, False),
    "told_link": ({"after": WORD, "limit": NUMBER}, LIST, False),
    "told_url": ({"page": NUMBER, "per_page": NUMBER}, OPEN, False),
}
"""Query parameters, response schema, and whether there is a `Link` header, by tool."""


def make_document() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for name, (parameters, schema, has_link) in STYLES.items():
        content = {"application/json": {"schema": schema}}
        response: dict[str, Any] = {"description": "some", "content": content}
        if has_link:
            response["headers"] = {"Link": {"schema": WORD}}
        query = [{"name": it, "in": "query", "schema": of} for it, of in parameters.items()]
        operation = {"operationId": name, "parameters": query, "responses": {"200": response}}
        paths[f"/{name}"] = {"get": operation}
    text = {"200": {"description": "text", "content": {"text/plain": {"schema": WORD}}}}
    content = {"application/json": {"schema": {"type": "object"}}}
    thing = {"200": {"description": "any", "content": content}}
    paths["/thing"] = {"get": {"operationId": "thing", "responses": thing}}
    paths["/text"] = {"get": {"operationId": "text", "responses": text}}
    servers = [{"url": "https://shop.example"}]
    info = {"title": "Shop", "version": "1"}
    return {"openapi": "3.0.3", "info": info, "servers": servers, "paths": paths}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], ToolRegistry]:
    """Return a function that starts the server with a given function for sending requests."""
    folder: Path = tmp_path_factory.mktemp("cut")
    document = folder / "openapi.json"
    document.write_text(json.dumps(make_document()), encoding="utf-8")
    served = serve(document, "cut-results", folder)

    def start(send: Any) -> ToolRegistry:  # which hypothesis shows briefly
        return served.registry({"CUT_RESULTS_MAX_RESULT_TOKENS": str(LIMIT)}, send=send)

    return start


class Shop:
    """An API with pages of `size` items, in each paging style."""

    def __init__(self, items: list[Any], size: int) -> None:
        self.items, self.size, self.requests = items, size, 0

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.requests += 1
        url = urlsplit(request.url)
        query = {name: texts[0] for name, texts in parse_qs(url.query).items()}
        if url.path == "/text":
            return HttpResponse(200, (("Content-Type", "text/plain"),), self.items[0].encode())
        body, link = getattr(self, f"answer_{url.path[1:]}")(query)
        headers = [("Content-Type", "application/json")]
        if url.path == "/told_link":
            headers.append(("Link", f"<{request.url}>; rel=self"))
        if link:
            headers.append(("Link", f"<https://shop.example{url.path}?{link}>; rel=next"))
        return HttpResponse(200, tuple(headers), json.dumps(body).encode())

    def cut(self, first: int, size: int) -> tuple[list[Any], bool]:
        return self.items[first : first + size], first + size < len(self.items)

    def answer_whole(self, _: Mapping[str, str]) -> Any:
        return self.items, ""

    def answer_nested(self, _: Mapping[str, str]) -> Any:
        return {"data": {"items": self.items, "total": len(self.items)}}, ""

    def answer_offsets(self, query: Mapping[str, str]) -> Any:
        size = int(query.get("limit", self.size))
        return {"items": self.cut(int(query.get("offset", 0)), size)[0]}, ""

    def answer_pages(self, query: Mapping[str, str]) -> Any:
        size = int(query.get("per_page", self.size))
        return self.cut((int(query.get("page", 1)) - 1) * size, size)[0], ""

    def answer_plain_pages(self, query: Mapping[str, str]) -> Any:
        return {"items": self.cut(int(query.get("page", 0)) * self.size, self.size)[0]}, ""

    def answer_cursors(self, query: Mapping[str, str]) -> Any:
        first = int(query.get("cursor", "at 0")[3:])
        items, goes_on = self.cut(first, self.size)
        return {"items": items, "next_cursor": f"at {first + self.size}" if goes_on else None}, ""

    def answer_last_items(self, query: Mapping[str, str]) -> Any:
        ids = [str(item["id"]) for item in self.items]
        after = query.get("starting_after")
        items, goes_on = self.cut(0 if after is None else ids.index(after) + 1, self.size)
        return {"items": items, "has_more": goes_on}, ""

    def answer_linked(self, query: Mapping[str, str]) -> Any:
        number = int(query.get("page", 1))
        items, goes_on = self.cut((number - 1) * self.size, self.size)
        return items, f"page={number + 1}&q={query.get('q', '')}" if goes_on else ""

    def answer_linked_opaquely(self, query: Mapping[str, str]) -> Any:
        first = int(query.get("token", 0))
        items, goes_on = self.cut(first, self.size)
        return {"items": items}, f"token={first + self.size}" if goes_on else ""

    def answer_next_urls(self, query: Mapping[str, str]) -> Any:
        body, link = self.answer_linked_opaquely(query)
        url = f"https://elsewhere.example/other?{link}" if link else None
        return {**body, "next": url}, ""

    def answer_href(self, query: Mapping[str, str]) -> Any:
        body, link = self.answer_linked_opaquely(query)
        return {**body, "_links": {"next": {"href": f"/href?{link}"}} if link else {}}, ""

    def answer_odata(self, query: Mapping[str, str]) -> Any:
        size = int(query.get("$top", self.size))
        first = int(query.get("$skip", 0))
        items, goes_on = self.cut(first, size)
        url = f"https://shop.example/odata?$top={size}&$skip={first + size}"
        return {"items": items, **({"@odata.nextLink": url} if goes_on else {})}, ""

    def answer_rels(self, query: Mapping[str, str]) -> Any:
        body, link = self.answer_linked_opaquely(query)
        links = [{"rel": "self", "href": "?token=0"}, {"rel": "next", "href": f"?{link}"}]
        return {**body, "links": links[: 2 if link else 1]}, ""

    def cut_at_cursor(self, cursor: str | None) -> tuple[list[Any], str]:
        first = int((cursor or "at 0")[3:])
        items, goes_on = self.cut(first, self.size)
        return items, f"at {first + self.size}" if goes_on else ""

    def answer_tokens(self, query: Mapping[str, str]) -> Any:
        items, cursor = self.cut_at_cursor(query.get("pageToken"))
        return {"items": items, "nextPageToken": cursor}, ""

    def answer_graph(self, query: Mapping[str, str]) -> Any:
        items, cursor = self.cut_at_cursor(query.get("after"))
        return {
            "items": items,
            **({"paging": {"cursors": {"after": cursor}}} if cursor else {}),
        }, ""

    def answer_either(self, query: Mapping[str, str]) -> Any:
        items, cursor = self.cut_at_cursor(query.get("cursor"))
        return {"items": items, "meta": {"next": cursor or None}}, ""

    def answer_continued(self, query: Mapping[str, str]) -> Any:
        items, cursor = self.cut_at_cursor(query.get("continue"))
        return {"items": items, "metadata": {"continue": cursor}}, ""

    def answer_scim(self, query: Mapping[str, str]) -> Any:
        size = int(query.get("count", self.size))
        return {"items": self.cut(int(query.get("startIndex", 1)) - 1, size)[0]}, ""

    def answer_texts(self, query: Mapping[str, str]) -> Any:
        size = int(query.get("limit", self.size))
        return self.cut(int(query.get("offset", "0")), size)[0], ""

    def answer_deep(self, query: Mapping[str, str]) -> Any:
        return {"found": self.answer_offsets(query)[0]}, ""

    def answer_from_0(self, query: Mapping[str, str]) -> Any:
        size = int(query.get("per_page", self.size))
        return self.cut(int(query.get("page", 0)) * size, size)[0], ""

    def answer_from_1(self, query: Mapping[str, str]) -> Any:
        return self.answer_pages(query)

    def answer_told_number(self, query: Mapping[str, str]) -> Any:
        number = int(query.get("page", 1))
        return {"data": self.answer_pages(query)[0], "paging": {"page": number}, "tags": []}, ""

    def answer_told_cursor(self, query: Mapping[str, str]) -> Any:
        items, cursor = self.cut_at_cursor(query.get("cursor"))
        return {"result": {"list": items}, "info": {"next_cursor": cursor}}, ""

    def answer_told_link(self, query: Mapping[str, str]) -> Any:
        items, cursor = self.cut_at_cursor(query.get("after"))
        return items, f"after={cursor.replace(' ', '%20')}&limit=5" if cursor else ""

    def answer_told_url(self, query: Mapping[str, str]) -> Any:
        number = int(query.get("page", 1))
        items, goes_on = self.cut((number - 1) * self.size, self.size)
        url = f"/told_url?page={number + 1}" if goes_on else None
        return {"data": items, "paging": {"next": url}}, ""

    def answer_thing(self, _: Mapping[str, str]) -> Any:
        return self.items, ""


class Walker:
    """A client that makes each call that a result names."""

    def __init__(self, registry: ToolRegistry, tool: str, place: tuple[str, ...]) -> None:
        self.registry, self.place = registry, place
        self.tool = registry.tools[tool]
        output = self.tool.contract["listing"].get("outputSchema")
        self.validator = None if output is None else SchemaValidator(output)
        self.calls = 0

    def call(self, arguments: dict[str, Any]) -> tuple[Any, list[dict[str, Any]]]:
        """Return the value of a result, and the arguments of the calls that it names."""
        self.calls += 1
        assert self.calls < 2_000, "the calls go in a circle"
        context = SimpleNamespace(owner=None)
        result: ToolResult = asyncio.run(
            self.registry.call(self.tool.name, arguments, context)  # type: ignore[arg-type]
        )
        assert not result.is_error, result.content
        structured = dict(result.structured_content or {})
        assert self.validator is None or self.validator.is_valid(structured)
        calls = result.meta.get("mcpgen/nextCalls", [])
        if "mcpgen/truncated" in result.meta and self.tool.name != "text":
            assert structured.pop("next_calls") == calls
        text = result.content[0].text
        if self.tool.name == "text":
            return text, [call["arguments"] for call in calls]
        assert json.loads(text) in (result.structured_content, structured.get("result"))
        for call, note in zip(calls, [block.text for block in result.content[1:]], strict=True):
            assert call["name"] == self.tool.name
            told = json.loads(note.partition(f"Next call: `{self.tool.name}` ")[2])
            assert told == call["arguments"]
        wrapped = bool(self.tool.contract["result_key"])
        return structured["result"] if wrapped else structured, [it["arguments"] for it in calls]

    def read_list(self, arguments: dict[str, Any]) -> list[Any]:
        """Return all items from a call on, with truncated items completed."""
        value, calls = self.call(arguments)
        items: list[Any] = dig(value, self.place)
        deeper = [call for call in calls if len(self.tokens(call)) > len(self.place) + 1]
        onward = [call for call in calls if call not in deeper]
        assert len(onward) <= 1
        for call in deeper:
            self.complete(items, (0, *map(as_key, self.tokens(call)[len(self.place) + 1 :])), call)
        return items + (self.read_list(onward[0]) if onward else [])

    def complete(self, holder: Any, at: tuple[Any, ...], call: dict[str, Any]) -> None:
        """Append what a call returns to the part of `holder` that was truncated at a place."""
        shown, calls = self.call(call)
        where = self.tokens(call)
        found = dig(shown, tuple(0 if token.isdigit() else token for token in where[:-1]))
        assert len(found) > 0
        outer, name = dig(holder, at[:-2]), at[-2]
        outer[name] += found
        for other in calls:
            tokens = self.tokens(other)
            base = len(where) - 1
            self.complete(holder, (*at[:-1], *map(as_key, tokens[base:])), other)

    def read_whole(self) -> Any:
        """Return the whole value of a result without pages."""
        shown, calls = self.call({})
        holder = {"": shown}
        for call in calls:
            self.fill(holder, call)
        return holder[""]

    def fill(self, holder: Any, call: dict[str, Any]) -> None:
        """Insert what a call returns at its place in `holder`, which is empty there."""
        outer, name = holder, ""
        inside: list[Any] = []
        for token in self.tokens(call)[:-1]:
            outer = outer[name]
            name = int(token) if isinstance(outer, list) else token
            inside.append(0 if isinstance(outer, list) else token)
        shown, calls = self.call(call)
        part, whole, start = dig(shown, tuple(inside)), outer[name], self.tokens(call)[-1]
        if isinstance(whole, dict):
            assert start == next(iter(part))
            assert not whole.keys() & part.keys()
            whole.update(part)
        else:
            assert (start, len(part) > 0) == (str(len(whole)), True)
            outer[name] += part
        for other in calls:
            self.fill(holder, other)

    def tokens(self, arguments: dict[str, Any]) -> tuple[str, ...]:
        return pointer_tokens(arguments.get("continue_from", ""))


def as_key(token: str) -> str | int:
    return int(token) if token.isdigit() else token


def dig(value: Any, place: tuple[Any, ...]) -> Any:
    for token in place:
        value = value[token]
    return value


LENGTHS = st.integers(0, 900)
SIZES = st.lists(st.tuples(LENGTHS, st.lists(LENGTHS, max_size=4)), max_size=25)
"""Text lengths of each item."""
ALPHABET = 'é€a"\n0' * 150


def make_items(sizes: list[tuple[int, list[int]]]) -> list[Any]:
    return [
        {"id": number, "text": ALPHABET[:text], "parts": [ALPHABET[:part] for part in parts]}
        for number, (text, parts) in enumerate(sizes, start=100)
    ]


PLACES = {
    "nested": ("data", "items"),
    "deep": ("found", "items"),
    "told_number": ("data",),
    "told_cursor": ("result", "list"),
    "told_url": ("data",),
    **dict.fromkeys(("whole", "pages", "linked", "texts", "from_0", "from_1", "told_link"), ()),
}


@pytest.mark.parametrize("style", STYLES)
@given(
    sizes=SIZES,
    size=st.integers(1, 12),
    pages=st.none() | st.integers(1, 4),
    states_size=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_the_named_calls_return_each_item_once(
    start: Any, style: str, sizes: Any, size: int, pages: int | None, states_size: bool
) -> None:
    items = make_items(sizes)
    shop = Shop(items, size)
    registry = start(shop.send)
    walker = Walker(registry, style, PLACES.get(style, ("items",)))
    arguments: dict[str, Any] = {}
    if style not in {"whole", "nested"}:
        # The caller of a single page sees in its content that others follow; a walk asks for one.
        arguments["max_pages"] = pages or 1
    names = {
        **dict.fromkeys(("offsets", "texts", "deep"), "limit"),
        **dict.fromkeys(("pages", "from_0", "from_1"), "per_page"),
        "scim": "count",
    }
    if style in names and states_size:
        arguments[names[style]] = str(size) if style == "texts" else size
    assert walker.read_list(arguments) == items


LEAVES = st.none() | st.integers(-9, 9) | LENGTHS.map(lambda size: Length(size))
VALUES = st.dictionaries(
    st.text(max_size=3),
    st.recursive(
        LEAVES,
        lambda inner: (
            st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=3), inner, max_size=30)
        ),
    ),
    max_size=30,
)


class Length(int):
    """Placeholder for a text of this length, so that failing examples are readable."""


def fill_in(value: Any) -> Any:
    if isinstance(value, Length):
        return ALPHABET[:value]
    if isinstance(value, list):
        return [fill_in(item) for item in value]
    if isinstance(value, dict):
        return {name: fill_in(item) for name, item in value.items()}
    return value


@given(VALUES)
@settings(max_examples=60, deadline=None)
def test_the_named_calls_return_each_part_of_any_object_once(start: Any, drawn: Any) -> None:
    value = fill_in(drawn)
    assert Walker(start(Shop(value, 1).send), "thing", ()).read_whole() == value


@given(LENGTHS)
@settings(max_examples=20, deadline=None)
def test_the_named_calls_return_each_part_of_a_text_once(start: Any, size: int) -> None:
    text = ALPHABET * 3 + ALPHABET[:size]
    assert Walker(start(Shop([text], 1).send), "text", ()).read_whole() == text
