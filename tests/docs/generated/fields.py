"""Tables of the members of JSON objects, from the fields of their types."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mcpgen.factory.status import model

_PLAIN: Final = {
    "str": "string", "int": "number", "float": "number", "bool": "boolean", "JsonObject": "object",
}  # fmt: skip
_ENUMS: Final = ("State", "StageName", "NeedKind")


def fleet_fields() -> str:
    """Return a section with a table for each type of a fleet, the fleet first."""
    source = Path(model.__file__).read_text("utf-8")
    found = [it for it in ast.parse(source).body if isinstance(it, ast.ClassDef)]
    lines = source.splitlines()
    sections = [_format_section(it, lines) for it in reversed(found) if it.name not in _ENUMS]
    return "\n\n".join(sections)


def _format_section(type_: ast.ClassDef, lines: list[str]) -> str:
    about = ast.get_docstring(type_) or ""
    rows = ["| member | value | meaning |", "|---|---|---|", *_list_rows(type_, lines)]
    return f"### {_name(type_.name)}\n\n{about}\n\n" + "\n".join(rows)


def _list_rows(type_: ast.ClassDef, lines: list[str]) -> Iterator[str]:
    for node in type_.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            comment = lines[(node.end_lineno or node.lineno) - 1].partition("  # ")[2]
            meaning = comment.replace("|", "\\|").replace("<", "\\<")
            yield f"| `{node.target.id}` | {_describe(node.annotation)} | {meaning} |"


def _describe(annotation: ast.expr) -> str:
    """Return the JSON type of an annotation, with a link to another table."""
    match annotation:
        case ast.BinOp(left=left):
            return f"{_describe(left)} or null"
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[item, _])):
            return f"list: {_describe(item)}"
        case ast.Subscript(value=ast.Name(id="Mapping"), slice=ast.Tuple(elts=[_, item])):
            return f"object of: {_describe(item)}"
        case ast.Name(id=name) if name in _PLAIN:
            return _PLAIN[name]
        case ast.Name(id=name) if name in _ENUMS:
            words = ", ".join(f"`{it.value}`" for it in getattr(model, name))
            return f"one of {words}"
        case ast.Name(id=name):
            return f"[{_name(name)}](#{_name(name).lower().replace(' ', '-')})"
    raise TypeError(ast.unparse(annotation))


def _name(name: str) -> str:
    """Return the name of a type in words: "ClientCell" becomes "Client cell"."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda found: f" {found[1].lower()}", name)
