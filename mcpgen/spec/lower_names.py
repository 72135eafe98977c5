"""Names for the schemas that a document refers to, whatever place they stand in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

from mcpgen.ir.json_pointer import pointer_tokens
from mcpgen.ir.json_types import JsonValue
from mcpgen.spec.bundle import FILES_KEY
from mcpgen.spec.lower_source import Source, escape

_HOMES = ("/components/schemas/", "/definitions/")
_STRUCTURE = frozenset(
    {
        "components", "schemas", "definitions", "responses", "parameters", "requestBodies",
        "content", "schema", "properties", "items", "allOf", "anyOf", "oneOf", "paths", "$defs",
        "headers", "additionalProperties", "application/json", "requestBody",
    }
)  # fmt: skip
_MAX_LENGTH = 100


class SchemaNames:
    """Maps the pointers of referred schemas to names made of `[A-Za-z0-9_.-]`.

    A schema among the components keeps its own name. One that stands elsewhere is named after the
    telling parts of its pointer, and by a hash of the pointer as well where that name is taken;
    so no name depends on the order of a document.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._anchors: dict[str, str] | None = None

    def settle(self, pointers: Collection[str]) -> dict[str, str]:
        """A name for each of `pointers`."""
        at_home = {pointer: _own_name(pointer) for pointer in pointers if _is_at_home(pointer)}
        names = _distinct(at_home, frozenset())
        elsewhere = {pointer: _told_name(pointer) for pointer in pointers if pointer not in names}
        return names | _distinct(elsewhere, frozenset(name.lower() for name in names.values()))

    def anchor(self, name: str) -> str | None:
        """The pointer of the component schema with the `$dynamicAnchor` or `$anchor` `name`."""
        if self._anchors is None:
            self._anchors = {}
            root = self._source.root
            for home in (root.child("components").child("schemas"), root.child("definitions")):
                for _, node in sorted(home.members()):
                    self._gather(node.value, node.pointer, 0)
        return self._anchors.get(name)

    def _gather(self, value: JsonValue, pointer: str, depth: int) -> None:
        if depth > 8:
            return
        if isinstance(value, dict):
            for keyword in ("$dynamicAnchor", "$anchor"):
                if self._anchors is not None and isinstance(value.get(keyword), str):
                    self._anchors.setdefault(value[keyword], pointer)
            for key, item in value.items():
                if isinstance(item, dict):
                    self._gather(item, f"{pointer}/{escape(key)}", depth + 1)


def _is_at_home(pointer: str) -> bool:
    return any(pointer.startswith(home) and "/" not in pointer[len(home) :] for home in _HOMES)


def _own_name(pointer: str) -> str:
    return _plain(pointer_tokens(pointer)[-1])


def _told_name(pointer: str) -> str:
    tokens = list(pointer_tokens(pointer))
    if tokens[:1] == [FILES_KEY]:
        file, rest = tokens[1] if len(tokens) > 1 else "", tokens[2:]
        stem = file.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        tokens = rest or [stem]
        if not any(token not in _STRUCTURE for token in tokens):
            tokens = [stem]
    telling = [token for token in tokens if token not in _STRUCTURE and not token.isdecimal()]
    return _plain("_".join(telling or tokens[-1:]))


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_") or "Schema"


def _distinct(wanted: dict[str, str], taken: frozenset[str]) -> dict[str, str]:
    """`wanted` with a hash of the pointer added where two would be equal without regard to case."""
    users: dict[str, int] = {}
    for name in wanted.values():
        users[name.lower()] = users.get(name.lower(), 0) + 1
    names = {}
    for pointer, name in wanted.items():
        names[pointer] = name
        is_free = users[name.lower()] == 1 and name.lower() not in taken
        if not is_free or len(name) > _MAX_LENGTH:
            digest = hashlib.sha256(pointer.encode()).hexdigest()[:6]
            names[pointer] = f"{name[: _MAX_LENGTH - 7]}_{digest}"
    return names
