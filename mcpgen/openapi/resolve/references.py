"""Lookup of the target of a `$ref`: JSON Pointers (RFC 6901), anchors and files."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator
from urllib.parse import unquote

from msgspec import Struct

from mcpgen.jsonschema.types import JsonValue
from mcpgen.openapi.source.source_file import BrokenReferenceError, DocumentFiles, OpenFile
from mcpgen.openapi.source.source_text import describe_type
from mcpgen.openapi.validate.grammar import Grammar, Kind
from mcpgen.text.json_pointer import json_pointer, pointer_tokens

_MAX_REFS_ON_THE_WAY = 8


class Target(Struct, frozen=True):
    """The target of a reference."""

    file: OpenFile
    tokens: tuple[str, ...]
    node: JsonValue


class References:
    """Targets of references, cached by file and text of the reference."""

    def __init__(self, files: DocumentFiles, grammar: Grammar) -> None:
        self._files = files
        self._grammar = grammar
        self._known: dict[tuple[OpenFile, str], Target | BrokenReferenceError] = {}
        self._checked: set[tuple[tuple[OpenFile, str], Kind]] = set()  # that are of this kind
        self._anchors: dict[OpenFile, dict[str, tuple[str, ...]]] = {}
        self._steps: dict[tuple[OpenFile, str], Target | None] = {}

    def follow(self, reference: JsonValue, file: OpenFile, expected: Kind) -> Target:
        """Return the target of a `reference` in `file`, which must be of the expected kind.

        Raises:
            BrokenReferenceError: the target does not exist, or is of another kind.
        """
        if not isinstance(reference, str):
            raise BrokenReferenceError(
                "unresolved-ref",
                f"invalid `$ref`: expected a string, found `{str(reference)[:40]}`",
                help="write the JSON Pointer of the target, e.g. `#/components/schemas/Pet`",
            )
        key = (file, reference)
        if key not in self._known:
            try:
                target, tokens = self._parse(reference, file)
                self._known[key] = self._look_up(target, tokens) or self._make_target_error(
                    reference, target, tokens, expected
                )
            except BrokenReferenceError as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, BrokenReferenceError):
            raise found
        if (key, expected) not in self._checked:
            self._check_kind(reference, found, expected)
            self._checked.add((key, expected))
        return found

    def _parse(self, reference: str, file: OpenFile) -> tuple[OpenFile, tuple[str, ...]]:
        """Return the file and the tokens of a reference's target."""
        base, _, fragment = reference.partition("#")
        # An absolute URI may be the `$id` of a schema in the same file.
        within = self._list_anchors(file).get(base) if ":" in base else None
        target = self._files.open(base, file) if within is None else file
        if not fragment or fragment.startswith("/"):
            tokens = (within or ()) + pointer_tokens(unquote(fragment))
        else:
            tokens = self._find_anchor(reference, fragment, target)
        return target, tokens

    def _step(self, reference: str, file: OpenFile) -> Target | None:
        """Follow a reference inside a pointer's path; None if it is broken or circular."""
        key = (file, reference)
        if key not in self._steps:
            self._steps[key] = None  # while it is being followed
            with contextlib.suppress(BrokenReferenceError, RecursionError):
                self._steps[key] = self._look_up(*self._parse(reference, file))
        return self._steps[key]

    def _look_up(self, file: OpenFile, tokens: tuple[str, ...]) -> Target | None:
        """Return the value at `tokens`; references inside the path are followed."""
        node, passed, followed = file.value, tokens[:0], 0
        for token in tokens:
            while (
                isinstance(node, dict)
                and token not in node
                and isinstance(onward := node.get("$ref"), str)
                and followed < _MAX_REFS_ON_THE_WAY
            ):
                followed += 1
                step = self._step(onward, file)
                if step is None:
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

    def _list_anchors(self, file: OpenFile) -> dict[str, tuple[str, ...]]:
        if file not in self._anchors:
            self._anchors[file] = dict(_iterate_anchors(file.value))
        return self._anchors[file]

    def _find_anchor(self, reference: str, name: str, file: OpenFile) -> tuple[str, ...]:
        tokens = self._list_anchors(file).get(unquote(name))
        if tokens is None:
            raise BrokenReferenceError(
                "unresolved-ref",
                f"unknown `$anchor` in `{reference[:200]}`",
                help="write the JSON Pointer of the target, e.g. `#/components/schemas/Pet`",
            )
        return tokens

    def _make_target_error(
        self, reference: str, file: OpenFile, tokens: tuple[str, ...], expected: Kind
    ) -> BrokenReferenceError:
        named = pointer_tokens(self._grammar.component_maps.get(expected, ""))
        candidates = [
            json_pointer([*place, key])
            for place, holder in ((tokens[:-1], file), (named, self._files.root))
            if (found := self._look_up(holder, place)) and isinstance(found.node, dict)
            for key in found.node
        ]
        target = json_pointer(tokens)
        last = json_pointer(tokens[-1:])
        close = [pointer for pointer in candidates if pointer.endswith(last)]
        close += difflib.get_close_matches(target, candidates[:5000], n=1, cutoff=0.75)
        return BrokenReferenceError(
            "unresolved-ref",
            f"unknown reference `{reference[:200]}`",
            help=f"did you mean `#{close[0]}`?" if close else "add it, or correct the reference",
        )

    def _check_kind(self, reference: str, target: Target, expected: Kind) -> None:
        # OpenAPI has no references to maps and arrays, so the kind at the target is not comparable.
        is_collection = expected.is_map or expected.items is not None
        actual = None if is_collection else self._kind_at(target)
        if actual is not None and actual is not expected:
            found = actual.name
        elif isinstance(target.node, list if expected.items is not None else dict) or (
            expected.may_be_boolean and isinstance(target.node, bool)
        ):
            return
        else:
            found = describe_type(target.node)
        raise BrokenReferenceError(
            "wrong-kind-of-ref",
            f"expected {expected.name} at `{reference[:200]}`, found {found}",
            help=f"refer to {expected.name}",
        )

    def _kind_at(self, target: Target) -> Kind | None:
        """Return the kind of object at the target's place; None if any value is allowed there."""
        root = target.file.value
        is_whole = isinstance(root, dict) and ("openapi" in root or "swagger" in root)
        kind: Kind | None = self._grammar.document if is_whole else None
        for token in target.tokens:
            if kind is None:
                return None
            kind = kind.child(token)
        return kind.single or kind if kind else None


def _iterate_anchors(root: JsonValue) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each `$anchor`, `$dynamicAnchor` and `$id: "#name"` of a file with its tokens."""
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
