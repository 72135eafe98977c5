"""Files of the user's cache that hold what the last run in a project's folder made."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec

from mcpgen.cache_files import store

MAX_BYTES = 200_000_000  # of all files of one kind: those of deleted projects stay otherwise
T = TypeVar("T")
_DIGEST_BYTES = hashlib.sha256().digest_size


class FolderCache:
    """What the last run in a folder made, of one kind: one file for each folder.

    A file that is damaged is as good as none.
    """

    def __init__(self, cache: Path, kind: str, folder: Path) -> None:
        """Initialize with the folder of the cache, a name, and the folder of the project."""
        name = hashlib.sha256(str(folder.absolute()).encode("utf-8", "surrogateescape"))
        self._path = cache / kind / name.hexdigest()

    @property
    def exists(self) -> bool:
        """Whether an earlier run has written the file."""
        return self._path.exists()

    def read(self, kind: type[T]) -> T | None:
        """Return the value of type `kind` that the last run stored; None if there is none."""
        try:
            stored = self._path.read_bytes()
        except OSError:
            return None
        digest, content = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != digest:
            return None
        try:
            return msgspec.msgpack.decode(content, type=kind)
        except msgspec.DecodeError:
            return None

    def write(self, value: object) -> None:
        """Store a value for the next run, if the cache can be written."""
        content = msgspec.msgpack.encode(value)
        store(self._path, hashlib.sha256(content).digest() + content)
        _remove_oldest(self._path.parent, MAX_BYTES)


def _remove_oldest(folder: Path, max_bytes: int) -> None:
    """Remove the files that were written first, until the others have at most `max_bytes`."""
    total = 0
    with contextlib.suppress(OSError):
        files = [(path.stat(), path) for path in folder.iterdir()]
        for about, path in sorted(files, key=lambda it: it[0].st_mtime, reverse=True):
            total += about.st_size
            if total > max_bytes:
                path.unlink(missing_ok=True)
