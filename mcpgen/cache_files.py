"""Files of the user's cache, which may be missing or read-only without harm."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def touch(entry: Path) -> None:
    """Create an empty file of the cache; do nothing if it cannot be created."""
    with contextlib.suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True)
        entry.touch()


def store(entry: Path, content: bytes) -> None:
    """Replace a file of the cache at once; if that fails, keep the old file and report nothing."""
    with contextlib.suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True)
        fresh = entry.with_name(f"{entry.name}.{os.getpid()}")
        try:
            fresh.write_bytes(content)
            fresh.replace(entry)
        finally:
            fresh.unlink(missing_ok=True)
