"""Names of members inside arguments: as a tool offers them, and as the API has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.body_schemas import (
    Described,
    described,
    is_declared,
    items_of,
    property_of,
)
from mcpgen.runtime.upstream.parameters import UnsendableError


def renamed(value: Any, schema: Any, root: JsonObject, names: Mapping[str, str]) -> Any:
    """`value` with the members that `schema` declares called what `names` says.

    A member that no schema declares keeps its name: that one is the caller's own. `root` has the
    `$defs` that `schema` refers to.

    Raises:
        UnsendableError: a member is there under both of its names.
    """
    return _renamed(value, described(schema, root), root, names) if names else value


def _renamed(value: Any, whole: Described, root: JsonObject, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        items = items_of(whole, root)
        return [_renamed(item, items, root, names) for item in value]
    if not isinstance(value, dict):
        return value
    found: JsonObject = {}
    for name, member in value.items():
        called = names[name] if name in names and _is_spoken_of(whole, name, root) else name
        if called in found or (called != name and called in value):
            raise UnsendableError(f"has `{called}` twice, once under another name")
        found[called] = _renamed(member, property_of(whole, name, root), root, names)
    return found


def _is_spoken_of(whole: Described, name: str, root: JsonObject) -> bool:
    """Whether a schema declares the member, or forbids it."""
    return is_declared(whole, name) or any(
        _is_spoken_of(described(branch["not"], root), name, root)
        for branch in whole
        if "not" in branch
    )
