"""Tests that the form of a published listing stays until the owner of the server changes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.ir.file_set import LOCK_FILE, MANIFEST_FILE

SCHEMA = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://shop.example"}],
    "paths": {
        "/pets": {
            "post": {
                "operationId": "addPet",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": SCHEMA}},
                },
                "responses": {"204": {"description": "done"}},
            }
        }
    },
}


class Shop:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shop-mcp"
        document = folder / "openapi.json"
        document.write_text(json.dumps(DOCUMENT))
        made = ["new", str(document), str(self.folder), "--defaults", "--no-models", "-q"]
        assert run(made) == 0

    @property
    def arguments(self) -> list[str]:
        (listing,) = self.folder.glob("src/*/_generated/listing.json")
        return [*json.loads(listing.read_bytes())[0]["inputSchema"]["properties"]]

    @property
    def lock(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / LOCK_FILE).read_bytes())
        return found

    def forget_form(self) -> None:
        """Write the lock of an earlier version, which recorded no form."""
        lock = {key: value for key, value in self.lock.items() if key != "listing"}
        (self.folder / LOCK_FILE).write_text(json.dumps(lock))

    def generate(self, manifest: str = "") -> None:
        path = self.folder / MANIFEST_FILE
        lines = [it for it in path.read_text().splitlines() if not it.startswith("arguments:")]
        path.write_text("\n".join([*lines, manifest]) + "\n")
        assert run(["generate", str(self.folder), "-q"]) == 0
        assert run(["check", str(self.folder), "-q"]) == 0


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_a_new_server_records_its_form_and_keeps_it(shop: Shop) -> None:
    assert shop.arguments == ["name"]
    assert shop.lock["listing"] == {
        "arguments": "flat", "output_budget": 1000, "shares_shapes": True,
    }  # fmt: skip
    shop.generate()
    assert shop.arguments == ["name"]


def test_a_lock_without_a_form_is_nested_until_the_manifest_says_otherwise(shop: Shop) -> None:
    shop.forget_form()
    shop.generate()
    assert shop.arguments == ["body"]
    assert "listing" not in shop.lock

    shop.generate("arguments: flat")
    assert shop.arguments == ["name"]
    assert shop.lock["listing"] == {"arguments": "flat"}

    shop.generate()
    assert shop.arguments == ["name"]

    shop.generate("arguments: nested")
    assert shop.arguments == ["body"]


def test_the_form_survives_the_loss_of_the_lock(shop: Shop) -> None:
    (shop.folder / LOCK_FILE).unlink()
    shop.generate()
    assert shop.arguments == ["name"]

    shop.generate("arguments: nested")
    (shop.folder / LOCK_FILE).unlink()
    shop.generate()
    assert shop.arguments == ["body"]


def test_the_change_is_major_and_explained(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    (listing,) = shop.folder.glob("src/*/_generated/listing.json")
    capsys.readouterr()
    path = shop.folder / MANIFEST_FILE
    path.write_text(path.read_text() + "arguments: nested\n")

    assert run(["generate", str(shop.folder)]) == 0

    assert "major  add_pet: the members of the body are inside of `body` now" in (
        capsys.readouterr().out
    )
    assert run(["tools", str(shop.folder), "--explain", "add_pet", "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)
    assert '"nested"' in json.dumps(settings)
    assert "body" in json.loads(listing.read_bytes())[0]["inputSchema"]["properties"]
