"""Tests that names imported by generated servers and tests stay available (public_names.toml)."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.paths import EXAMPLES, REPOSITORY

PUBLIC: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("public_names.toml").read_text("utf-8")
)
_IMPORT = re.compile(r"^from mcpgen[\w.]* import (?:\([^)]*\)|.+)$", re.MULTILINE)


def imported_names(source: str) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of each import from mcpgen."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mcpgen"):
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            modules = (alias.name for alias in node.names if alias.name.startswith("mcpgen"))
            yield from ((module, "") for module in modules)


def imports_of_examples() -> set[tuple[str, str]]:
    """Return the mcpgen imports of the committed servers, their handlers and their tests."""
    files = EXAMPLES.rglob("*.py")
    return {found for file in files for found in imported_names(file.read_text("utf-8"))}


def imports_of_templates() -> set[tuple[str, str]]:
    """Return the mcpgen imports that are written out in the templates."""
    texts = (file.read_text("utf-8") for file in (REPOSITORY / "templates").rglob("*.jinja"))
    lines = [line for text in texts for line in _IMPORT.findall(text) if "{" not in line]
    return set(imported_names("\n".join(lines)))


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_can_be_imported(module: str) -> None:
    home = import_module(module)
    assert [name for name in PUBLIC[module] if not hasattr(home, name)] == []


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_match_the_exports_of_the_module(module: str) -> None:
    exported = getattr(import_module(module), "__all__", PUBLIC[module])
    assert sorted(exported) == sorted(PUBLIC[module])


@pytest.mark.parametrize("find", [imports_of_examples, imports_of_templates])
def test_generated_files_import_public_names_only(find: Callable[[], set[tuple[str, str]]]) -> None:
    found = find()
    assert len(found) > 5
    assert (
        sorted((module, name) for module, name in found if name not in PUBLIC.get(module, [])) == []
    )
