"""Headers in which callers send their own credentials for the API (`from: header`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.transports.http.exchange import HttpError, HttpExchange

_NOBODY: Final = Access()


class CallerHeaders:
    """Reader of the headers that the contract names. No other header reaches a request."""

    def __init__(self, names: Iterable[str]) -> None:
        """Read these headers; `names` are in any case."""
        self.fields: Final = frozenset(name.lower().encode("ascii") for name in names)
        self._names = {field: field.decode("ascii") for field in self.fields}

    def read(self, exchange: HttpExchange) -> Access:
        """Return the access of a request with its credentials, for this request only.

        Raises:
            HttpError: a header is repeated, so that its value is not clear.
        """
        repeated = self.fields & exchange.head.repeated
        if repeated:
            names = ", ".join(sorted(self._names[field] for field in repeated))
            raise HttpError(400, f"duplicate header {names}")
        present = self._names.keys() & exchange.fields.keys()
        headers = {self._names[field]: exchange.text(field) or "" for field in present}
        return replace(exchange.access or _NOBODY, headers=headers)
