"""The user's cache folder of mcpgen, and the hash of its code that its entries depend on."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
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
    for path in _sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources() -> list[Path]:
    """List the code and the templates that determine the output."""
    package = Path(mcpgen.__file__).parent
    templates = [path for path in template_root().rglob("*") if path.is_file()]
    return sorted([*package.rglob("*.py"), *package.rglob("*.tsv"), *templates])
