"""Permissions of an authorized HTTP request, and its credentials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Access:
    """Access of one HTTP request: its principal's scopes, its token, and credentials in headers.

    It belongs to a request and never to a session: each request is checked (MCP, "Access Token
    Usage").
    """

    principal: str = ""
    """Issuer and subject of the access token, joined; "" without authorization."""
    scopes: frozenset[str] = frozenset()
    token: str = field(default="", repr=False)
    """The validated access token, for token exchange only; it is never sent to the API."""
    expires_at: float = 0.0
    """Expiry of the token, in seconds since the epoch; 0.0 without authorization."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values of the headers that `credentials: {from: header}` names, by lower-case name."""
