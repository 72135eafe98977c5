"""Writing one file by itself."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path


def write_atomically(place: Path, content: bytes) -> None:
    """Write a file as a whole or not at all; its mode stays. No link is followed, but replaced.

    Raises:
        OSError: the disk refused; nothing was written.
    """
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    staged = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if place.exists():
            shutil.copymode(place, staged)
        else:
            staged.chmod(0o644)
        staged.replace(place)
    finally:
        staged.unlink(missing_ok=True)
