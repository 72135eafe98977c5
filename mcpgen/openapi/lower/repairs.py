"""Conversion of the repairs in a document's problems to an OpenAPI Overlay."""

from __future__ import annotations

from collections.abc import Iterable

from mcpgen.diagnostics import Diagnostic
from mcpgen.ir.document import Document
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.text.json_pointer import pointer_tokens

_DROPPED_ITEMS = {
    "duplicate-parameter": "parameters",
    "unknown-security-scheme": "security",
    "unused-path-parameter": "parameters",
}
_UNDECLARED_IN = {"missing-path-parameter": "path", "missing-query-parameter": "query"}


def overlay_of(document: Document, problems: Iterable[Diagnostic]) -> JsonObject | None:
    """Return the overlay that makes the same repairs to the document; None if there are none.

    Only repairs in the document's root file are included.
    """
    changes: list[JsonObject] = []
    removals: list[tuple[tuple[str | int, ...], JsonObject]] = []
    for problem in problems:
        if problem.at is None or problem.at.file != document.shown_as:
            continue
        parts, current = _find(document.root, problem.at.pointer)
        if not parts or any(parts == known for known, _ in removals):
            continue
        if _is_dropped(problem, parts):
            action = {"target": _path(parts), "description": problem.message, "remove": True}
            removals.append((parts, action))
        else:
            changes += _list_changes(document.root, parts, current, problem)
    # Removals follow all changes, last list item first, so that no index changes before its use.
    removals.sort(key=lambda found: _in_order(found[0]), reverse=True)
    actions = [*changes, *(action for _, action in removals)]
    if not actions:
        return None
    info = {"title": "Repairs that mcpgen made while reading", "version": "1"}
    return {"overlay": "1.0.0", "info": info, "actions": actions}


def _in_order(parts: tuple[str | int, ...]) -> list[tuple[str, int]]:
    return [("", part) if isinstance(part, int) else (part, 0) for part in parts]


def _is_dropped(problem: Diagnostic, parts: tuple[str | int, ...]) -> bool:
    if problem.repair is not None and problem.repair.is_dropped:
        return True
    # A parameter in the components may be valid for other operations.
    return len(parts) > 1 and parts[-2] == _DROPPED_ITEMS.get(problem.code)


def _list_changes(
    root: JsonValue, parts: tuple[str | int, ...], current: JsonValue, problem: Diagnostic
) -> list[JsonObject]:
    """Return the actions of a repair that replaced or added a value."""
    description = {"description": problem.message}
    if problem.code in _UNDECLARED_IN and problem.repair is not None:
        name, location = problem.repair.declares, _UNDECLARED_IN[problem.code]
        of_text = {"type": "string"} if "swagger" in root else {"schema": {"type": "string"}}
        parameter = {"name": name, "in": location, "required": True, **of_text}
        return [{"target": _path(parts), **description, "update": {"parameters": [parameter]}}]
    if problem.code == "path-parameter-optional":
        return [{"target": _path(parts), **description, "update": {"required": True}}]
    if problem.code == "duplicate-required" and isinstance(current, list):
        value: JsonValue = list(dict.fromkeys(name for name in current if isinstance(name, str)))
    elif problem.code == "security" and isinstance(current, dict):
        value = [current]
    else:
        return []
    # An update appends to a list, so the old value is removed first.
    return [
        {"target": _path(parts), **description, "remove": True},
        {"target": _path(parts[:-1]), "update": {parts[-1]: value}},
    ]


def _find(root: JsonValue, pointer: str) -> tuple[tuple[str | int, ...], JsonValue]:
    """Return the keys and indexes of a pointer, and its target; () if that does not exist."""
    parts: list[str | int] = []
    value = root
    for token in pointer_tokens(pointer):
        if isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            parts.append(int(token))
            value = value[int(token)]
        elif isinstance(value, dict) and token in value:
            parts.append(token)
            value = value[token]
        else:
            return (), None
    return tuple(parts), value


def _path(parts: tuple[str | int, ...]) -> str:
    """Return the normalized JSONPath (RFC 9535, section 2.7)."""
    return "$" + "".join(
        f"[{part}]" if isinstance(part, int) else f"['{_escape(part)}']" for part in parts
    )


def _escape(name: str) -> str:
    plain = name.replace("\\", "\\\\").replace("'", "\\'")
    return "".join(char if char >= " " else f"\\u{ord(char):04x}" for char in plain)
