"""Tests of `authorization` in mcpgen.yaml: which scopes tools require of their callers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.handlers.context import Context
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.versions import REVISION_2025_11_25
from mcpgen.runtime.startup.authorization import make_authorization
from mcpgen.runtime.tools.results import ToolOutcome
from tests.manifest.conftest import Shop
from tests.support.issuer import Issuer

MANIFEST = """
authorization:
  scopes:
    effect:read: [shop:read]
    effect:write: [shop:write]
    tag:customers: [people]
    getBook: []
    "GET /books": [books, shop:read]
    placeOrder: [orders]
  includes:
    shop:write: [shop:read]
operations:
  getAuthor: {expose: template}
workflows:
  look_around:
    steps:
      - {id: books, operation: listBooks}
      - {id: tree, operation: getCategoryTree, outputs: {all: $response.body}}
    output: $steps.tree.outputs.all
"""


def read_authorization(shop: Shop) -> dict[str, Any]:
    path = shop.folder / "src/bookshop_mcp/_generated/contract.json"
    found: dict[str, Any] = json.loads(path.read_bytes()).get("authorization", {})
    return found


def test_the_closest_entry_decides(shop: Shop) -> None:
    assert shop.generate(MANIFEST) == 0
    found = read_authorization(shop)
    scopes = found["scopes"]
    assert "get_book" not in scopes
    assert scopes["list_books"] == ["books", "shop:read"]
    assert scopes["list_authors"] == ["shop:read"]
    assert scopes["add_book"] == ["shop:write"]
    assert scopes["get_customer"] == ["people"]
    assert scopes["place_order"] == ["orders"]
    assert scopes["look_around"] == ["books", "shop:read"]
    assert found["includes"] == {"shop:write": ["shop:read"]}


def test_without_scopes_the_contract_is_unchanged(shop: Shop) -> None:
    path = shop.folder / "src/bookshop_mcp/_generated/contract.json"
    assert shop.generate("") == 0
    before = path.read_bytes()
    assert shop.generate("authorization: {includes: {a: [b]}}\n") == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("getBok: [a]", "did you mean `getBook`"),
        ("tag:bookz: [a]", "did you mean `tag:books`"),
        ("effect:reed: [a]", "did you mean `effect:read`"),
        ("getBook: [a b]", "a b"),
        ("getBook: ['a\"']", "it must match"),
    ],
)
def test_an_entry_without_effect_is_an_error(
    shop: Shop, capsys: pytest.CaptureFixture[str], entry: str, message: str
) -> None:
    assert shop.generate(f"authorization: {{scopes: {{{entry}}}}}\n") != 0
    assert message in capsys.readouterr().err


def find_missing(package: ServerPackage, method: str, **params: Any) -> list[str]:
    """Return the scopes that a message lacks if its caller has none."""
    environ = {"BOOKSHOP_AUTH_ISSUER": Issuer().identifier.replace(":0", ":9")}
    authorization = make_authorization(package.contract, environ, declared=package.declared)
    assert authorization is not None
    message = {"method": method, "params": params}
    return sorted(authorization._scopes.find_missing(message, frozenset()))


def test_resources_that_operations_return_need_their_scopes(shop: Shop) -> None:
    assert shop.generate(MANIFEST) == 0
    package = ServerPackage.load("bookshop_mcp")
    (template,) = package.declared.templates if package.declared else ()
    uri = template.partition("{")[0] + "7"
    assert find_missing(package, "resources/read", uri=uri) == ["shop:read"]
    assert find_missing(package, "resources/read", uri="other://7") == []
    assert find_missing(package, "tools/call", name="add_book") == ["shop:write"]
    assert find_missing(package, "prompts/get", name="add_book") == []
    assert find_missing(package, "tools/call", name=["add_book"]) == []


def test_a_tool_that_another_one_calls_needs_its_scopes_too(shop: Shop) -> None:
    """The transport checks the called tool only, but code in `handlers/` may call any tool."""
    assert shop.generate(MANIFEST) == 0
    registry = ServerPackage.load("bookshop_mcp").load_hot(
        {"BOOKSHOP_BASE_URL": "http://127.0.0.1:9", "BOOKSHOP_BEARER_AUTH_TOKEN": "t"}
    )

    def run(*scopes: str, principal: str = "p") -> ToolOutcome:
        protocol = ServerProtocol(ServerDefinition({"name": "x", "version": "1"}))
        request = Request(
            protocol,
            REVISION_2025_11_25,
            1,
            "tools/call",
            {},
            None,
            Access(principal, frozenset(scopes)),
        )
        context = Context(request, None, lambda: None)  # type: ignore[arg-type]  # nothing is sent

        async def call() -> ToolOutcome:
            try:
                return await registry.run("get_category_tree", {}, context)
            finally:
                await registry.aclose()

        return asyncio.run(call())

    with pytest.raises(Exception, match="was not sent: the access token lacks the scope `shop:r"):
        run("other")
    for scopes, principal in ((("shop:write",), "p"), ((), "")):
        with pytest.raises(Exception, match=r"connect|refused|configured|credential"):
            run(*scopes, principal=principal)
