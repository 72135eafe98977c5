"""The operations of a resolved document, before they are understood."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from msgspec import Struct

from mcpgen.ir.json_pointer import pointer_tokens
from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.spec.grammar import METHODS


class RawOperation(Struct, frozen=True):
    """An operation as the document has it, and its path item for what they share."""

    method: str  # upper case, or an additional one as it is spelled
    path: str
    tokens: tuple[str, ...]  # where the operation itself stands
    node: JsonObject
    path_item: JsonObject

    @property
    def key(self) -> str:
        """Names the operation as `mcpgen.ir.api.Operation.key` does."""
        return f"{self.method} {self.path}"


def operations(root: JsonObject) -> Iterator[RawOperation]:
    """Give every operation under `paths`, in the document's order; odd shapes are passed over."""
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
    """Follow local references from a node; gives None where they lead nowhere, or in a circle."""
    seen = set()
    while isinstance(node, dict) and isinstance(reference := node.get("$ref"), str):
        if reference in seen or not reference.startswith("#/"):
            return tokens, None
        seen.add(reference)
        tokens = pointer_tokens(unquote(reference[1:]))
        node = value_at(root, tokens)
    return tokens, node


def value_at(root: JsonValue, tokens: tuple[str, ...]) -> JsonValue:
    """Give what stands at `tokens`, or None where nothing does."""
    node = root
    for token in tokens:
        if isinstance(node, list) and token.isdecimal() and int(token) < len(node):
            node = node[int(token)]
        else:
            node = node.get(token) if isinstance(node, dict) else None
    return node
