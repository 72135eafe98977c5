"""Tests of actions and `retry` in an Arazzo document, down to the requests that the shop gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.manifest.conftest import Shop

ISBN = "9780000000019"
ARAZZO = """\
arazzo: 1.0.1
info: {title: Shopping, version: 1.0.0}
sourceDescriptions: [{name: shop, url: openapi.yaml, type: openapi}]
workflows:
  - workflowId: lookUp
    description: Look a book up, and what is in stock of it.
    inputs: {$ref: '#/components/inputs/book'}
    parameters: [{reference: $components.parameters.book}]
    failureActions: [{reference: $components.failureActions.busy}]
    steps:
      - stepId: book
        operationId: getBook
        onSuccess:
          - name: paper
            type: goto
            stepId: stock
            criteria: [{condition: $response.body#/format == 'paperback'}]
          - name: sound
            type: end
            criteria: [{condition: $response.body#/format == 'audiobook'}]
        onFailure:
          - name: gone
            type: goto
            stepId: stock
            criteria: [{condition: $response.body#/code == 'sold_out'}]
        outputs: {title: $response.body#/title}
      - stepId: again
        operationId: getBook
      - stepId: stock
        operationId: getStock
        outputs: {copies: $response.body}
    outputs: {title: $steps.book.outputs.title, stock: $steps.stock.outputs.copies}
components:
  inputs:
    book: {type: object, required: [isbn], properties: {isbn: {type: string}}}
  parameters:
    book: {name: isbn, in: path, value: $inputs.isbn}
  failureActions:
    busy: {name: busy, type: retry, retryLimit: 2, criteria: [{condition: $statusCode == 503}]}
"""
RETRIED = """
workflows:
  look_up:
    description: Look a book up.
    inputs: {type: object, required: [isbn], properties: {isbn: {type: string}}}
    steps:
      - id: book
        operation: getBook
        arguments: {isbn: $inputs.isbn}
        retry: {limit: 2, after_seconds: 0, when: $statusCode == 503}
        outputs: {title: $response.body#/title}
    output: {title: $steps.book.outputs.title}
"""
BOOK, STOCK = "GET /books/{isbn}", "GET /inventory/{isbn}"


def book(**members: Any) -> dict[str, Any]:
    """Return the API response for a book."""
    return {"status": 200, "body": {"isbn": ISBN, "title": "Sea & Salt", **members}}


STOCKED = {"status": 200, "body": {"cork": 4}}
BUSY = {"status": 503, "body": {}}
COURSES: dict[str, tuple[list[dict[str, Any]], list[str], dict[str, Any]]] = {
    "nothing fits": (
        [book(format="hardcover"), book(format="hardcover"), STOCKED],
        [BOOK, BOOK, STOCK],
        {"title": "Sea & Salt", "stock": {"cork": 4}},
    ),
    "a success goes to a later step": (
        [book(format="paperback"), STOCKED],
        [BOOK, STOCK],
        {"title": "Sea & Salt", "stock": {"cork": 4}},
    ),
    "a success ends it": ([book(format="audiobook")], [BOOK], {"title": "Sea & Salt"}),
    "a failure goes to a later step": (
        [{"status": 410, "body": {"code": "sold_out", "title": "Gone"}}, STOCKED],
        [BOOK, STOCK],
        {"stock": {"cork": 4}},
    ),
    "a busy API is tried again": (
        [BUSY, BUSY, book(format="paperback"), BUSY, STOCKED],
        [BOOK, BOOK, BOOK, STOCK, STOCK],
        {"title": "Sea & Salt", "stock": {"cork": 4}},
    ),
}


@pytest.fixture
def looking(shop: Shop) -> Shop:
    (shop.folder / "shopping.arazzo.yaml").write_text(ARAZZO)
    assert shop.generate("workflows: {look_up: {arazzo: shopping.arazzo.yaml}}\n", "-q") == 0
    return shop


def test_arazzo_actions_control_the_order_of_the_steps(looking: Shop) -> None:
    for name, (replies, operations, told) in COURSES.items():
        looking.replies = list(replies)
        result, sent = looking.call("look_up", {"isbn": ISBN})
        assert [request.operation for request in sent] == operations, name
        assert all(request.decoded.path["isbn"].value == ISBN for request in sent), name
        assert result["structuredContent"] == told, name


def test_a_step_fails_after_its_last_retry(looking: Shop) -> None:
    looking.replies = [BUSY] * 9
    result, sent = looking.call("look_up", {"isbn": ISBN})
    assert [request.operation for request in sent] == [BOOK] * 3
    assert result["isError"]
    text = result["content"][0]["text"]
    assert text.startswith("The step `book` failed 3 times, at last: `GET /books/9780000000019`")
    assert text.endswith("Not begun: `again`, `stock`.")


def test_an_error_without_a_matching_action_is_not_retried(looking: Shop) -> None:
    looking.replies = [{"status": 429, "body": {}}] * 9
    result, sent = looking.call("look_up", {"isbn": ISBN})
    assert len(sent) == 1  # nor does the client do so by itself: the document decides of this step
    assert "answered 429" in result["content"][0]["text"]


def test_the_generated_tests_cover_every_path_of_the_actions(looking: Shop) -> None:
    assert looking.run_suite() == ""
    module = looking.folder / "src/bookshop_mcp/_generated/workflows.py"
    text = module.read_text()
    for right, wrong in (
        ("Retry(2", "Retry(1"),
        ("== 503", "== 500"),
        ('"stock", when', '"again", when'),
    ):
        broken = text.replace(
            right.replace("== 503", '"==", 503'), wrong.replace("== 500", '"==", 500')
        )
        assert broken != text
        module.write_text(broken)
        assert "test_workflows.py" in looking.run_suite()
    module.write_text(text)


def test_a_retry_in_the_manifest_repeats_the_step(shop: Shop) -> None:
    assert shop.generate(RETRIED, "-q") == 0
    shop.replies = [BUSY, BUSY, book()]
    result, sent = shop.call("look_up", {"isbn": ISBN})
    assert [request.operation for request in sent] == [BOOK] * 3
    assert result["structuredContent"] == {"title": "Sea & Salt"}
    assert shop.run_suite() == ""


def test_an_action_of_a_step_overrides_the_action_of_the_workflow(shop: Shop) -> None:
    away = "        onFailure: [{name: busy, type: end}]\n        outputs: {copies"
    (shop.folder / "shopping.arazzo.yaml").write_text(
        ARAZZO.replace("        outputs: {copies", away)
    )
    once = "operations: {getStock: {retry: {attempts: 1}}}\n"
    assert shop.generate(f"{once}workflows: {{look_up: {{arazzo: shopping.arazzo.yaml}}}}\n") == 0
    shop.replies = [book(format="paperback"), BUSY, STOCKED]
    result, sent = shop.call("look_up", {"isbn": ISBN})
    assert [request.operation for request in sent] == [BOOK, STOCK]
    assert result["content"][0]["text"].startswith("The step `stock` failed: `GET /inventory/")


def test_an_unconditional_retry_of_a_non_idempotent_operation_is_rejected(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = "    failureActions: [{name: again, type: retry}]\n"
    ordering = ARAZZO.replace("operationId: getStock", "operationId: openCart")
    (shop.folder / "shopping.arazzo.yaml").write_text(
        ordering.replace(
            "    failureActions: [{reference: $components.failureActions.busy}]\n", shared
        ).replace("    parameters: [{reference: $components.parameters.book}]\n", "")
    )
    before = contents(shop.folder)
    assert shop.generate("workflows: {look_up: {arazzo: shopping.arazzo.yaml}}\n") == 3
    told = capsys.readouterr().err
    assert "error[workflow-retry]: `POST /carts` must not be retried without a condition" in told
    assert "/workflows/0/failureActions/0" in told
    assert contents(shop.folder) == before


def contents(folder: Path) -> dict[Path, bytes]:
    """Return the content of the generated files."""
    return {path: path.read_bytes() for path in (folder / "src").rglob("*") if path.is_file()}
