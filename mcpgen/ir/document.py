"""A parsed API description, before anything was understood of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from mcpgen.diagnostics import Location
from mcpgen.ir.api import LeftOut
from mcpgen.ir.json_types import JsonObject


class SourceFile(Struct, frozen=True):
    """One file of a document, byte for byte.

    `name` is its path relative to the document's folder, with forward slashes; for the root file
    it is the bare file name.
    """

    name: str
    content: bytes


class Secret(Struct, frozen=True):
    """A credential that stands in a document: its text, and the place of the string with it."""

    tokens: tuple[str, ...]
    text: str


class Document(Struct, frozen=True):
    """An OpenAPI document as decoded JSON, with a way back to the text.

    After `resolve`, `root` is self-contained: every `$ref` that stands where OpenAPI has references
    is local ("#" and a JSON Pointer, percent-encoded as in a URI) and leads to what belongs there,
    and what other files held stands under `#/x-mcpgen-files/<file name, pointer-escaped>`.
    The only exceptions lie in the operations that `left_out` names, in what only they need, and in
    what costs nothing: examples, links, callbacks, webhooks and mappings of discriminators.
    """

    root: JsonObject
    version: str  # "2.0", "3.0", "3.1" or "3.2"
    shown_as: str  # how diagnostics name the root file: as the user wrote it, or its URL
    path: Path | None  # where the root file lies; None when it came from a URL
    url: str | None  # where it was fetched from; relative server URLs are resolved against it
    files: tuple[SourceFile, ...]  # the root file first, then by name
    locate: Callable[[str], Location]  # JSON Pointer into `root` -> place in the text
    left_out: tuple[LeftOut, ...] = ()  # operations that resolving found unusable, told already
    secrets: tuple[Secret, ...] = ()  # credentials in `root`
    etag: str = ""  # what the server calls it that it was fetched from
