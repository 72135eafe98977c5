"""Tests of overrides: news without duplicates, profiles with few requests, and resources."""

import asyncio
import json
from pathlib import Path
from typing import Any

from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream, Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"COMPETITOR_RESEARCH_SEC_CONTACT": "mock"}


def call(upstream: MockUpstream, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool in memory, with `upstream` as its API."""
    return ask(upstream, "tools/call", {"name": tool, "arguments": arguments})


def ask(upstream: MockUpstream, method: str, params: dict[str, Any]) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        package = ServerPackage.load("competitor_research_mcp")
        async with Client.in_memory(package, SETTINGS, send=upstream.send) as client:
            return await client.request(method, params)

    return asyncio.run(run())


def api(answer: object = None) -> MockUpstream:
    """A mock of the API, that gives `answer` if there is one."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if answer is not None:
        upstream.reply_with(Reply.from_json({"status": 200, "body": answer}))
    return upstream


def test_a_report_that_many_papers_print_is_given_once() -> None:
    articles = [
        {"title": "Acme Recalls Chairs", "url": "https://a.example/1"},
        {"title": "Acme opens a shop", "url": "https://b.example/2"},
        {"title": "Acme recalls chairs", "url": "https://c.example/3"},
    ]
    result = call(api({"articles": articles}), "find_news", {"words": "acme"})
    assert result["structuredContent"]["articles"] == articles[:2]


def test_no_news_is_an_answer() -> None:
    assert call(api({}), "find_news", {"words": "acme"})["structuredContent"] == {}


def test_a_profile_asks_for_code_only_where_it_is_told_whose() -> None:
    upstream = api()
    assert not call(upstream, "profile_company", {"company": "Acme"}).get("isError")
    assert len(upstream.requests) == 3

    upstream = api()
    arguments = {"company": "Acme", "organisation": "org:acme"}
    assert not call(upstream, "profile_company", arguments).get("isError")
    assert len(upstream.requests) == 4
    assert "q=org%3Aacme" in upstream.requests[3].url


def test_an_article_can_be_read_as_a_resource() -> None:
    upstream = api({"title": "Acme", "extract": "Acme makes chairs."})
    found = ask(upstream, "resources/read", {"uri": "research://article/Acme"})
    assert "Acme makes chairs." in found["contents"][0]["text"]
    assert upstream.requests[0].url.endswith("/page/summary/Acme")


def test_a_comparison_begins_with_the_companies_that_were_named() -> None:
    arguments = {"companies": "Acme, Bolt", "aspect": "prices"}
    prompt = ask(api(), "prompts/get", {"name": "compare_competitors", "arguments": arguments})
    assert (
        "Compare these companies: Acme, Bolt. Look at prices"
        in (prompt["messages"][0]["content"]["text"])
    )
