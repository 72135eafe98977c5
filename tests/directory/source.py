"""The newest version of each API in a directory, which is a git repository.

The directory is read from the objects of the repository, so it needs no work tree.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_DOCUMENT = re.compile(r"APIs/(?P<api>.+)/(?P<version>[^/]+)/(?:openapi|swagger)\.(?:yaml|json)\Z")
_OPERATION = re.compile(
    rb"^    (?:get|put|post|delete|options|head|patch|trace):\s*$", re.MULTILINE
)
_PATHS = re.compile(rb"^paths:\s*$(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_PART = re.compile(r"\d+|[a-z]+")
_FINAL = "~"  # is sorted behind all letters
_EARLY = frozenset({"alpha", "beta", "snapshot", "preview", "rc", "dev", "unversioned", "unstable"})


@dataclass(frozen=True, slots=True)
class DirectoryDocument:
    """A document of the directory, by its path in the repository."""

    api: str
    version: str
    path: str
    size: int  # bytes; 0 where the copy of the repository has no content for it


def list_documents(repository: Path, commit: str) -> list[DirectoryDocument]:
    """Return all documents of a commit, by API and from its oldest version to its newest."""
    found = []
    for line in _run_git(repository, "ls-tree", "-r", "-l", "-z", commit).split(b"\0"):
        fields, _, path = line.decode().partition("\t")
        if matched := _DOCUMENT.fullmatch(path):
            size = fields.split()[3]
            found.append(
                DirectoryDocument(
                    matched["api"], matched["version"], path, int(size) if size.isdigit() else 0
                )
            )
    return sorted(found, key=lambda each: (each.api, make_version_key(each.version), each.path))


def choose_newest(documents: Iterable[DirectoryDocument]) -> list[DirectoryDocument]:
    """Return the last document of each API."""
    return list({each.api: each for each in documents}.values())


def group_versions(
    documents: Iterable[DirectoryDocument],
) -> dict[str, Sequence[DirectoryDocument]]:
    """Return the documents of each API that has several versions."""
    groups: defaultdict[str, list[DirectoryDocument]] = defaultdict(list)
    for each in documents:
        groups[each.api].append(each)
    return {api: versions for api, versions in groups.items() if len(versions) > 1}


def make_version_key(version: str) -> tuple[object, ...]:
    """Return a sort key for versions: numbers by value, and early versions before the final one."""
    parts = _PART.findall(version.lower())
    early = next((at for at, part in enumerate(parts) if part in _EARLY), len(parts))
    stage = parts[early] if early < len(parts) else _FINAL  # alpha, beta, preview, rc
    return (_list_numbers(parts[:early]), stage, _list_numbers(parts[early:]), version)


def _list_numbers(parts: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(part) for part in parts if part.isdigit())


def read_document(repository: Path, commit: str, document: DirectoryDocument) -> bytes:
    """Return the text of a document."""
    return _run_git(repository, "cat-file", "blob", f"{commit}:{document.path}")


def count_operations(text: bytes) -> int:
    """Count the operations of a document as the directory writes YAML, without parsing it."""
    paths = _PATHS.search(text)
    return len(_OPERATION.findall(paths[1])) if paths else 0


def _run_git(repository: Path, *words: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(repository), *words], stdout=subprocess.PIPE, check=True
    ).stdout
