"""Facts about a document and decisions about the server that `mcpgen new` shows."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class FoundDocument(Struct, frozen=True):
    """Facts about one document that `mcpgen new` shows."""

    document: str  # as the user wrote it: a path or a URL
    title: str
    version: str  # of the API
    openapi: str  # "2.0", "3.0", "3.1" or "3.2"
    bytes: int
    files: int
    operations: int  # including those that cannot be served
    reading: int  # operations with a safe method (RFC 9110, section 9.2.1)
    tags: Mapping[str, int]  # operations of each first tag, the largest first
    security_schemes: Mapping[str, str]  # kinds by name: "API key in the header `X-Key`"
    servers: tuple[str, ...]  # URLs; relative if the document leaves them so


class Decision(Struct, frozen=True):
    """One decision. `change` names options of `new` (`--name`) and keys of the manifest."""

    topic: str
    decision: str
    reason: str
    change: tuple[str, ...]
    is_detail: bool = False  # shown with `--verbose` only
