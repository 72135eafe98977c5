"""Writing one file of the workspace's root."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all; its mode stays, and a link stays one."""
    place = path.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, staged = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    if place.exists():
        shutil.copymode(place, staged)
    else:
        Path(staged).chmod(0o644)
    Path(staged).replace(place)
