"""Tests of the owner of each file of a project, by its path."""

from __future__ import annotations

import pytest

from mcpgen.ir.file_set import Owner, owner_of
from mcpgen.text.identifiers import Identifier


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("openapi.yaml", Owner.GENERATED),
        ("openapi.json", Owner.GENERATED),
        ("openapi/schemas/pet.yaml", Owner.GENERATED),
        ("mcpgen.lock", Owner.GENERATED),
        (".copier-answers.yml", Owner.GENERATED),
        (".mcpgen/base.json", Owner.GENERATED),
        ("src/petstore_mcp/_generated/tools/pets.py", Owner.GENERATED),
        ("tests/generated/test_tools.py", Owner.GENERATED),
        ("vendor/mcpgen-0.6.0-py3-none-any.whl", Owner.GENERATED),
        ("src/petstore_mcp/__init__.py", Owner.MERGED),
        ("src/petstore_mcp/__main__.py", Owner.MERGED),
        ("pyproject.toml", Owner.MERGED),
        ("README.md", Owner.MERGED),
        ("server.json", Owner.MERGED),
        ("mcpgen.yaml", Owner.OWNED),
        ("src/petstore_mcp/handlers/pets.py", Owner.OWNED),
        ("tests/test_custom.py", Owner.OWNED),
        ("overlays/fix.yaml", Owner.OWNED),
    ],
)
def test_owner_of_returns_the_owner_of_each_path(path: str, owner: Owner) -> None:
    assert owner_of(path, Identifier("petstore_mcp")) is owner
