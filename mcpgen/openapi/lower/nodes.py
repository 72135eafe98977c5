"""Access to a resolved document: nodes with their pointers, references, and problem reports."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Unpack
from urllib.parse import unquote

from msgspec import Struct

from mcpgen.absent import ABSENT
from mcpgen.diagnostics import Details, OperationRefusedError, Place, Problems
from mcpgen.ir.document import Document
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.jsonschema.values import value_at
from mcpgen.openapi.resolve.bundle import FILES_KEY
from mcpgen.text.json_pointer import pointer_tokens

_MAX_REFERENCES_IN_A_ROW = 32


class Node(Struct, frozen=True):
    """A value of the document and its JSON Pointer."""

    value: JsonValue
    pointer: str

    def child(self, key: str | int) -> Node:
        """Return the member `key`; a node with the value None if it does not exist."""
        value = self.value
        if isinstance(value, dict):
            found = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            found = value[key]
        else:
            found = None
        return Node(found, f"{self.pointer}/{escape(key)}")

    def text(self, key: str) -> str:
        """Return the member `key` if it is a string, else ""."""
        found = self.value.get(key) if isinstance(self.value, dict) else None
        return found if isinstance(found, str) else ""

    def flag(self, key: str) -> bool:
        """Return whether the member `key` is true or the string "true"."""
        found = self.value.get(key) if isinstance(self.value, dict) else None
        return found is True or found == "true"

    def members(self) -> Iterator[tuple[str, Node]]:
        """Yield the members of an object, in the document's order; none for other values."""
        if isinstance(self.value, dict):
            for key in self.value:
                yield str(key), self.child(key)

    def elements(self) -> Iterator[Node]:
        """Yield the elements of an array; none for other values."""
        if isinstance(self.value, list):
            for index in range(len(self.value)):
                yield self.child(index)


def escape(key: str | int) -> str:
    """Return `key` as an escaped reference token of a JSON Pointer."""
    token = str(key)
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


class Source:
    """The document that is lowered, and the collection of its problems."""

    def __init__(self, document: Document, problems: Problems) -> None:
        self.document = document
        self.problems = problems
        self.root = Node(document.root, "")
        self._targets: dict[str, Node | None] = {}  # by reference

    @property
    def version(self) -> str:
        """ "2.0", "3.0", "3.1" or "3.2"."""
        return self.document.version

    def at(self, pointer: str) -> Place:
        """Return the place of the value at `pointer`."""
        return Place(pointer, self.document.locate)

    def target(self, reference: str) -> Node | None:
        """Return the target of a local reference (`#/...`); None if it does not exist."""
        if reference not in self._targets:
            self._targets[reference] = self._find_target(reference)
        return self._targets[reference]

    def _find_target(self, reference: str) -> Node | None:
        pointer = unquote(reference[1:])
        if not reference.startswith("#") or pointer[:1] not in ("", "/"):
            return None
        value = value_at(self.document.root, pointer)
        return None if value is ABSENT else Node(value, pointer)

    def follow(self, node: Node) -> Node:
        """Return `node`, or its target if it is a Reference Object.

        Raises:
            OperationRefusedError: the reference is broken or circular.
        """
        for _ in range(_MAX_REFERENCES_IN_A_ROW):
            reference = node.value.get("$ref") if isinstance(node.value, dict) else None
            if not isinstance(reference, str):
                return node
            found = self.target(reference)
            if found is None:
                raise OperationRefusedError(
                    "unresolved-ref",
                    f"unknown reference `{reference}`",
                    self.at(f"{node.pointer}/$ref"),
                    "add its target, or correct the reference",
                )
            node = found
        raise OperationRefusedError(
            "circular-ref",
            "circular `$ref` without a definition",
            self.at(node.pointer),
            "replace one `$ref` of the circle by the definition",
        )

    def try_follow(self, node: Node, consequence: str = "") -> Node | None:
        """Return the target as `follow` does; None if it is broken, with a warning."""
        try:
            return self.follow(node)
        except OperationRefusedError as refused:
            self.problems.warning(refused.code, refused.message + consequence, at=refused.at)
        return None

    def warn(self, code: str, message: str, pointer: str, **details: Unpack[Details]) -> None:
        """Report a repair or an omission at `pointer`."""
        details["at"] = self.at(pointer)
        self.problems.warning(code, message, **details)

    def note(self, code: str, message: str, pointer: str) -> None:
        """Report information about `pointer` that needs no action."""
        self.problems.note(code, message, at=self.at(pointer))


def object_of(value: JsonValue) -> JsonObject:
    """Return `value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


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

    def assign(self, pointers: Collection[str]) -> dict[str, str]:
        """Return a distinct name for each pointer."""
        components = {
            pointer: _plain(pointer_tokens(pointer)[-1])
            for pointer in pointers
            if _is_component(pointer)
        }
        names = _distinct(components, frozenset())
        others = {pointer: _derive_name(pointer) for pointer in pointers if pointer not in names}
        return names | _distinct(others, frozenset(name.lower() for name in names.values()))

    def find_anchor(self, name: str) -> str | None:
        """Return the pointer of the component schema with this `$dynamicAnchor` or `$anchor`."""
        return self._anchors.get(name)

    @cached_property
    def _anchors(self) -> dict[str, str]:
        root = self._source.root
        found: dict[str, str] = {}
        for home in (root.child("components").child("schemas"), root.child("definitions")):
            for _, node in sorted(home.members()):
                _gather_anchors(node, 0, found)
        return found


def _gather_anchors(node: Node, depth: int, found: dict[str, str]) -> None:
    for keyword in ("$dynamicAnchor", "$anchor"):
        if name := node.text(keyword):
            found.setdefault(name, node.pointer)
    if depth < 8:
        for _, item in node.members():
            _gather_anchors(item, depth + 1, found)


def _is_component(pointer: str) -> bool:
    return any(pointer.startswith(home) and "/" not in pointer[len(home) :] for home in _HOMES)


def _derive_name(pointer: str) -> str:
    tokens = list(pointer_tokens(pointer))
    if tokens[:1] == [FILES_KEY]:
        file, rest = tokens[1] if len(tokens) > 1 else "", tokens[2:]
        stem = file.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        tokens = [stem] if _STRUCTURE.issuperset(rest) else rest
    descriptive = [token for token in tokens if token not in _STRUCTURE and not token.isdecimal()]
    return _plain("_".join(descriptive or tokens[-1:]))


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_") or "Schema"


def _distinct(proposed: dict[str, str], taken: frozenset[str]) -> dict[str, str]:
    """Add a hash of the pointer to names that are equal (ignoring case), taken or too long."""
    users = Counter(name.lower() for name in proposed.values())
    names = {}
    for pointer, name in proposed.items():
        names[pointer] = name
        is_free = users[name.lower()] == 1 and name.lower() not in taken
        if not is_free or len(name) > _MAX_LENGTH:
            digest = hashlib.sha256(pointer.encode()).hexdigest()[:6]
            names[pointer] = f"{name[: _MAX_LENGTH - 7]}_{digest}"
    return names
