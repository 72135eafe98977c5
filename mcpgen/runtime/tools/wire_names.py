"""Renaming of nested members from a tool's names to the API's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.request.body_schemas import (
    PartSchemas,
    describe,
    find_items,
    find_property,
    is_declared,
)
from mcpgen.runtime.upstream.request.parameters import UnsendableError


def rename_members(value: Any, schema: Any, root: JsonObject, names: Mapping[str, str]) -> Any:
    """Return `value` with the members that `schema` declares renamed by `names`.

    Undeclared members keep their names, which the caller chose. `root` has the `$defs` that
    `schema` refers to.

    Raises:
        UnsendableError: an object has a member under both of its names.
    """
    return _rename(value, describe(schema, root), root, names) if names else value


def _rename(value: Any, whole: PartSchemas, root: JsonObject, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        items = find_items(whole, root)
        return [_rename(item, items, root, names) for item in value]
    if not isinstance(value, dict):
        return value
    found: JsonObject = {}
    for name, member in value.items():
        called = names[name] if name in names and _is_mentioned(whole, name, root) else name
        if called in found or (called != name and called in value):
            raise UnsendableError(f"has `{called}` twice, once under another name")
        found[called] = _rename(member, find_property(whole, name, root), root, names)
    return found


def _is_mentioned(whole: PartSchemas, name: str, root: JsonObject) -> bool:
    """Return whether a schema declares or forbids the member."""
    return is_declared(whole, name) or any(
        _is_mentioned(describe(branch["not"], root), name, root)
        for branch in whole
        if "not" in branch
    )
