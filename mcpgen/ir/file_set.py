"""The planned files of a project, and who owns each of them."""

from __future__ import annotations

import enum

from msgspec import Struct

MANIFEST_FILE = "mcpgen.yaml"
LOCK_FILE = "mcpgen.lock"
ANSWERS_FILE = ".copier-answers.yml"


class Owner(enum.StrEnum):
    """Owner of a file, which determines what a later run does with the file."""

    GENERATED = "generated"  # rewritten by every run; a run refuses to overwrite manual edits
    MERGED = "merged"  # part of the skeleton: edits of the user and of the template are merged
    OWNED = "owned"  # owned by the user: created once, never changed again


class PlannedFile(Struct, frozen=True):
    """One planned file. `path` is relative to the target, with forward slashes."""

    path: str
    content: bytes
    owner: Owner
    is_executable: bool = False


FileSet = tuple[PlannedFile, ...]
"""Planned files, sorted by path, without duplicates."""
