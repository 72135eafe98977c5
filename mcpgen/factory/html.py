"""HTML of reports, whose texts are escaped."""

from __future__ import annotations

from html import escape
from typing import NewType

from mcpgen.text.invisible import escape_invisible

Html = NewType("Html", str)
"""HTML whose texts are escaped."""


def text(value: str) -> Html:
    """Escape a text for an element or an attribute, with invisible characters made visible."""
    return Html(escape(escape_invisible(value), quote=True))
