"""Comparison of Python modules by their syntax, ignoring texts."""

from __future__ import annotations

import ast


def without_constants(source: bytes) -> str:
    """Dump the syntax tree of a module without docstrings and values of constants."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.AsyncFunctionDef | ast.FunctionDef):
            node.body = [it for it in node.body if not is_text(it)]
        if isinstance(node, ast.Constant):
            node.value = type(node.value).__name__
    return ast.dump(tree)


def is_text(statement: ast.stmt) -> bool:
    """Return whether a statement is a docstring of a function, class, module or key."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
