"""Many files as one document, whose references are all local."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from mcpgen.diagnostics import Location
from mcpgen.ir.document import Document
from mcpgen.ir.json_pointer import json_pointer, pointer_tokens
from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.spec.document_files import DocumentFiles, OpenFile
from mcpgen.spec.references import Target

FILES_KEY = "x-mcpgen-files"


@dataclass(slots=True)
class Rewrites:
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

    def copy(node: JsonValue) -> JsonValue:
        """Copy with rewritten references; what was shared stays shared."""
        if not isinstance(node, dict | list):
            return node
        made = copies.get(id(node))
        if made is not None:
            return made
        if isinstance(node, list):
            made = [copy(item) for item in node]
        elif id(node) in rewrites.maps:
            made = copy(rewrites.maps[id(node)])
        else:
            made = {
                key: rewrites.references.get((id(node), key)) or copy(value)
                for key, value in node.items()
            }
        copies[id(node)] = made
        return made

    root: JsonObject = copy(document.root)
    by_name = {file.name: file for file in files.others}
    if by_name:
        root[FILES_KEY] = {name: copy(file.value) for name, file in by_name.items()}

    def locate(pointer: str) -> Location:
        tokens = pointer_tokens(pointer)
        if tokens[:1] == (FILES_KEY,) and len(tokens) > 1 and tokens[1] in by_name:
            return by_name[tokens[1]].locate(tokens[2:])
        return document.locate(pointer)

    return root, locate
