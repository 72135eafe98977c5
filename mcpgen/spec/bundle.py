"""Many files as one document, whose references are all local."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct, field

from mcpgen.diagnostics import Location
from mcpgen.ir.document import Document
from mcpgen.ir.json_pointer import json_pointer, pointer_tokens
from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.spec.document_files import DocumentFiles, OpenFile
from mcpgen.spec.references import Target

FILES_KEY = "x-mcpgen-files"


class Rewrites(Struct):
    """What differs between the bundle and the files, by `id` of the object that holds it."""

    references: dict[tuple[int, str], str] = field(default_factory=dict)  # by object and key
    maps: dict[int, JsonValue] = field(default_factory=dict)  # a `$ref` in place of a whole map

    def __bool__(self) -> bool:
        return bool(self.references or self.maps)


def local_reference(target: Target) -> str:
    """The reference, from anywhere in the bundle, to a place in one of its files."""
    within = () if target.file.is_root else (FILES_KEY, target.file.name)
    return "#" + quote(json_pointer((*within, *target.tokens)), safe="/~!$&'()*+,;=:@{}[] <>^|\\")


def needs_rewriting(reference: str, file: OpenFile, target: Target) -> bool:
    """Whether a reference in `file` would lead elsewhere when it stood in the bundle."""
    return not (file.is_root and unquote(reference) == unquote(local_reference(target)))


def bundled(
    document: Document, files: DocumentFiles, rewrites: Rewrites
) -> tuple[JsonObject, Callable[[str], Location]]:
    """Give the root object that holds all files, and the way from its pointers to their texts."""
    copies: dict[int, JsonValue] = {}
    root: JsonObject = _copy(document.root, rewrites, copies)
    by_name = {file.name: file for file in files.others}
    if by_name:
        root[FILES_KEY] = {
            name: _copy(file.value, rewrites, copies) for name, file in by_name.items()
        }

    def locate(pointer: str) -> Location:
        tokens = pointer_tokens(pointer)
        if tokens[:1] == (FILES_KEY,) and len(tokens) > 1 and tokens[1] in by_name:
            return by_name[tokens[1]].locate(tokens[2:])
        return document.locate(pointer)

    return root, locate


def _copy(root: JsonValue, rewrites: Rewrites, copies: dict[int, JsonValue]) -> JsonValue:
    """Copy with rewritten references; what was shared stays shared.

    A map that a `$ref` put inside of itself would have no end, and is left empty there.
    """
    if not isinstance(root, dict | list):
        return root
    if id(root) in copies:
        return copies[id(root)]
    copies[id(root)] = _empty(root)
    around = {id(root)}
    pending = [(root, _entries(root))]
    while pending:
        node, entries = pending[-1]
        made = copies[id(node)]
        for key, value in entries:
            inner = rewrites.maps.get(id(value), value) if isinstance(value, dict) else value
            if (id(node), key) in rewrites.references:
                inner = rewrites.references[id(node), key]
            elif id(inner) in around:
                inner = {}
            elif id(inner) in copies:
                inner = copies[id(inner)]
            elif isinstance(inner, dict | list):
                copies[id(inner)] = _empty(inner)
                around.add(id(inner))
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
            around.discard(id(node))
    return copies[id(root)]


def _empty(node: JsonValue) -> JsonValue:
    return [] if isinstance(node, list) else {}


def _entries(node: JsonValue) -> Iterator[tuple[Any, JsonValue]]:
    return iter(node.items() if isinstance(node, dict) else enumerate(node))
