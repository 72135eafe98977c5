"""Properties of pages requested in a POST body: each item once, other members unchanged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.ir.listing_form import NEW_SERVERS, ListingForm
from mcpgen.runtime.content import ToolResult
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.testing import Suite
from tests.wire.served import Served, serve

INT, WORD, OPEN = {"type": "integer"}, {"type": "string"}, {"type": "object"}
LIST = {"type": "array", "items": {"type": "object", "properties": {"id": INT}}}


def listed(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"items": LIST, **members}}


def holding(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


STYLES: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = {
    # Members of the body beside `query`, the response, and the place of the cursor or number.
    "offsets": ({"from": {**INT, "default": 0}, "size": INT}, listed(total=INT), ("from",)),
    "numbers": ({"page": {**INT, "default": 1}, "per_page": INT}, LIST, ("page",)),
    "cursors": (
        {"cursor": WORD},
        listed(next_cursor=WORD, has_more={"type": "boolean"}),
        ("cursor",),
    ),
    "tokens": ({"NextToken": WORD, "MaxResults": INT}, listed(NextToken=WORD), ("NextToken",)),
    "nested": ({"options": holding(offset=INT, count=INT)}, listed(), ("options", "offset")),
    "renamed": ({"page[cursor]": WORD}, listed(next_cursor=WORD), ("page[cursor]",)),
    "assumed": ({"cursor": WORD, "limit": INT}, OPEN, ("cursor",)),
    "unknown": ({"page": INT, "limit": INT}, OPEN, ("page",)),
}


def make_document() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for name, (members, schema, _) in STYLES.items():
        body = holding(query=holding(kind=WORD, tags={"type": "array", "items": WORD}), **members)
        operation = {
            "operationId": f"search_{name}",
            "requestBody": {"content": {"application/json": {"schema": body}}},
            "responses": {
                "200": {"description": "some", "content": {"application/json": {"schema": schema}}}
            },
        }
        paths[f"/{name}/search"] = {"post": operation}
    info, servers = {"title": "Shop", "version": "1"}, [{"url": "https://shop.example"}]
    return {"openapi": "3.0.3", "info": info, "servers": servers, "paths": paths}


def serve_form(folder: Path, name: str, form: ListingForm, *, trusts: bool = True) -> Served:
    document = folder / "openapi.json"
    document.write_text(json.dumps(make_document()), encoding="utf-8")
    return serve(document, name, folder, form=form, trusts=trusts)


@pytest.fixture(scope="module", params=["flat", "nested"])
def served(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Served:
    form = NEW_SERVERS if request.param == "flat" else ListingForm()
    folder = tmp_path_factory.mktemp(request.param)
    return serve_form(folder, f"body-pages-{request.param}", form)


class Shop:
    """An API with pages of `size` items that checks that only the page position changes."""

    def __init__(self, count: int, size: int, usual: Any) -> None:
        self.items = [{"id": number} for number in range(count)]
        self.size, self.usual = size, usual
        self.starts: list[int] = []

    async def send(self, request: HttpRequest) -> HttpResponse:
        style = request.url.rsplit("/", 2)[1]
        body = json.loads(request.body) if request.body else {}
        place = STYLES[style][2]
        rest = json.loads(json.dumps(body))
        holder = rest
        for name in place[:-1]:
            holder = holder.get(name, {})
        stated = holder.pop(place[-1], None)
        rest = {name: value for name, value in rest.items() if value != {} or name in self.usual}
        assert rest == self.usual
        answer = json.dumps(self.answer(style, stated)).encode()
        return HttpResponse(200, (("Content-Type", "application/json"),), answer)

    def answer(self, style: str, stated: Any) -> Any:
        if style in {"numbers", "unknown"}:
            start = ((stated or 1) - 1) * self.size
        else:
            start = int(str(stated or 0).removeprefix("at "))
        self.starts.append(start)
        items, end = self.items[start : start + self.size], start + self.size
        following = f"at {end}" if end < len(self.items) else None
        if style == "numbers":
            return items
        if style in {"offsets", "nested", "unknown"}:
            return {"items": items, "total": len(self.items)}
        if style == "tokens":
            return {"items": items, **({"NextToken": following} if following else {})}
        return {"items": items, "next_cursor": following or "", "has_more": following is not None}


def call(served: Served, shop: Shop, tool: str, arguments: Any, limit: int = 0) -> ToolResult:
    setting = served.plan.package.upper() + "_MAX_RESULT_TOKENS"
    registry = served.registry({setting: str(limit)} if limit else {}, send=shop.send)
    context: Any = SimpleNamespace(owner=None)
    result: ToolResult = asyncio.run(registry.call(tool, arguments, context))
    assert not result.is_error, result.content
    return result


def items_of(result: ToolResult) -> list[Any]:
    value = dict(result.structured_content or {})
    found: list[Any] = value.get("items", value.get("result"))
    return found


def arguments_for(served: Served, query: Any) -> dict[str, Any]:
    if query is None:
        return {}
    is_flat = served.plan.tools[0].flat_body is not None
    return {"query": query} if is_flat else {"body": {"query": query}}


QUERIES = st.none() | st.fixed_dictionaries(
    {"kind": st.text(max_size=3)}, optional={"tags": st.lists(st.text(max_size=2), max_size=2)}
)


@pytest.mark.parametrize("style", STYLES)
@given(count=st.integers(0, 30), size=st.integers(1, 7), query=QUERIES)
@settings(max_examples=10, deadline=None)
def test_the_joined_pages_have_each_item_once(
    served: Served, style: str, count: int, size: int, query: Any
) -> None:
    shop = Shop(count, size, {} if query is None else {"query": query})
    joined: list[Any] = []
    calls = [*walk({**arguments_for(served, query), "max_pages": 20}, served, shop, style, joined)]
    assert joined == shop.items
    assert len(calls) <= 2


def walk(
    arguments: Any, served: Served, shop: Shop, style: str, joined: list[Any], limit: int = 0
) -> Iterator[Any]:
    """Make a call and the calls that its results name; yield the arguments of each."""
    pending = [arguments]
    while pending:
        arguments = pending.pop()
        yield arguments
        result = call(served, shop, f"search_{style}", arguments, limit)
        joined += items_of(result)
        pending += [it["arguments"] for it in result.meta.get("mcpgen/nextCalls", [])]
        assert len(pending) <= 1
        assert len(shop.starts) < 500


@pytest.mark.parametrize("style", STYLES)
@given(count=st.integers(0, 50), size=st.integers(1, 20), query=QUERIES)
@settings(max_examples=5, deadline=None)
def test_the_named_calls_of_cut_results_return_each_item_once(
    served: Served, style: str, count: int, size: int, query: Any
) -> None:
    shop = Shop(count, size, {} if query is None else {"query": query})
    joined: list[Any] = []
    calls = [
        *walk({**arguments_for(served, query), "max_pages": 2}, served, shop, style, joined, 60)
    ]
    assert joined == shop.items
    assert all(len(it) <= 4 for it in calls)


FIFTH: dict[str, Any] = {
    "offsets": {"from": 4},
    "numbers": {"page": 3},
    "cursors": {"cursor": "at 4"},
    "tokens": {"NextToken": "at 4"},
    "nested": {"options": {"count": 2, "offset": 4}},
    "renamed": {"page[cursor]": "at 4"},
    "assumed": {"cursor": "at 4"},
}
"""Members of the body for the third page, besides `query`."""


@pytest.mark.parametrize("style", FIFTH)
def test_the_next_call_names_the_page_in_the_body(served: Served, style: str) -> None:
    usual = {"query": {"kind": "a"}}
    body = {**usual, **({"options": {"count": 2}} if style == "nested" else {})}
    shop = Shop(9, 2, body)
    is_flat = served.plan.tools[0].flat_body is not None
    arguments = {**(body if is_flat else {"body": body}), "max_pages": 2}
    result = call(served, shop, f"search_{style}", arguments)

    (found,) = result.meta["mcpgen/nextCalls"]
    sent = {**usual, **FIFTH[style]}
    names = {"page[cursor]": "page_cursor"}
    if is_flat:
        names["NextToken"] = "next_token"
    listed = {names.get(name, name): value for name, value in sent.items()}
    wanted = listed if is_flat else {"body": listed}
    assert found["arguments"] == {**wanted, "max_pages": 2}
    assert items_of(call(served, shop, f"search_{style}", found["arguments"]))[0] == {"id": 4}


def test_the_generated_suite_has_cases_for_such_pages(served: Served) -> None:
    suite = Suite(str(served.plan.package), served.folder / "tests" / "generated")
    paged = [case for case in suite.cases if case.replies]
    declared = {f"search_{name}" for name in STYLES} - {"search_assumed", "search_unknown"}
    assert {case.tool for case in paged} == declared
    assert [it.differences for it in suite.results(cases=paged) if it.differences] == []


@pytest.mark.parametrize("fault", [{"body": ["query", "offset"]}, {"body": []}, {"kind": "page"}])
def test_a_tool_that_puts_the_page_elsewhere_fails_its_case(
    tmp_path: Path, fault: dict[str, Any]
) -> None:
    name = f"body-fault-{'-'.join(map(str, [*fault, *fault.get('body', ())]))}"
    served = serve_form(tmp_path, name, NEW_SERVERS)
    for path in (served.folder / "src").rglob("_generated/tools/*.json"):
        contract = json.loads(path.read_bytes())
        if "search_nested" in contract["tools"]:
            contract["tools"]["search_nested"]["pagination"] |= fault
            path.write_text(json.dumps(contract), encoding="utf-8")
    suite = Suite(str(served.plan.package), served.folder / "tests" / "generated")
    paged = [case for case in suite.cases if case.replies and case.tool == "search_nested"]
    failed = {it.case.id for it in suite.results(cases=paged) if it.differences}
    assert "search_nested: all pages, joined" in failed


def test_a_post_that_is_not_known_to_read_is_sent_once_per_call(tmp_path: Path) -> None:
    served = serve_form(tmp_path, "untrusted-pages", NEW_SERVERS, trusts=False)
    assert {tool.pagination for tool in served.plan.tools} == {None}
