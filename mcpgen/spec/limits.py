"""How much of a stranger's document is read before it is refused."""

from __future__ import annotations

from msgspec import Struct


class Limits(Struct, frozen=True):
    """Bounds on one document, all its files together.

    YAML aliases may make a document grow to `max_alias_growth` times its written nodes or to
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
