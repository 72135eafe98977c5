"""The server's own log: stderr, one line a record, nothing from a stranger left unescaped."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

MAX_LINE = 1000


def log(level: str, text: str) -> None:
    """Write one line to stderr. Control characters are escaped, and a long text is cut."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    stderr: TextIO | None = sys.stderr  # None where it was closed from the start
    if stderr is None:
        return
    try:
        stderr.write(f"{level}: {text[:MAX_LINE]}\n")
        stderr.flush()
    except (OSError, ValueError):
        return  # whoever started the server closed its stderr: there is nobody to tell
