"""Putting an override into a module of `handlers/` without disturbing what is there."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mcpgen.emit.format import format_files
from mcpgen.ir.file_set import Owner, PlannedFile


def names_in(content: bytes | None) -> frozenset[str]:
    """Give the names that a module binds at its top level.

    Raises:
        SyntaxError: it is no Python.
    """
    names: set[str] = set()
    for node in ast.parse(content or b"").body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {name.asname or name.name for name in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        else:
            names |= {
                name.id
                for name in ast.walk(node)
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            }
    return frozenset(names)


def with_function(
    path: str, content: bytes | None, docstring: str, text: str, imports: Mapping[str, str]
) -> PlannedFile:
    """Give the module at `path` with a function at its end and what that imports at its top.

    `content` is None where there is none yet, which then begins with `docstring`. All text that
    was there stays; a module that was formatted stays formatted.

    Raises:
        SyntaxError: `content` is no Python.
    """
    if content is None:
        begun = f'"""{docstring}"""\n\n{_import_lines(imports, frozenset())}\n\n{text}'
        return _formatted(PlannedFile(path, begun.encode(), Owner.OWNED))
    before = content.decode()
    lines = before.splitlines(keepends=True)
    needed = _import_lines(imports, names_in(content))
    last = _last_line_of_head(ast.parse(content))
    head, rest = "".join(lines[:last]), "".join(lines[last:])
    gap = "" if not needed or not head or head.endswith("\n") else "\n"
    joined = f"{head}{gap}{needed}{rest}".rstrip("\n") + f"\n\n\n{text}"
    file = PlannedFile(path, joined.encode(), Owner.OWNED)
    was = PlannedFile(path, content, Owner.OWNED)
    return _formatted(file) if _formatted(was) == was else file


def _formatted(file: PlannedFile) -> PlannedFile:
    (formatted,) = format_files((file,))
    return formatted


def _import_lines(imports: Mapping[str, str], bound: frozenset[str]) -> str:
    return "".join(
        f"from {module} import {name}\n" if module else f"import {name}\n"
        for name, module in imports.items()
        if name not in bound
    )


def _last_line_of_head(tree: ast.Module) -> int:
    """Count the lines up to the end of the first imports, or else of the docstring."""
    last = 0
    for node in tree.body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not isinstance(node, ast.Import | ast.ImportFrom) and not (is_docstring and not last):
            break
        last = node.end_lineno or last
    return last
