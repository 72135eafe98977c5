"""A way through a resolved document: nodes that know their place, references, and problems."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from msgspec import Struct

from mcpgen.diagnostics import OperationRefusedError, Place, Problems
from mcpgen.ir.document import Document
from mcpgen.ir.json_pointer import pointer_tokens
from mcpgen.ir.json_types import JsonObject, JsonValue

_MAX_REFERENCES_IN_A_ROW = 32


class Node(Struct, frozen=True):
    """A value of the document and the JSON Pointer that leads to it."""

    value: JsonValue
    pointer: str

    def child(self, key: str | int) -> Node:
        """The member `key`, or a node of None where there is none."""
        value = self.value
        if isinstance(value, dict):
            found = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            found = value[key]
        else:
            found = None
        return Node(found, f"{self.pointer}/{escape(key)}")

    def text(self, key: str) -> str:
        """The member `key` where it is a string, else the empty string."""
        found = self.value.get(key) if isinstance(self.value, dict) else None
        return found if isinstance(found, str) else ""

    def flag(self, key: str) -> bool:
        """Whether the member `key` is true, the string "true" of careless writers included."""
        found = self.value.get(key) if isinstance(self.value, dict) else None
        return found is True or found == "true"

    def members(self) -> Iterator[tuple[str, Node]]:
        """The members of an object, in the document's order; nothing for any other value."""
        if isinstance(self.value, dict):
            for key in self.value:
                yield str(key), self.child(key)

    def elements(self) -> Iterator[Node]:
        """The elements of an array; nothing for any other value."""
        if isinstance(self.value, list):
            for index in range(len(self.value)):
                yield self.child(index)


def escape(key: str | int) -> str:
    """`key` as one reference token of a JSON Pointer."""
    return str(key).replace("~", "~0").replace("/", "~1")


class Source:
    """The document that is being lowered, and where its problems go."""

    def __init__(self, document: Document, problems: Problems) -> None:
        self.document = document
        self.problems = problems
        self.root = Node(document.root, "")

    @property
    def version(self) -> str:
        """ "2.0", "3.0", "3.1" or "3.2"."""
        return self.document.version

    def at(self, pointer: str) -> Place:
        """The place in the text that `pointer` leads to."""
        return Place(pointer, self.document.locate)

    def target(self, reference: str) -> Node | None:
        """What a local reference (`#/...`) points at; None when nothing is there."""
        if not reference.startswith("#"):
            return None
        pointer = reference[1:]
        if "%" in pointer:
            pointer = unquote(pointer)
        value: JsonValue = self.document.root
        try:
            tokens = pointer_tokens(pointer)
        except ValueError:
            return None
        for token in tokens:
            if isinstance(value, dict) and token in value:
                value = value[token]
            elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
                value = value[int(token)]
            else:
                return None
        return Node(value, pointer)

    def follow(self, node: Node) -> Node:
        """`node`, or what it refers to when it is a Reference Object.

        Raises:
            OperationRefusedError: nothing is there, or the references go in a circle.
        """
        for _ in range(_MAX_REFERENCES_IN_A_ROW):
            reference = node.value.get("$ref") if isinstance(node.value, dict) else None
            if not isinstance(reference, str):
                return node
            found = self.target(reference)
            if found is None:
                raise OperationRefusedError(
                    "unresolved-ref",
                    f"nothing is at `{reference}`",
                    self.at(f"{node.pointer}/$ref"),
                    "add what is missing, or correct the reference",
                )
            node = found
        raise OperationRefusedError(
            "circular-ref",
            "the references that start here never reach a definition",
            self.at(node.pointer),
            "replace one of them by the definition itself",
        )

    def warn(self, code: str, message: str, pointer: str, *, why: str = "", help: str = "") -> None:
        """Report what was repaired or dropped at `pointer`."""
        self.problems.warning(code, message, at=self.at(pointer), why=why, help=help)

    def note(self, code: str, message: str, pointer: str) -> None:
        """Report what needs no action at `pointer`."""
        self.problems.note(code, message, at=self.at(pointer))


def object_of(value: JsonValue) -> JsonObject:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
