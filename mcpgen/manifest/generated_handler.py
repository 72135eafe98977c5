"""Extraction and restoration of generated handlers in their modules, as source text."""

from __future__ import annotations

import ast
from textwrap import dedent

from mcpgen.ir.hand_written import HandlerSource
from mcpgen.text.lines import text_lines


def read_handler(source: str, tool: str) -> HandlerSource | None:
    """Find the handler of a tool in a module; return None if there is none.

    Raises:
        SyntaxError: the module was edited and is invalid.
    """
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.AsyncFunctionDef) and _is_for(node, tool):
            return _extract(node, source, tree)
    return None


def list_classes(source: str) -> list[str]:
    """Return the names of the classes that a module defines.

    Raises:
        SyntaxError: the module was edited and is invalid.
    """
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]


def find_edited_handlers(edited: bytes, pristine: bytes) -> list[str]:
    """Return the tools whose handlers were edited; () if a module cannot be parsed."""
    try:
        mine, theirs = _find_handlers(edited), _find_handlers(pristine)
    except (SyntaxError, ValueError):
        return []
    return [tool for tool, text in mine.items() if theirs.get(tool, text) != text]


def _find_handlers(source: bytes) -> dict[str, str]:
    return {
        argument.value: ast.dump(node)
        for node in ast.parse(source).body
        if isinstance(node, ast.AsyncFunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        for argument in decorator.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def _is_for(node: ast.AsyncFunctionDef, tool: str) -> bool:
    return any(
        isinstance(decorator, ast.Call)
        and ast.unparse(decorator.func) == "tools.handler"
        and [ast.unparse(argument) for argument in decorator.args] == [repr(tool)]
        for decorator in node.decorator_list
    )


def _extract(node: ast.AsyncFunctionDef, source: str, tree: ast.Module) -> HandlerSource:
    lines = text_lines(source)
    first, *rest = node.body
    has_docstring = ast.get_docstring(node) is not None
    statements = rest if has_docstring else node.body
    body = (
        "".join(lines[statements[0].lineno - 1 : node.end_lineno]) if statements else "    pass\n"
    )
    arguments = ast.arguments([], [], None, node.args.kwonlyargs, node.args.kw_defaults, None, [])
    used = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return HandlerSource(
        function=node.name,
        parameters=ast.unparse(arguments),
        keywords=tuple(argument.arg for argument in node.args.kwonlyargs),
        returns=ast.unparse(node.returns) if node.returns is not None else "object",
        docstring=ast.get_source_segment(source, first) or "" if has_docstring else "",
        body=dedent(body),
        imports={
            name.name: getattr(statement, "module", None) or ""
            for statement in tree.body
            if isinstance(statement, ast.Import | ast.ImportFrom)
            for name in statement.names
            if name.name in used and name.asname is None
        },
    )


def restore_handler(edited: str, pristine: str, tool: str) -> str:
    """Restore the generated handler of one tool in an edited module; keep other edits.

    If no other edits remain, the imports are restored as well.
    """
    mine, theirs = _find_lines(edited, tool), _find_lines(pristine, tool)
    before, after = text_lines(edited), text_lines(pristine)
    text = "".join(before[: mine[0]] + after[theirs[0] : theirs[1]] + before[mine[1] :])
    return pristine if _without_imports(text) == _without_imports(pristine) else text


def _find_lines(source: str, tool: str) -> tuple[int, int]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.AsyncFunctionDef) and _is_for(node, tool):
            first = min(decorator.lineno for decorator in node.decorator_list)
            return first - 1, node.end_lineno or first
    raise ValueError(f"no handler of `{tool}`")


def _without_imports(source: str) -> list[str]:
    body = ast.parse(source).body
    return [ast.dump(node) for node in body if not isinstance(node, ast.Import | ast.ImportFrom)]
