"""Outcome of a tool that another tool called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcpgen.absent import ABSENT, Absent
from mcpgen.runtime.upstream.http.messages import HeaderFields


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """Outcome of a tool that another tool called.

    `value` is the decoded response of the API, or the result of an override; `status` is None if
    no request was sent.
    """

    operation: str
    value: Any
    status: int | None = None
    headers: HeaderFields = ()

    def header(self, name: str) -> str | Absent:
        """Return a header of the response, case-insensitively."""
        wanted = name.lower()
        return next((text for key, text in self.headers if key.lower() == wanted), ABSENT)
