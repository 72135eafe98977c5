"""Escaping of invisible and control characters in terminal output."""

from __future__ import annotations

from mcpgen.text.invisible import escape_invisible


def visible(text: str) -> str:
    """Return `text` on one line, with control and invisible characters escaped.

    Text from documents reaches the terminal only through this function.
    """
    return escape_invisible(text)
