"""Why an access token is not accepted. Each text may be shown to the caller."""

from __future__ import annotations


class InvalidTokenError(Exception):
    """The access token is invalid; the text completes "the access token …"."""


class IssuerUnavailableError(Exception):
    """A token cannot be checked now: its issuer does not answer, or answers with nonsense."""
