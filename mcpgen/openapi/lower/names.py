"""Names of referenced schemas, derived from their JSON Pointers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

from mcpgen.jsonschema.types import JsonValue
from mcpgen.openapi.lower.nodes import Source, escape
from mcpgen.openapi.resolve.bundle import FILES_KEY
from mcpgen.text.json_pointer import pointer_tokens

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
    """Names, made of `[A-Za-z0-9_.-]`, for the pointers of referenced schemas.

    A schema in the components keeps its name. Another schema gets its name from the descriptive
    tokens of its pointer, with a hash of the pointer if the name is taken. Names do not depend on
    the order of the document.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._anchors: dict[str, str] | None = None

    def assign(self, pointers: Collection[str]) -> dict[str, str]:
        """Return a distinct name for each pointer."""
        components = {
            pointer: _component_name(pointer) for pointer in pointers if _is_component(pointer)
        }
        names = _distinct(components, frozenset())
        others = {pointer: _derive_name(pointer) for pointer in pointers if pointer not in names}
        return names | _distinct(others, frozenset(name.lower() for name in names.values()))

    def find_anchor(self, name: str) -> str | None:
        """Return the pointer of the component schema with this `$dynamicAnchor` or `$anchor`."""
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


def _is_component(pointer: str) -> bool:
    return any(pointer.startswith(home) and "/" not in pointer[len(home) :] for home in _HOMES)


def _component_name(pointer: str) -> str:
    return _plain(pointer_tokens(pointer)[-1])


def _derive_name(pointer: str) -> str:
    tokens = list(pointer_tokens(pointer))
    if tokens[:1] == [FILES_KEY]:
        file, rest = tokens[1] if len(tokens) > 1 else "", tokens[2:]
        stem = file.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        tokens = rest or [stem]
        if not any(token not in _STRUCTURE for token in tokens):
            tokens = [stem]
    descriptive = [token for token in tokens if token not in _STRUCTURE and not token.isdecimal()]
    return _plain("_".join(descriptive or tokens[-1:]))


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_") or "Schema"


def _distinct(wanted: dict[str, str], taken: frozenset[str]) -> dict[str, str]:
    """Add a hash of the pointer to names that are equal (ignoring case), taken or too long."""
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
