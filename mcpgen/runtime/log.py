"""The server's own log: stderr, one line a record, nothing from a stranger left unescaped."""

from __future__ import annotations

import sys

MAX_LINE = 1000


def log(level: str, text: str) -> None:
    """Write one line to stderr. Control characters are escaped, and a long text is cut."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    try:
        sys.stderr.write(f"{level}: {text[:MAX_LINE]}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # whoever started the server closed its stderr: there is nobody to tell
