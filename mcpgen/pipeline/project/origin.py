"""Where a project's document comes from, as its lock records it for every machine."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from mcpgen.ir.document import Document
from mcpgen.ir.workspace import WORKSPACE_FILE
from mcpgen.openapi.source.urls import is_url, strip_secrets

_ROOT_MARKS = (".git", WORKSPACE_FILE)


def describe_source(document: Document, target: Path) -> str:
    """Say where a document came from, so that `locate_source` finds it again.

    A URL without credentials and query. A file by its path from the folder that holds the project,
    where both lie in one repository or workspace, so that they travel together; else by its bare
    name, as other machines have it elsewhere.
    """
    if document.url is not None:
        return strip_secrets(document.url)
    if document.path is None:
        return PurePosixPath(document.files[0].name).name
    return describe_path(document.path, target)


def describe_path(file: Path, target: Path) -> str:
    """Say where a file lies, as `describe_source` does of a document's."""
    path, folder = file.resolve(), target.resolve().parent
    root = _find_shared_root(folder)
    if root is None or not path.is_relative_to(root):
        return file.name
    return Path(os.path.relpath(path, folder)).as_posix()


def locate_source(recorded: str, target: Path) -> str:
    """Give what a recorded source means here: a URL, or a path from the current folder."""
    if is_url(recorded):
        return recorded
    path = target.resolve().parent / recorded
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # on another drive
        return path.as_posix()


def _find_shared_root(folder: Path) -> Path | None:
    """The nearest folder from this one upwards that is kept as a whole."""
    for parent in (folder, *folder.parents):
        if any((parent / mark).exists() for mark in _ROOT_MARKS):
            return parent
    return None
