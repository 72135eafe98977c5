"""The folder in which programs store what outlives them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def find_state_folder(program: str, environ: Mapping[str, str]) -> Path:
    """Return the folder of a program's state, by the conventions of the operating system."""
    if sys.platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library/Application Support"
    else:
        base = Path(environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
    return base / program
