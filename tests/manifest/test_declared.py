"""Tests of resources and prompts of the manifest, and of operations exposed as such."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpgen.testing import LEGACY, MODERN
from mcpgen.testing.client.client import RpcError
from tests.manifest.conftest import Shop

MANIFEST = """
operations:
  getCategoryTree: {expose: resource}
  getBook: {expose: template}
  listBooks: {expose: prompt}
resources:
  hours: {uri: "shop://hours", text: "Nine to five.", description: When the shop is open.}
  terms: {uri: "shop://terms", file: src/bookshop_mcp/terms.md}
  stock: {uri: "shop://stock/{isbn}", operation: getStock}
prompts:
  recommend:
    title: Recommend a book
    description: Finds a book for somebody.
    arguments:
      mood: {description: How they feel., required: true, values: [calm, curious, Cross]}
      length: {}
    messages:
      - {text: "Find a {mood} book{length}. Write {{mood}} for the braces."}
      - {role: assistant, text: "Gladly."}
"""
ISBN = "9780000000019"


@pytest.fixture
def served(shop: Shop) -> Shop:
    (shop.folder / "src/bookshop_mcp/terms.md").write_text("No refunds.")
    assert shop.generate(MANIFEST) == 0
    return shop


def without_skills(listed: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the resources that do not belong to skills."""
    return [it for it in listed["resources"] if not it["uri"].startswith("skill://")]


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_features_are_listed_and_exposed_operations_are_not_tools(
    served: Shop, revision: str
) -> None:
    (tools, resources, templates, prompts), _, _ = served.talk(
        ("tools/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("prompts/list", {}),
        revision=revision,
    )
    names = {tool["name"] for tool in tools["tools"]}
    assert "get_stock" in names
    assert not names & {"get_category_tree", "get_book", "list_books"}
    found = {item["uri"]: item["mimeType"] for item in without_skills(resources)}
    assert found == {
        "bookshop://categories": "application/json",
        "shop://hours": "text/plain",
        "shop://terms": "text/markdown",
    }
    assert [item["uriTemplate"] for item in templates["resourceTemplates"]] == [
        "bookshop://books/{isbn}",
        "shop://stock/{isbn}",
    ]
    listed = {item["name"]: item for item in prompts["prompts"]}
    assert [item["name"] for item in listed["recommend"]["arguments"]] == ["mood", "length"]
    assert listed["recommend"]["arguments"][0]["required"]
    assert "q" in [item["name"] for item in listed["list_books"]["arguments"]]


def read(uri: str) -> tuple[str, dict[str, Any]]:
    return ("resources/read", {"uri": uri})


def test_reading_a_resource_sends_the_request_of_its_operation(served: Shop) -> None:
    results, mock, _ = served.talk(
        read("shop://hours"),
        read("shop://terms"),
        read(f"bookshop://books/{ISBN}"),
        read(f"shop://stock/{ISBN}"),
        read("bookshop://categories"),
    )
    contents = [result["contents"][0] for result in results]
    assert [item.get("text") for item in contents[:2]] == ["Nine to five.", "No refunds."]
    assert [f"{sent.method} {sent.url.partition('.example')[2]}" for sent in mock.requests] == [
        f"GET /books/{ISBN}",
        f"GET /inventory/{ISBN}",
        "GET /categories",
    ]
    assert not [sent.problems for sent in mock.requests if sent.problems]
    for item, sent in zip(contents[2:], mock.requests, strict=True):
        assert item["mimeType"] == "application/json"
        assert json.loads(item["text"]) == json.loads(sent.response.body)


def test_missing_resources_and_failed_requests_are_errors(served: Shop) -> None:
    served.replies = [{"status": 404}]
    with pytest.raises(RpcError, match="no resource is at bookshop://books"):
        served.talk(read(f"bookshop://books/{ISBN}"))
    served.replies = [{"status": 400}]
    with pytest.raises(RpcError, match="answered 400"):
        served.talk(read(f"bookshop://books/{ISBN}"))
    with pytest.raises(RpcError, match="arguments of `get_stock`"):
        served.talk(read("shop://stock/none"))
    with pytest.raises(RpcError, match="unknown tool 'get_book'"):
        served.talk(("tools/call", {"name": "get_book", "arguments": {"isbn": ISBN}}))


def test_prompts_are_rendered_or_requested_from_the_api(served: Shop) -> None:
    arguments = {"mood": "calm"}
    (written, asked), mock, _ = served.talk(
        ("prompts/get", {"name": "recommend", "arguments": arguments}),
        ("prompts/get", {"name": "list_books", "arguments": {"q": "sea", "page_size": "5"}}),
    )
    assert [(it["role"], it["content"]["text"]) for it in written["messages"]] == [
        ("user", "Find a calm book. Write {mood} for the braces."),
        ("assistant", "Gladly."),
    ]
    (sent,) = mock.requests
    assert "q=sea&pageSize=5" in sent.url
    (message,) = asked["messages"]
    assert json.loads(message["content"]["text"]) == json.loads(sent.response.body)


def test_prompt_arguments_are_completed_from_their_enum_values(served: Shop) -> None:
    def complete(name: str, argument: str, typed: str) -> tuple[str, dict[str, Any]]:
        reference = {"type": "ref/prompt", "name": name}
        named = {"name": argument, "value": typed}
        return ("completion/complete", {"ref": reference, "argument": named})

    results, _, _ = served.talk(
        complete("recommend", "mood", "c"),
        complete("recommend", "mood", "cR"),
        complete("recommend", "length", ""),
        complete("list_books", "sort", "new"),
    )
    assert [result["completion"]["values"] for result in results] == [
        ["calm", "curious", "Cross"],
        ["Cross"],
        [],
        ["newest"],
    ]


def test_declared_features_are_listed_together_with_handler_features(served: Shop) -> None:
    (served.folder / "src/bookshop_mcp/handlers/more.py").write_text(
        "from mcpgen.runtime import Context, Features\n"
        "features = Features()\n"
        "@features.resource('shop://news')\n"
        "def news(ctx: Context) -> str:\n"
        '    """What is new."""\n'
        "    return 'Nothing.'\n"
        "@features.completion(prompt='recommend', argument='length')\n"
        "def lengths(ctx: Context, value: str, arguments: dict[str, str]) -> list[str]:\n"
        "    return [f'{value}ort']\n"
    )
    completion = {
        "ref": {"type": "ref/prompt", "name": "recommend"},
        "argument": {"name": "length", "value": "sh"},
    }
    (resources, news, prompts, completed), _, _ = served.talk(
        ("resources/list", {}),
        read("shop://news"),
        ("prompts/list", {}),
        ("completion/complete", completion),
    )
    assert completed["completion"]["values"] == ["short"]
    assert [item["uri"] for item in without_skills(resources)][-1] == "shop://news"
    assert len(without_skills(resources)) == 4
    assert news["contents"][0]["text"] == "Nothing."
    assert len(prompts["prompts"]) == 2


def test_the_generated_suite_covers_exposed_operations(served: Shop) -> None:
    assert served.run_suite() == ""


SERVER = """
  icons: [{src: "https://shop.example/icon.png", mimeType: image/png, sizes: [48x48]}]
  revisions: ["2025-06-18", "2025-11-25"]
  instructions: Ask before you buy.
"""


def test_the_server_declares_its_icons_and_protocol_revisions(shop: Shop) -> None:
    head = (
        "server:\n  name: bookshop"
        + SERVER
        + "sources: [{document: openapi.yaml}]\nmodels: false\n"
    )
    assert shop.generate("", head=head) == 0
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {}}
    for asked, answered in (("2025-03-26", "2025-11-25"), ("2025-06-18", "2025-06-18")):
        (about,), _, _ = shop.talk(
            ("initialize", {**hello, "protocolVersion": asked}), revision="2025-11-25"
        )
        assert about["protocolVersion"] == answered
        has_icons = answered >= "2025-11-25"
        assert ("icons" in about["serverInfo"]) is has_icons
        assert about["instructions"] == "Ask before you buy."
    with pytest.raises(RpcError):
        shop.talk(("server/discover", {}), revision=MODERN)
    assert shop.run_suite() == ""
