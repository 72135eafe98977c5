"""Tests that after a document change each manifest entry applies or is reported as unused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpgen.cli.app import run
from tests.manifest.conftest import Shop

MANIFEST = """
operations:
  listBooks: {name: find_books, result: {max_items: 3}}
  getOrder: {name: track_order, poll: {until: status, values: [shipped]}}
"""


def change(shop: Shop, old: str, new: str) -> None:
    document = shop.folder / "openapi.yaml"
    text = document.read_text()
    assert old in text
    document.write_text(text.replace(old, new))


def written(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.as_posix(): path.read_bytes() for path in files}


def test_entries_stay_in_effect_after_the_document_changed(shop: Shop) -> None:
    assert shop.generate(MANIFEST) == 0
    change(shop, "summary: Search the catalogue", "summary: Look through the catalogue")
    change(shop, "  /carts:\n", "  /baskets:\n")
    assert run(["generate", str(shop.folder)]) == 0
    found = shop.contract("books")["find_books"]
    assert found["shaping"]["result"]["max_items"] == 3
    assert shop.contract("orders")["track_order"]["shaping"]["poll"]["values"] == ["shipped"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("operationId: getOrder\n", "operationId: fetchOrder\n", "`getOrder` is not an operation"),
        ("        status:\n", "        state:\n", "has no `status`"),
    ],
)
def test_an_entry_without_its_target_is_reported_and_nothing_is_written(
    shop: Shop, capsys: pytest.CaptureFixture[str], old: str, new: str, told: str
) -> None:
    assert shop.generate(MANIFEST) == 0
    change(shop, old, new)
    before = written(shop.folder)
    assert run(["generate", str(shop.folder)]) == 3
    assert told in capsys.readouterr().err
    assert written(shop.folder) == before
