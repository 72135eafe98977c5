"""Bundling of a document's files into one JSON value with local references only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct, field

from mcpgen.diagnostics import Location
from mcpgen.ir.document import Document
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.openapi.resolve.references import Target
from mcpgen.openapi.source.source_file import BrokenReferenceError, DocumentFiles, OpenFile
from mcpgen.openapi.source.source_text import Limits
from mcpgen.text.json_pointer import json_pointer, pointer_tokens

FILES_KEY = "x-mcpgen-files"


class Replacement(Struct, frozen=True):
    """The value that replaces a `$ref` at a place where OpenAPI does not allow one.

    `beside` are the keys beside the `$ref`; they override those of the target.
    """

    place: tuple[str, ...]  # in the bundle
    target: Target
    beside: JsonObject
    value: JsonValue  # of the target, merged with `beside`


class Rewrites(Struct):
    """Differences between the bundle and the files, by `id` of the containing object."""

    references: dict[tuple[int, str], str] = field(default_factory=dict)  # by object and key
    replacements: dict[int, Replacement] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.references or self.replacements)


def tokens_in_bundle(file: OpenFile, tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tokens in the bundle for a place in one of its files."""
    return tokens if file.is_root else (FILES_KEY, file.name, *tokens)


def local_reference(target: Target) -> str:
    """Return the local reference in the bundle to a target in one of its files."""
    pointer = json_pointer(tokens_in_bundle(target.file, target.tokens))
    return "#" + quote(pointer, safe="/~!$&'()*+,;=:@{}[] <>^|\\")


def needs_rewriting(reference: str, file: OpenFile, target: Target) -> bool:
    """Return whether a reference in `file` must change in the bundle."""
    pointer = json_pointer(tokens_in_bundle(target.file, target.tokens))
    return not (file.is_root and unquote(reference) == f"#{pointer}")


def bundle(
    document: Document, files: DocumentFiles, rewrites: Rewrites, limits: Limits
) -> tuple[JsonObject, Callable[[str], Location]]:
    """Return the root object with all files, and a function from its pointers to locations.

    Raises:
        BrokenReferenceError: with replacements, the bundle exceeds the limits of size or depth.
    """
    copies: dict[int, JsonValue] = {}
    root: JsonObject = _copy(document.root, rewrites, copies)
    by_name = {file.name: file for file in files.others}
    if by_name:
        root[FILES_KEY] = {
            name: _copy(file.value, rewrites, copies) for name, file in by_name.items()
        }
    if rewrites.replacements:
        _check_size(root, limits)
    by_place = {it.place: it for it in rewrites.replacements.values()}

    def locate(pointer: str) -> Location:
        tokens = _find_origin(pointer_tokens(pointer), by_place)
        if tokens[:1] == (FILES_KEY,) and len(tokens) > 1 and tokens[1] in by_name:
            return by_name[tokens[1]].locate(tokens[2:])
        return document.locate(json_pointer(tokens))

    return root, locate


def _find_origin(
    tokens: tuple[str, ...], by_place: Mapping[tuple[str, ...], Replacement]
) -> tuple[str, ...]:
    """Return the place in the files from which replacements copied the value at `tokens`."""
    length = 0
    while length < len(tokens):
        replacement = by_place.get(tokens[:length])
        if replacement is None or tokens[length] in replacement.beside:
            length += 1
        else:
            target = replacement.target
            moved = tokens_in_bundle(target.file, target.tokens)
            # The target may itself be replaced; no place before its end is.
            tokens, length = (*moved, *tokens[length:]), len(moved)
    return tokens


def _check_size(root: JsonValue, limits: Limits) -> None:
    """Refuse a bundle of too many levels, or nodes with shared ones counted once for each use."""
    sizes: dict[int, tuple[int, int]] = {}  # nodes with all repetitions, and levels, by `id`
    written = 0
    pending = [(root, False)]
    while pending:
        node, is_left = pending.pop()
        inner = list(node.values()) if isinstance(node, dict) else node
        if is_left:
            below = [sizes[id(it)] for it in inner if isinstance(it, dict | list)]
            nodes = 1 + len(inner) - len(below) + sum(size for size, _ in below)
            sizes[id(node)] = nodes, 1 + max((levels for _, levels in below), default=0)
        elif id(node) not in sizes:
            written += 1 + len(inner)
            pending.append((node, True))
            pending += [(it, False) for it in inner if isinstance(it, dict | list)]
    nodes, levels = sizes[id(root)]
    allowed = max(limits.max_expanded_nodes, limits.max_alias_growth * written)
    if nodes > allowed or levels > limits.max_depth:
        raise BrokenReferenceError(
            "too-large",
            f"`$ref`s expand this document to more than {allowed:,} nodes"
            if nodes > allowed
            else f"`$ref`s nest this document more than {limits.max_depth} levels deep",
            why="a `$ref` where OpenAPI does not allow one is replaced by a copy of its target",
            help="use `$ref` where OpenAPI allows it, e.g. in place of a schema or a path item",
        )


def _copy(root: JsonValue, rewrites: Rewrites, copies: dict[int, JsonValue]) -> JsonValue:
    """Copy a value with rewritten references; shared nodes remain shared.

    A replacement inside of itself is replaced by an empty object, since it would be infinite.
    """
    if not isinstance(root, dict | list):
        return root
    if id(root) in copies:
        return copies[id(root)]
    copies[id(root)] = _empty(root)
    ancestors = {id(root)}
    pending = [(root, _entries(root))]
    while pending:
        node, entries = pending[-1]
        made = copies[id(node)]
        for key, value in entries:
            replacement = rewrites.replacements.get(id(value))
            inner = value if replacement is None else replacement.value
            if (id(node), key) in rewrites.references:
                inner = rewrites.references[id(node), key]
            elif id(inner) in ancestors:
                inner = {}
            elif id(inner) in copies:
                inner = copies[id(inner)]
            elif isinstance(inner, dict | list):
                copies[id(inner)] = _empty(inner)
                ancestors.add(id(inner))
                pending.append((inner, _entries(inner)))
                inner = copies[id(inner)]
            if isinstance(made, list):
                made.append(inner)
            else:
                made[key] = inner
            if pending[-1][0] is not node:
                break
        else:
            pending.pop()
            ancestors.discard(id(node))
    return copies[id(root)]


def _empty(node: JsonValue) -> JsonValue:
    return [] if isinstance(node, list) else {}


def _entries(node: JsonValue) -> Iterator[tuple[Any, JsonValue]]:
    return iter(node.items() if isinstance(node, dict) else enumerate(node))
