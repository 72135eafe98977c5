"""Secrets of the caller whose request the current task serves; they are masked in its output."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mcpgen.runtime.auth.access import Access


class CallerSecrets:
    """The credentials in one request, and those that were fetched for it."""

    __slots__ = ("redactor", "values")

    def __init__(self, values: Iterable[str]) -> None:
        self.values = frozenset(filter(None, values))
        self.redactor: tuple[Any, Any] = (None, None)
        """The redactor without these secrets, and the one with them."""

    def add(self, *values: str) -> None:
        """Mask these values, too."""
        if not self.values.issuperset(values):
            self.values = self.values.union(values)
            self.redactor = (None, None)


_current: Final[ContextVar[CallerSecrets | None]] = ContextVar("caller_secrets", default=None)
get_caller_secrets: Final = _current.get
"""Return the secrets of the current request; None if it has none."""


def mask_secrets_of(access: Access) -> None:
    """Mask the credentials of a request in all further output of its task."""
    if access.headers or access.token:
        _current.set(CallerSecrets((*access.headers.values(), access.token)))


def mask_caller_secret(*values: str) -> None:
    """Mask a secret that was derived or fetched for the current request."""
    found = _current.get()
    if found is not None:
        found.add(*values)
