"""Insertion of an override into a module of `handlers/`; the other text stays as it is."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from mcpgen.emit.format import format_files
from mcpgen.ir.file_set import Owner, PlannedFile
from mcpgen.text.prose import text_lines


def names_in(content: bytes | None) -> frozenset[str]:
    """Return the names that a module binds at its top level.

    Raises:
        SyntaxError: it is not valid Python.
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
    """Return the module at `path` with a function added at its end, and its imports at the top.

    `content` is None if the module does not exist; a new one begins with `docstring`. All existing
    text stays; a module that was formatted stays formatted.

    Raises:
        SyntaxError: `content` is not valid Python.
        UnicodeDecodeError: it is not UTF-8.
    """
    if content is None:
        begun = f'"""{docstring}"""\n\n{_import_lines(imports, frozenset())}\n\n{text}'
        return _format(PlannedFile(path, begun.encode(), Owner.OWNED))
    before = content.decode()
    newline = "\r\n" if "\r\n" in before else "\n"
    lines = text_lines(before)
    needed = _import_lines(imports, names_in(content)).replace("\n", newline)
    last = _last_line_of_head(ast.parse(content), lines)
    head, rest = "".join(lines[:last]), "".join(lines[last:])
    gap = "" if not needed or not head or head.endswith(("\r", "\n")) else newline
    added = f"\n\n\n{text}".replace("\n", newline)
    joined = f"{head}{gap}{needed}{rest}".rstrip("\r\n") + added
    file = PlannedFile(path, joined.encode(), Owner.OWNED)
    was = PlannedFile(path, content, Owner.OWNED)
    return _format(file) if _format(was) == was else file


def _format(file: PlannedFile) -> PlannedFile:
    (formatted,) = format_files((file,), sort_imports=True)
    return formatted


def _import_lines(imports: Mapping[str, str], bound: frozenset[str]) -> str:
    return "".join(
        f"from {module} import {name}\n" if module else f"import {name}\n"
        for name, module in imports.items()
        if name not in bound
    )


def _last_line_of_head(tree: ast.Module, lines: Sequence[str]) -> int:
    """Count the lines up to the end of the first imports, else of the docstring, else of comments.

    The first comments may state how to run the file, or its encoding.
    """
    last = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    for node in tree.body:
        is_docstring = node is tree.body[0] and ast.get_docstring(tree) is not None
        if not isinstance(node, ast.Import | ast.ImportFrom) and not is_docstring:
            break
        last = node.end_lineno or last
    return last
