"""A parsed OpenAPI document: its JSON value, its files, and the text position of each value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from mcpgen.diagnostics import Location
from mcpgen.ir.api import SkippedOperation
from mcpgen.jsonschema.types import JsonObject


class SourceFile(Struct, frozen=True):
    """One file of a document, byte for byte.

    `name` is its path relative to the document's folder, with forward slashes. The root file has
    its bare file name.
    """

    name: str
    content: bytes


class Secret(Struct, frozen=True):
    """A credential found in a document: its text, and the tokens of the string that contains it."""

    tokens: tuple[str, ...]
    text: str


class Document(Struct, frozen=True):
    """An OpenAPI document as decoded JSON, with the position of each value in the text.

    After `resolve`, `root` is self-contained: every `$ref` at a place where OpenAPI allows one is
    local ("#" and a percent-encoded JSON Pointer), and its target exists and has the right kind.
    The contents of other files are at `#/x-mcpgen-files/<file name, pointer-escaped>`. References
    may still be broken in skipped operations and in parts that only these use, and in examples,
    links, callbacks, webhooks and mappings of discriminators.
    """

    root: JsonObject
    version: str  # "2.0", "3.0", "3.1" or "3.2"
    shown_as: str  # name of the root file in diagnostics: as the user wrote it, or its URL
    path: Path | None  # of the root file; None if it was fetched from a URL
    url: str | None  # the base of relative server URLs, if the document was fetched
    files: tuple[SourceFile, ...]  # the root file first, then by name
    locate: Callable[[str], Location]  # JSON Pointer into `root` -> place in the text
    skipped: tuple[SkippedOperation, ...] = ()  # unusable operations; `resolve` reported them
    secrets: tuple[Secret, ...] = ()  # credentials in `root`
    etag: str = ""  # entity tag of the fetched document
