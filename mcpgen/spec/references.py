"""From the text of a `$ref` to what it refers to (RFC 3986 fragments, RFC 6901 pointers)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from urllib.parse import unquote

from msgspec import Struct

from mcpgen.ir.json_pointer import json_pointer, pointer_tokens
from mcpgen.ir.json_types import JsonValue
from mcpgen.spec.document_files import BrokenReferenceError, DocumentFiles, OpenFile
from mcpgen.spec.grammar import Grammar, Kind

_MAX_REFS_ON_THE_WAY = 8


class Target(Struct, frozen=True):
    """What a reference leads to."""

    file: OpenFile
    tokens: tuple[str, ...]
    node: JsonValue


class References:
    """Follows references, each once: the same text in the same file leads to the same target."""

    def __init__(self, files: DocumentFiles, grammar: Grammar) -> None:
        self._files = files
        self._grammar = grammar
        self._known: dict[tuple[OpenFile, str], Target | BrokenReferenceError] = {}
        self._anchors: dict[OpenFile, dict[str, tuple[str, ...]]] = {}

    def follow(self, reference: JsonValue, file: OpenFile, expected: Kind) -> Target:
        """Give what `reference`, standing in `file`, leads to: something of the expected kind.

        Raises:
            BrokenReferenceError: there is no such thing, or it is of another kind.
        """
        if not isinstance(reference, str):
            raise BrokenReferenceError(
                "unresolved-ref",
                f"expected a `$ref` that is a string, found `{str(reference)[:40]}`",
                help="write the JSON Pointer of what is meant, e.g. `#/components/schemas/Pet`",
            )
        key = (file, reference)
        if key not in self._known:
            try:
                self._known[key] = self._find(reference, file, expected)
            except BrokenReferenceError as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, BrokenReferenceError):
            raise found
        self._check_kind(reference, found, expected)
        return found

    def _find(self, reference: str, file: OpenFile, expected: Kind) -> Target:
        base, _, fragment = reference.partition("#")
        # An absolute URI may be the `$id` of a schema in this very file.
        within = self._anchors_of(file).get(base) if ":" in base else None
        target = self._files.open(base, file) if within is None else file
        if not fragment or fragment.startswith("/"):
            tokens = (within or ()) + pointer_tokens(unquote(fragment))
        else:
            tokens = self._anchor(reference, fragment, target)
        found = self._at(target, tokens)
        if found is None:
            raise self._dangling(reference, target, tokens, expected)
        return found

    def _at(self, file: OpenFile, tokens: tuple[str, ...]) -> Target | None:
        """What stands at a place; references on the way there are followed, as many tools do."""
        node, passed, followed = file.value, tokens[:0], 0
        for token in tokens:
            while (
                isinstance(node, dict)
                and token not in node
                and isinstance(onward := node.get("$ref"), str)
                and followed < _MAX_REFS_ON_THE_WAY
            ):
                followed += 1
                try:
                    step = self._find(onward, file, self._grammar.schema)
                except (BrokenReferenceError, RecursionError):
                    return None
                file, passed, node = step.file, step.tokens, step.node
            if isinstance(node, dict) and token in node:
                node = node[token]
            elif isinstance(node, list) and token.isdecimal() and int(token) < len(node):
                node = node[int(token)]
            else:
                return None
            passed = (*passed, token)
        return Target(file, passed, node)

    def _anchors_of(self, file: OpenFile) -> dict[str, tuple[str, ...]]:
        if file not in self._anchors:
            self._anchors[file] = dict(_anchors(file.value))
        return self._anchors[file]

    def _anchor(self, reference: str, name: str, file: OpenFile) -> tuple[str, ...]:
        tokens = self._anchors_of(file).get(unquote(name))
        if tokens is None:
            raise BrokenReferenceError(
                "unresolved-ref",
                f"no schema has the `$anchor` that `{reference[:200]}` names",
                help="name the place by its JSON Pointer, e.g. `#/components/schemas/Pet`",
            )
        return tokens

    def _dangling(
        self, reference: str, file: OpenFile, tokens: tuple[str, ...], expected: Kind
    ) -> BrokenReferenceError:
        beside = self._at(file, tokens[:-1])
        named = self._grammar.component_maps.get(expected, "")
        candidates = [
            f"{pointer}{json_pointer([key])}"
            for pointer, node in (
                (json_pointer(tokens[:-1]), beside.node if beside else None),
                (named, self._members(named)),
            )
            for key in (node if isinstance(node, dict) else ())
        ]
        wanted = json_pointer(tokens)
        last = json_pointer(tokens[-1:])
        close = [pointer for pointer in candidates if pointer.endswith(last)]
        close += difflib.get_close_matches(wanted, candidates[:5000], n=1, cutoff=0.75)
        return BrokenReferenceError(
            "unresolved-ref",
            f"nothing is at `{reference[:200]}`",
            help=f"did you mean `#{close[0]}`?" if close else "add it, or correct the reference",
        )

    def _members(self, pointer: str) -> JsonValue:
        found = self._at(self._files.root, pointer_tokens(pointer))
        return found.node if found else None

    def _check_kind(self, reference: str, target: Target, expected: Kind) -> None:
        # OpenAPI has no references to maps and arrays, so no places for their targets either.
        is_collection = expected.is_map or expected.items is not None
        actual = None if is_collection else self._kind_at(target)
        if actual is not None and actual is not expected:
            found = actual.name
        elif isinstance(target.node, list if expected.items is not None else dict) or (
            expected.may_be_boolean and isinstance(target.node, bool)
        ):
            return
        else:
            found = describe(target.node)
        raise BrokenReferenceError(
            "wrong-kind-of-ref",
            f"expected {expected.name} at `{reference[:200]}`, found {found}",
            help=f"refer to {expected.name}",
        )

    def _kind_at(self, target: Target) -> Kind | None:
        """The kind that stands at a target by its place, or None where anything may stand."""
        root = target.file.value
        is_whole = isinstance(root, dict) and ("openapi" in root or "swagger" in root)
        kind: Kind | None = self._grammar.document if is_whole else None
        for token in target.tokens:
            if kind is None:
                return None
            kind = kind.child(token)
        return kind.single or kind if kind else None


def describe(value: JsonValue) -> str:
    """What a JSON value is, for a sentence: "an array"."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
    return "a number"


def _anchors(root: JsonValue) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each `$anchor`, `$dynamicAnchor` and `$id: "#name"` of a file, and its place."""
    pending: list[tuple[tuple[str, ...], JsonValue]] = [((), root)]
    while pending:
        tokens, node = pending.pop()
        if isinstance(node, dict):
            for keyword in ("$anchor", "$dynamicAnchor", "$id"):
                name = node.get(keyword)
                if isinstance(name, str):
                    yield name.removeprefix("#"), tokens
            pending.extend(((*tokens, key), value) for key, value in node.items())
        elif isinstance(node, list):
            pending.extend(((*tokens, str(index)), value) for index, value in enumerate(node))
