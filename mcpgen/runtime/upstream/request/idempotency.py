"""Idempotency keys: a header by which an API recognizes a repeated request.

Source: draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mcpgen.runtime.upstream.request.building import RequestParts
from mcpgen.runtime.upstream.request.rules import RequestRules


def make_idempotency_key() -> str:
    """Return a fresh unguessable key: a UUID of version 4."""
    from uuid import uuid4  # only for the servers that send keys

    return str(uuid4())


def add_idempotency_key(
    parts: RequestParts, rules: RequestRules, new_key: Callable[[], str]
) -> tuple[RequestParts, bool]:
    """Add a fresh key if the rules name a header for it; return also whether the request has one.

    A key from an argument, a setting or a default header is kept.
    """
    header = rules.idempotency_header
    if not header:
        return parts, False
    own = [value for name, value in parts.headers if name.lower() == header.lower()]
    if own:
        return parts, all(own)
    return replace(parts, headers=(*parts.headers, (header, new_key()))), True
