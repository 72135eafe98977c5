"""The user's cache folder of mcpgen, and the hash of its code that its entries depend on."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import mcpgen
from mcpgen.ir.templates import template_root


def user_cache() -> Path:
    """Return mcpgen's folder in the user's cache."""
    if os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "mcpgen"


@functools.cache  # a process runs one code, and may ask for each of many servers
def code_digest() -> str:
    """Return a hash of the code and the templates of the running mcpgen."""
    digest = hashlib.sha256()
    for path in _list_sources():
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a third less for 900 files
            digest.update(file.read())
    return digest.hexdigest()


def _list_sources() -> list[str]:
    """List the code and the templates that determine the output."""
    package = _walk(str(Path(mcpgen.__file__).parent))
    code = [path for path in package if path.endswith((".py", ".tsv"))]
    return sorted([*code, *_walk(str(template_root()))])


def _walk(folder: str) -> Iterator[str]:
    """Yield the files below a folder; `Path.rglob` takes ten times as long."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir():
                yield entry.path
            elif entry.name != "__pycache__":
                yield from _walk(entry.path)
