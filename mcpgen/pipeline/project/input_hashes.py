"""Hashes of the files of a project that the result of a check depends on."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from mcpgen.emit.lockfile import Lock, LockTooNewError, LockUnreadableError, parse_lock, with_lf
from mcpgen.ir.file_set import LOCK_FILE, MANIFEST_FILE, TESTS_FILE

_BUNDLED: Final = ("pyproject.toml", "server.json")  # the README's figures change with the tests
_GENERATED: Final = "tests/generated/"
_OWN_MODULE: Final = re.compile(r"src/[^/]+/(?:handlers/|[^/]*\.py\Z)")
_ETAG: Final = re.compile(rb'"etag": "(?:[^"\\]|\\.)*", ')


CHECKED_INPUTS: Final = ("document", "manifest", "lock", "generated", "own", "runtime")
"""The inputs of the results of lint, tests and validation."""


class ProjectFiles:
    """The files of a project, each read once."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self._root = os.fspath(target)
        self._contents: dict[str, bytes | None] = {}

    def read(self, path: str) -> bytes | None:
        """Read a file; None if there is none.

        Raises:
            OSError: the file cannot be read.
        """
        if path not in self._contents:
            self._contents[path] = self._read(path)
        return self._contents[path]

    def _read(self, path: str) -> bytes | None:
        try:
            with open(f"{self._root}/{path}", "rb", buffering=0) as file:  # noqa: PTH123  (a pathlib object for each of thousands of files costs more than the reading)
                return file.readall()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The files of all packages in `src/`, sorted; an installation leaves others there."""
        folders = [entry.name for entry in self._scan("src") if entry.is_dir()]
        return self._list(f"src/{it}" for it in folders if not it.endswith(".egg-info"))

    @cached_property
    def generated(self) -> tuple[str, ...]:
        """The files of the `_generated` packages and of the generated tests, sorted."""
        packages = (path for path in self.sources if path.split("/")[2] == "_generated")
        return tuple(sorted([*packages, *(it for it in self._tests if it.startswith(_GENERATED))]))

    @cached_property
    def own(self) -> tuple[str, ...]:
        """The other files that decide what a server does and what its tests call, sorted."""
        modules = (path for path in self.sources if _OWN_MODULE.match(path))
        tests = (path for path in self._tests if not path.startswith(_GENERATED))
        cases = [TESTS_FILE] if self.read(TESTS_FILE) is not None else []
        return tuple(sorted([*modules, *tests, *cases]))

    @cached_property
    def _tests(self) -> tuple[str, ...]:
        return self._list(["tests"])

    def digest(self, paths: Iterable[str]) -> str:
        """Hash the paths and contents of files; line ends of texts do not count."""
        digest = hashlib.sha256()
        for path in paths:
            content = with_lf(self.read(path) or b"")
            digest.update(f"{path}\0{len(content)}\0".encode())
            digest.update(content)
        return digest.hexdigest()

    @cached_property
    def lock(self) -> Lock | None:
        """The lock; None if it is missing, damaged or of a newer mcpgen."""
        try:
            return parse_lock(self.read(LOCK_FILE) or b"")
        except (LockTooNewError, LockUnreadableError):
            return None

    def _scan(self, path: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(f"{self._root}/{path}") as entries:
                yield from entries
        except (FileNotFoundError, NotADirectoryError):
            return

    def _list(self, folders: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(path for folder in folders for path in self._walk(folder)))

    def _walk(self, folder: str) -> Iterator[str]:
        """Yield the files below a folder, without compiled ones; linked folders are not entered."""
        for entry in self._scan(folder):
            path = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from self._walk(path)
            elif entry.is_file():
                yield path


def hash_inputs(files: ProjectFiles, names: Iterable[str] = CHECKED_INPUTS) -> dict[str, str]:
    """Return the hashes of inputs by name; `runtime` is a version."""
    return {name: _HASHES[name](files) for name in names}


def find_distribution(target: Path) -> importlib.metadata.Distribution:
    """Find the runtime in the server's own environment, else take this one."""
    for packages in ("lib/python3*/site-packages", "Lib/site-packages"):
        folders = [str(folder) for folder in (target / ".venv").glob(packages)]
        for found in importlib.metadata.distributions(name="mcpgen", path=folders):
            return found
    return importlib.metadata.distribution("mcpgen")


def _find_runtime_version(files: ProjectFiles) -> str:
    own = files.target / ".venv"
    return find_distribution(files.target).version if own.exists() else _find_own_version()


@cache
def _find_own_version() -> str:
    return importlib.metadata.version("mcpgen")


def _hash_documents(files: ProjectFiles) -> str:
    documents = () if files.lock is None else files.lock.documents
    return files.digest(sorted(path for it in documents for path in (it.fetched or it.sha256)))


def _hash_lock(files: ProjectFiles) -> str:
    """Hash the lock without entity tags: they change when a server restarts, and decide nothing."""
    content = with_lf(files.read(LOCK_FILE) or b"")
    if b'"etag"' in content:
        content = _ETAG.sub(b"", content)
    digest = hashlib.sha256(f"{LOCK_FILE}\0{len(content)}\0".encode())
    digest.update(content)
    return digest.hexdigest()


_HASHES: Final[dict[str, Callable[[ProjectFiles], str]]] = {
    "document": _hash_documents,
    "manifest": lambda files: files.digest([MANIFEST_FILE]),
    "lock": _hash_lock,
    "generated": lambda files: files.digest(files.generated),
    "own": lambda files: files.digest(files.own),
    "package": lambda files: files.digest([*files.sources, *_BUNDLED]),
    "runtime": _find_runtime_version,
}
