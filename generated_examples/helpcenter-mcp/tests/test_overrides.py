"""Tests of overrides (translations keep images and links), resources and completions."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream
from mcpgen.testing.mock.replies import Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {
    "HELPCENTER_API_TOKEN_USERNAME": "ines@example.com",
    "HELPCENTER_API_TOKEN_PASSWORD": "token-of-the-mock",
}
GET_ARTICLE = "GET /articles/{article_id}"
TEXT = "# Pay\n\n![The checkout](checkout.png) See [prices](/prices).\n"


def talk(
    ask: Callable[[Client], Awaitable[dict[str, Any]]],
    replies: dict[str, dict[str, Any]] | None = None,
) -> tuple[dict[str, Any], MockUpstream]:
    """Ask the server in memory, with a user who accepts; return the result, and the mock API."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    for operation, body in (replies or {}).items():
        upstream.reply_with(Reply.from_json({"status": 200, "body": body}), operation)

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("helpcenter_mcp")
        async with Client.in_memory(
            package,
            SETTINGS,
            send=upstream.send,
            answers={"elicitation/create": lambda asked: {"action": "accept", "content": {}}},
        ) as client:
            return await ask(client)

    return asyncio.run(run()), upstream


def translate(text: str, locale: str = "sv") -> tuple[dict[str, Any], MockUpstream]:
    first = {"id": 4400, "title": "Pay", "text": TEXT, "state": "published", "locale": "en"}
    arguments = {"article_id": 4400, "locale": locale, "title": "Betala", "text": text}
    return talk(
        lambda client: client.call_tool("write_translation", arguments), {GET_ARTICLE: first}
    )


def test_a_translation_with_all_pictures_and_links_is_stored() -> None:
    text = "# Betala\n\nSe [priser](/prices). ![Kassan](checkout.png)\n"
    result, upstream = translate(text)
    assert not result.get("isError")
    read, written = upstream.requests
    assert "format=markdown" in read.url
    assert json.loads(written.body)["text"] == text


def test_a_translation_without_a_picture_is_refused() -> None:
    result, upstream = translate("# Betala\n\nSe [priser](/prices).\n")
    assert result["isError"] is True
    assert "lacks checkout.png; nothing was stored" in result["content"][0]["text"]
    assert [request.operation for request in upstream.requests] == [GET_ARTICLE]


def test_the_first_language_may_lose_them() -> None:
    result, upstream = translate("# Pay\n", locale="en")
    assert not result.get("isError")
    assert len(upstream.requests) == 2


def test_the_text_of_an_article_is_a_resource_in_markdown() -> None:
    uri = "helpcenter://articles/4400/text"
    result, upstream = talk(lambda client: client.request("resources/read", {"uri": uri}))
    [content] = result["contents"]
    assert content["text"].startswith("# Pay by invoice")
    headers = {name.lower(): value for name, value in upstream.requests[0].headers}
    assert headers["accept"] == "text/markdown"
    assert headers["authorization"].startswith("Basic ")


def complete(ref: dict[str, str], argument: str, value: str) -> tuple[list[str], MockUpstream]:
    sections = [{"id": 1, "name": name} for name in ("Paying back", "Payment", "How to pay")]
    articles = [{"id": number, "title": "Pay", "state": "draft"} for number in (4400, 4401)]
    params = {"ref": ref, "argument": {"name": argument, "value": value}}
    result, upstream = talk(
        lambda client: client.request("completion/complete", params),
        {
            "GET /sections": {"sections": sections},
            "POST /articles/search": {"articles": articles, "page_count": 1},
        },
    )
    return result["completion"]["values"], upstream


def test_sections_are_suggested_by_their_names() -> None:
    ref = {"type": "ref/prompt", "name": "review_section"}
    assert complete(ref, "section", "pay")[0] == ["Paying back", "Payment", "How to pay"]
    assert complete(ref, "section", "PAYM")[0] == ["Payment"]


@pytest.mark.parametrize(
    ("value", "suggested", "requests"),
    [("invoice", ["4400", "4401"], 1), ("44", ["44"], 0), ("i", [], 0)],
)
@pytest.mark.parametrize(
    "ref",
    [
        {"type": "ref/prompt", "name": "translate_article"},
        {"type": "ref/resource", "uri": "helpcenter://articles/{article_id}/text"},
    ],
)
def test_articles_are_suggested_by_words(
    ref: dict[str, str], value: str, suggested: list[str], requests: int
) -> None:
    values, upstream = complete(ref, "article_id", value)
    assert values == suggested
    assert len(upstream.requests) == requests


def test_languages_are_suggested() -> None:
    ref = {"type": "ref/prompt", "name": "answer_customer"}
    assert complete(ref, "locale", "")[0] == ["de", "en", "fr", "pt-BR", "sv"]


def test_what_adds_is_not_destructive_and_a_search_only_reads() -> None:
    async def annotations(client: Client) -> dict[str, Any]:
        return {tool["name"]: tool["annotations"] for tool in await client.list_tools()}

    hints, _ = talk(annotations)
    for added in ("vote_for_article", "add_subscriber"):
        assert hints[added]["destructiveHint"] is False
        assert hints[added]["idempotentHint"] is True
    assert hints["write_translation"]["destructiveHint"] is True
    assert hints["search_articles"]["readOnlyHint"] is True
