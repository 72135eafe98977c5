"""Limits for untrusted documents: size, depth, YAML aliases, files and download time."""

from __future__ import annotations

from msgspec import Struct


class Limits(Struct, frozen=True):
    """Limits for one document with all its files.

    With YAML aliases expanded, it may have `max_alias_growth` times its written nodes or
    `max_expanded_nodes`, whichever is more.
    """

    max_document_bytes: int = 32 * 1024 * 1024
    max_depth: int = 256
    max_alias_growth: int = 10
    max_expanded_nodes: int = 1_000_000
    max_number_digits: int = 4_000
    max_files: int = 5_000
    max_ref_chain: int = 128
    fetch_timeout_seconds: float = 30.0


DEFAULT_LIMITS = Limits()
