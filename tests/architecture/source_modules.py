"""The modules of mcpgen as text, for tests that read them instead of running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import REPOSITORY


@dataclass(frozen=True, slots=True)
class SourceModule:
    """One module: its dotted name, its file, and its syntax tree."""

    name: str
    path: Path
    tree: ast.Module
    is_package: bool

    def imported(self, *, at_import_time: bool = False) -> set[str]:
        """Give the dotted names that the module imports, `from a import b` as both `a` and `a.b`.

        With `at_import_time`, leaves out what is imported inside functions or for types alone.
        """
        nodes = _run_at_import(self.tree) if at_import_time else ast.walk(self.tree)
        names: set[str] = set()
        for node in nodes:
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = self._absolute(node)
                names.add(module)
                names.update(f"{module}.{alias.name}" for alias in node.names)
        return names

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


def modules(package: str = "mcpgen") -> list[SourceModule]:
    """Read every module of `package`, by name."""
    found = []
    for path in sorted((REPOSITORY / package.replace(".", "/")).rglob("*.py")):
        parts = path.relative_to(REPOSITORY).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found.append(SourceModule(name, path, ast.parse(path.read_bytes()), is_package))
    return found


def layer(module: str) -> str:
    """Name the layer that a dotted name lies in: "spec" for "mcpgen.openapi.source.load"."""
    if module.startswith("mcpgen.runtime.testing"):
        return "testing"  # only its former place
    return module.split(".")[1] if "." in module else ""
