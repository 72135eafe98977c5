"""Iteration over the raw operations of a resolved document, without lowering them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from msgspec import Struct

from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.openapi.validate.grammar import METHODS
from mcpgen.text.json_pointer import pointer_tokens


class RawOperation(Struct, frozen=True):
    """An operation of the document, not lowered, with its path item."""

    method: str  # in upper case; an additional one as the document spells it
    path: str
    tokens: tuple[str, ...]  # of the operation, after following the path item's `$ref`
    node: JsonObject
    path_item: JsonObject

    @property
    def key(self) -> str:
        """The key of the operation, as in `mcpgen.ir.api.Operation.key`."""
        return f"{self.method} {self.path}"


def operations(root: JsonObject) -> Iterator[RawOperation]:
    """Yield every operation under `paths`, in the document's order; ignore invalid objects."""
    paths = root.get("paths")
    for path, written in paths.items() if isinstance(paths, dict) else ():
        if path.startswith("x-"):
            continue
        tokens, item = follow(root, ("paths", path), written)
        if not isinstance(item, dict):
            continue
        for key in METHODS:
            if isinstance(node := item.get(key), dict):
                yield RawOperation(key.upper(), path, (*tokens, key), node, item)
        further = item.get("additionalOperations")
        for method, node in further.items() if isinstance(further, dict) else ():
            if isinstance(node, dict):
                place = (*tokens, "additionalOperations", method)
                yield RawOperation(method, path, place, node, item)


def follow(
    root: JsonObject, tokens: tuple[str, ...], node: JsonValue
) -> tuple[tuple[str, ...], JsonValue]:
    """Follow local references from a node; the value is None if they are broken or circular."""
    seen = set()
    while isinstance(node, dict) and isinstance(reference := node.get("$ref"), str):
        if reference in seen or not reference.startswith("#/"):
            return tokens, None
        seen.add(reference)
        tokens = pointer_tokens(unquote(reference[1:]))
        node = value_at(root, tokens)
    return tokens, node


def value_at(root: JsonValue, tokens: tuple[str, ...]) -> JsonValue:
    """Return the value at `tokens`; None if it does not exist."""
    node = root
    for token in tokens:
        if isinstance(node, list) and token.isdecimal() and int(token) < len(node):
            node = node[int(token)]
        else:
            node = node.get(token) if isinstance(node, dict) else None
    return node
