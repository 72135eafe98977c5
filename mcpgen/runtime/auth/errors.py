"""Errors of the validation of access tokens. Their texts may be shown to the caller."""

from __future__ import annotations


class InvalidTokenError(Exception):
    """The access token is invalid; the text completes "the access token …"."""


class IssuerUnavailableError(Exception):
    """A token cannot be checked now: its issuer does not respond, or the response is invalid."""
