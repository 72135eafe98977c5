"""Reports of bugs in mcpgen: files that only the user can read."""

from __future__ import annotations

import os
import sys
import tempfile


def write_bug_report(traceback: str) -> str:
    """Write the traceback into a new file and return its path; "" if that fails."""
    try:
        handle, path = tempfile.mkstemp(prefix="mcpgen-bug-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"Python {sys.version}\n\n{traceback}")
    except OSError:
        return ""
    return path
