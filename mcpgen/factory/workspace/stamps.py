"""Detection of servers that have not changed after a clean run of a command, by content.

A stamp is a hash of everything that a command reads of a server: its folder, the files outside it
that its lock names, and the version of mcpgen. A clean run stores the stamp in the user's cache (as
the name of an empty file). Git is not involved, so this works in shallow clones and zip downloads.
An empty cache costs time, but never changes a result.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

from mcpgen.cache_files import touch
from mcpgen.diagnostics import Problems
from mcpgen.ir.file_set import LOCK_FILE
from mcpgen.pipeline.project.evidence import EVIDENCE_FOLDER, README_FILE, set_figures
from mcpgen.pipeline.project.project_folder import find_lock, read_file, toolchain
from mcpgen.pipeline.user_cache import code_digest, user_cache

LEFT_BY_TOOLS = frozenset(
    {
        ".git", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv",
        "__pycache__", "node_modules",
    }
)  # fmt: skip
# Files of runs in a server's folder, which no command reads, except the pins.
_LEFT_BY_RUNS = frozenset(
    {".mcpgen/evidence", ".mcpgen/rescued", ".mcpgen/stage", ".mcpgen/running", "build", "dist"}
)

_READ_BY_RUNS = (f"{EVIDENCE_FOLDER}/pins.json",)


class Stamps:
    """The stamps of one command with certain `rules`."""

    def __init__(self, command: str, rules: str) -> None:
        self._folder = user_cache() / "stamps"
        tools = sorted(toolchain().items())
        python = sys.version_info[:3]
        self._salt = repr((command, rules, python, tools, code_digest())).encode()

    def stamp(self, target: Path) -> str:
        """Hash all that the command reads of the server at `target`; "" if it cannot be read."""
        try:
            return self._stamp(target)
        except OSError:
            return ""

    def _stamp(self, target: Path) -> str:
        stamp = hashlib.sha256(self._salt)
        outside = _find_outside_files(target)
        for path in (*sorted(_list_files(target)), *outside, *_READ_BY_RUNS):
            content = read_file(target, path)
            if path == README_FILE and content is not None:
                content = set_figures(content, "")  # a run of the tests writes them
            size = -1 if content is None else len(content)
            stamp.update(f"\0{path}\0{size}\0".encode("utf-8", "surrogateescape"))
            stamp.update(content or b"")
        return stamp.hexdigest()

    def has_stamp(self, stamp: str) -> bool:
        """Return whether a clean run stored this stamp."""
        return bool(stamp) and (self._folder / stamp).exists()

    def note(self, stamp: str) -> None:
        """Store the stamp of a clean run."""
        if stamp:
            touch(self._folder / stamp)


def list_installed() -> str:
    """Return all installed distributions with their versions, on which test results depend."""
    return repr(sorted(f"{each.name}=={each.version}" for each in distributions()))


def _list_files(target: Path) -> Iterator[str]:
    """Yield the paths of the files below `target`, following links, without files of tools."""
    for folder, subfolders, files in os.walk(target, followlinks=True):
        inside = os.path.relpath(folder, target)
        prefix = "" if inside == "." else f"{inside.replace(os.sep, '/')}/"
        subfolders[:] = [
            name
            for name in subfolders
            if name not in LEFT_BY_TOOLS
            and f"{prefix}{name}" not in _LEFT_BY_RUNS
            and not name.endswith(".egg-info")
            and not _links_to_parent(os.path.join(folder, name))  # noqa: PTH118  (a walk of thousands)
        ]
        yield from (f"{prefix}{name}" for name in files if f"{prefix}{name}" not in _LEFT_BY_RUNS)


def _links_to_parent(folder: str) -> bool:
    """Return whether a folder is a link to one of its parents, an endless walk."""
    if not Path(folder).is_symlink():
        return False
    return Path(folder).parent.resolve().is_relative_to(Path(folder).resolve())


def _find_outside_files(target: Path) -> list[str]:
    """Return the document files in the lock that are outside the folder."""
    if b'"../' not in (read_file(target, LOCK_FILE) or b""):
        return []
    found = find_lock(target, Problems())  # the command itself reports its problems
    inputs = found.lock.inputs if found else {}
    return sorted(path for path in inputs if path.startswith("../"))
