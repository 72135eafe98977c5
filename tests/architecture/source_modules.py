"""Source of the mcpgen modules, for tests that read modules instead of importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.paths import REPOSITORY


@dataclass(frozen=True, slots=True)
class SourceModule:
    """One module: its dotted name and its file.

    Its syntax tree is not stored: those of all modules take 200 MB.
    """

    name: str
    path: Path
    is_package: bool

    def parse(self) -> ast.Module:
        """Return the syntax tree of the module."""
        return ast.parse(self.path.read_bytes())

    @cache  # noqa: B019  (a module is one of those that `modules` returns, which live as long)
    def imported(self, *, at_import_time: bool = False) -> frozenset[str]:
        """Return the names that the module imports, `from a import b` as both `a` and `a.b`.

        With `at_import_time`, leaves out what is imported inside functions or for types alone.
        """
        tree = self.parse()
        nodes = _run_at_import(tree) if at_import_time else ast.walk(tree)
        names: set[str] = set()
        for node in nodes:
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = self._absolute(node)
                names.add(module)
                names.update(f"{module}.{alias.name}" for alias in node.names)
        return frozenset(names)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        depth = node.level - (1 if self.is_package else 0)
        base = self.name.split(".")[: len(self.name.split(".")) - depth]
        return ".".join([*base, *([node.module] if node.module else [])])


def _run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield child
        yield from _run_at_import(child)


@cache
def modules(package: str = "mcpgen") -> tuple[SourceModule, ...]:
    """Find all modules of `package`, by name."""
    found = []
    for path in sorted((REPOSITORY / package.replace(".", "/")).rglob("*.py")):
        parts = path.relative_to(REPOSITORY).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found.append(SourceModule(name, path, is_package))
    return tuple(found)


def layer(module: str) -> str:
    """Return the layer of a dotted name: "openapi" for "mcpgen.openapi.source.load"."""
    if module.startswith("mcpgen.runtime.testing"):
        return "testing"  # its former location
    return module.split(".")[1] if "." in module else ""
