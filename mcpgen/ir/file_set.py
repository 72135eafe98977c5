"""Files to be written, before any is."""

from __future__ import annotations

import enum

from msgspec import Struct

MANIFEST_FILE = "mcpgen.yaml"
LOCK_FILE = "mcpgen.lock"
ANSWERS_FILE = ".copier-answers.yml"


class Owner(enum.StrEnum):
    """Whose a file is, which decides what a later run does with it."""

    GENERATED = "generated"  # rewritten by every run; a hand edit is refused
    MERGED = "merged"  # the skeleton: the user's edits and the template's are brought together
    OWNED = "owned"  # the user's: created once, never touched again


class PlannedFile(Struct, frozen=True):
    """One file of the package: its path relative to the target, with forward slashes."""

    path: str
    content: bytes
    owner: Owner
    is_executable: bool = False


FileSet = tuple[PlannedFile, ...]
"""Planned files, by path; no path stands in it twice."""
