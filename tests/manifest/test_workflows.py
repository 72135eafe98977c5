"""Tests of a workflow of three steps over bookshop, from the manifest to the requests sent."""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.factory.packages import find_package
from mcpgen.testing import Client, MockUpstream, Reply
from tests.support.paths import SPECS

BOOKSHOP = SPECS / "bookshop.yaml"
IN_THE_MANIFEST = """
workflows:
  buy_book:
    title: Buy a book
    description: Find a book by words, put it into a new cart, and order it.
    inputs:
      type: object
      required: [words, reference, idempotency_key]
      properties:
        words: {type: string, minLength: 2}
        copies: {type: integer, minimum: 1, default: 1}
        reference: {type: string}
        idempotency_key: {type: string, format: uuid}
    steps:
      - id: find
        operation: listBooks
        arguments: {q: $inputs.words, page_size: 1}
        outputs: {isbn: "$response.body#/items/0/isbn"}
      - id: fill
        operation: openCart
        arguments: {items: [{isbn: $steps.find.outputs.isbn, quantity: $inputs.copies}]}
        outputs: {cart: $response.body#/id}
      - id: order
        operation: POST /orders
        arguments:
          idempotency_key: $inputs.idempotency_key
          body:
            cartId: $steps.fill.outputs.cart
            payment: {method: invoice, reference: $inputs.reference}
        outputs: {id: $response.body#/id}
    output: {order: $steps.order.outputs.id}
"""
IN_ARAZZO = """\
arazzo: 1.0.1
info: {title: Shopping, version: 1.0.0}
sourceDescriptions: [{name: shop, url: openapi.yaml, type: openapi}]
workflows:
  - workflowId: buyBook
    summary: Buy a book
    description: Find a book by words, put it into a new cart, and order it.
    inputs:
      type: object
      required: [words, reference, idempotency_key]
      properties:
        words: {type: string, minLength: 2}
        copies: {type: integer, minimum: 1, default: 1}
        reference: {type: string}
        idempotency_key: {type: string, format: uuid}
    steps:
      - stepId: find
        operationId: listBooks
        parameters:
          - {name: q, in: query, value: $inputs.words}
          - {name: pageSize, in: query, value: 1}
        successCriteria: [{condition: $statusCode == 200}]
        outputs: {isbn: $response.body#/items/0/isbn}
      - stepId: fill
        operationPath: '{$sourceDescriptions.shop.url}#/paths/~1carts/post'
        requestBody:
          payload: {items: [{isbn: "", quantity: $inputs.copies}]}
          replacements: [{target: /items/0/isbn, value: $steps.find.outputs.isbn}]
        outputs: {cart: $response.body#/id}
      - stepId: order
        operationId: $sourceDescriptions.shop.placeOrder
        parameters:
          - {name: Idempotency-Key, in: header, value: $inputs.idempotency_key}
        requestBody:
          payload:
            cartId: $steps.fill.outputs.cart
            payment: {method: invoice, reference: $inputs.reference}
        outputs: {id: $response.body#/id}
    outputs: {order: $steps.order.outputs.id}
"""
ARGUMENTS = {
    "words": "sea & salt",
    "copies": 3,
    "reference": "PO-7",
    "idempotency_key": "5d7f0a92-1d34-4c58-9a0b-3e8f9a6b7c11",
}
CART = "3a51c6d2-77aa-4d0f-9be1-5b0c6a1e2f33"
OTHER_CART = "00000000-77aa-4d0f-9be1-5b0c6a1e2f33"


def shop(folder: Path, manifest: str) -> Path:
    """Make the server as its owner would, with additions to its manifest."""
    project = folder / "bookshop-mcp"
    assert run(["new", str(BOOKSHOP), str(project), "--name", "bookshop", "--defaults", "-q"]) == 0
    with (project / "mcpgen.yaml").open("a") as file:
        file.write(manifest)
    return project


@pytest.fixture(scope="module", params=["manifest", "arazzo"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the server with the workflow, written in the manifest or in Arazzo."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "manifest":
        made = shop(folder, IN_THE_MANIFEST)
    else:
        made = shop(folder, "workflows:\n  buy_book: {arazzo: shopping.arazzo.yaml}\n")
        (made / "shopping.arazzo.yaml").write_text(IN_ARAZZO)
    assert run(["generate", str(made), "-q"]) == 0
    return made


class Talk:
    """Calls of the server over stdio, and the requests that its API received."""

    def __init__(self, project: Path) -> None:
        self.package = find_package(project)
        self.upstream = MockUpstream(self.package.upstream())

    def call(self, arguments: dict[str, Any], **how: Any) -> dict[str, Any]:
        async def talk() -> dict[str, Any]:
            base_url = await self.upstream.start()
            environment = self.package.environment(self.package.mock_environment(base_url))
            try:
                async with await Client.over_stdio(
                    self.package.command, environment, **how
                ) as client:
                    self.listed = {tool["name"]: tool for tool in await client.list_tools()}
                    return await client.call_tool("buy_book", arguments)
            finally:
                await self.upstream.stop()

        return asyncio.run(asyncio.wait_for(talk(), 60))

    @property
    def sent(self) -> list[str]:
        return [request.operation for request in self.upstream.requests]


def test_a_workflow_sends_three_requests_in_order(project: Path) -> None:
    talk = Talk(project)
    result = talk.call(ARGUMENTS)
    assert result["structuredContent"] == {"order": 20250042}
    assert talk.sent == ["GET /books", "POST /carts", "POST /orders"]
    find, fill, order = talk.upstream.requests
    assert not [problem for sent in talk.upstream.requests for problem in sent.problems]
    assert find.url.endswith("/books?q=sea%20%26%20salt&pageSize=1")
    assert json.loads(fill.body) == {"items": [{"isbn": "9780000000019", "quantity": 3}]}
    assert ("Idempotency-Key", ARGUMENTS["idempotency_key"]) in order.headers
    assert json.loads(order.body) == {
        "cartId": CART,
        "payment": {"method": "invoice", "reference": "PO-7"},
    }


def test_the_workflow_tool_has_annotations_derived_from_its_steps(project: Path) -> None:
    talk = Talk(project)
    talk.call(ARGUMENTS)
    tool = talk.listed["buy_book"]
    assert tool["title"] == "Buy a book"
    assert tool["inputSchema"]["required"] == ["words", "reference", "idempotency_key"]
    assert tool["inputSchema"]["additionalProperties"] is False
    assert tool["outputSchema"]["properties"]["order"]["type"] == ["integer", "null"]
    assert tool["annotations"]["readOnlyHint"] is False
    assert tool["annotations"]["idempotentHint"] is False
    assert tool["annotations"]["destructiveHint"] is True


def test_a_failure_lists_the_steps_that_took_effect(project: Path) -> None:
    talk = Talk(project)
    talk.upstream.reply_with(Reply(status=402), "POST /orders")
    result = talk.call(ARGUMENTS)
    assert result["isError"]
    text = result["content"][0]["text"]
    failed, took_effect, find, fill = text.splitlines()
    assert failed.startswith("The step `order` failed: `POST /orders` answered 402")
    assert took_effect == "These steps took effect:"
    assert find.startswith("- `find` (`GET /books`) gave {")
    assert "9780000000019" in find
    assert fill.startswith("- `fill` (`POST /carts`) gave {")
    assert CART in fill


def test_a_failure_lists_the_steps_that_were_not_started(project: Path) -> None:
    talk = Talk(project)
    talk.upstream.reply_with(Reply(status=404), "GET /books")
    text = talk.call(ARGUMENTS)["content"][0]["text"]
    assert talk.sent == ["GET /books"]
    assert "No step took effect before it." in text
    assert text.endswith("Not begun: `fill`, `order`.")


def test_arguments_are_checked_before_anything_is_sent(project: Path) -> None:
    talk = Talk(project)
    result = talk.call({**ARGUMENTS, "words": "x"})
    assert result["isError"]
    assert "/words" in result["content"][0]["text"]
    assert talk.sent == []


def test_an_override_of_an_operation_is_used_by_its_step(project: Path) -> None:
    with overridden(
        project,
        '@override("POST /carts")\n'
        "async def open_cart(ctx, call_next, *, body=None):\n"
        f'    return {{"id": "{OTHER_CART}"}}\n',
    ):
        talk = Talk(project)
        assert not talk.call(ARGUMENTS).get("isError")
    assert talk.sent == ["GET /books", "POST /orders"]
    assert json.loads(talk.upstream.requests[1].body)["cartId"] == OTHER_CART


def test_a_workflow_is_overridden_by_its_key(project: Path) -> None:
    with overridden(
        project,
        '@override("workflow:buy_book")\n'
        "async def buy_book(\n"
        "    ctx, call_next, *, words, reference, idempotency_key, copies\n"
        "):\n"
        '    cart = await ctx.call_tool("get_cart", {"cart_id": words})\n'
        '    return {"order": len(cart["items"])}\n',
    ):
        talk = Talk(project)
        result = talk.call({**ARGUMENTS, "words": CART})
    assert result["structuredContent"] == {"order": 0}
    assert talk.sent == ["GET /carts/{cartId}"]


@contextmanager
def overridden(project: Path, source: str) -> Iterator[None]:
    """Write a module of `handlers/`, and remove it at the end of the block."""
    module = project / "src/bookshop_mcp/handlers/shopping.py"
    module.write_text(f"from mcpgen.runtime import override\n\n\n{source}")
    try:
        yield
    finally:
        module.unlink()


def test_mcpgen_override_starts_a_typed_override_of_a_workflow(project: Path) -> None:
    module = project / "src/bookshop_mcp/handlers/workflows.py"
    try:
        assert run(["override", "buy_book", str(project)]) == 0
        text = module.read_text()
        assert '@override("workflow:buy_book")' in text
        assert "call_next: WorkflowBuyBookCall" in text
        assert "-> BuyBookResult:" in text
        module.write_text(text.replace("return await call_next(", "await call_next(") + _ANSWER)
        talk = Talk(project)
        result = talk.call(ARGUMENTS)
        assert run(["check", str(project)]) == 0
    finally:
        module.unlink()
        assert run(["generate", str(project)]) == 0
    assert talk.sent == ["GET /books", "POST /carts", "POST /orders"]
    assert result["structuredContent"] == {"order": 7}


_ANSWER = "    return BuyBookResult(order=7)\n"


def test_eject_copies_the_steps_of_a_workflow_into_a_handler(project: Path) -> None:
    module = project / "src/bookshop_mcp/handlers/workflows.py"
    try:
        assert run(["eject", "workflow:buy_book", str(project)]) == 0
        text = module.read_text()
        assert 'flow = Workflow(ctx, "find", "fill", "order")' in text
        talk = Talk(project)
        result = talk.call(ARGUMENTS)
        assert run(["check", str(project)]) == 0
    finally:
        module.unlink()
        assert run(["generate", str(project)]) == 0
    assert not result.get("isError")
    assert talk.sent == ["GET /books", "POST /carts", "POST /orders"]


@pytest.mark.parametrize(
    ("media_type", "kind"), [("application/xml", str), ("application/jsonl", list)]
)
def test_what_is_not_one_json_value_is_an_output_in_the_generated_tests(
    tmp_path: Path, media_type: str, kind: type
) -> None:
    manifest = f"""
server: {{name: notes}}
sources: []
tools:
  read_note:
    method: GET
    url: https://notes.example/latest
    description: Read the latest note of the team.
    media_type: {media_type}
workflows:
  quote_note:
    description: Quote the latest note of the team.
    steps:
      - {{id: read, operation: read_note, outputs: {{note: $response.body}}}}
    output: {{note: $steps.read.outputs.note}}
"""
    project = tmp_path / "notes-mcp"
    (tmp_path / "mcpgen.yaml").write_text(manifest)
    assert run(["new", str(tmp_path / "mcpgen.yaml"), str(project), "--defaults", "-q"]) == 0
    [case] = json.loads((project / "tests/generated/workflows.json").read_text())
    assert isinstance(case["result"]["note"], kind)
    assert run(["test", str(project), "-q"]) == 0


def test_inputs_in_the_generated_tests_fit_the_members_of_a_body_that_they_become(
    tmp_path: Path,
) -> None:
    member = {"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]{3}$"}}}
    photo = {"type": "object", "properties": {"image": {"type": "string", "format": "binary"}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Album", "version": "1"},
        "servers": [{"url": "https://album.example"}],
        "paths": {
            path: {
                "post": {
                    "operationId": name,
                    "requestBody": {"content": {media_type: {"schema": schema}}},
                    "responses": {"204": {"description": "Done."}},
                }
            }
            for path, name, media_type, schema in (
                ("/photos", "addPhoto", "multipart/form-data", photo),
                (
                    "/shelves",
                    "addShelf",
                    "application/json",
                    {"type": "object", "properties": {"place": member}},
                ),
            )
        },
    }
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    project = tmp_path / "album-mcp"
    assert run(["new", str(tmp_path / "openapi.json"), str(project), "--defaults", "-q"]) == 0
    with (project / "mcpgen.yaml").open("a") as manifest:
        manifest.write("""
workflows:
  add_both:
    description: Add a photo and a shelf for it.
    inputs:
      type: object
      required: [image, code]
      properties: {image: {type: string}, code: {type: string}}
    steps:
      - {id: photo, operation: addPhoto, arguments: {image: $inputs.image}}
      - {id: shelf, operation: addShelf, arguments: {place: {code: $inputs.code}}}
    output: {done: true}
""")
    assert run(["generate", str(project), "-q"]) == 0
    [case] = json.loads((project / "tests/generated/workflows.json").read_text())
    assert re.fullmatch("[A-Z]{3}", case["arguments"]["code"])
    assert b64decode(case["arguments"]["image"], validate=True)
    assert run(["test", str(project), "-q"]) == 0
