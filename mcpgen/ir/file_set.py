"""The planned files of a project, and their owners."""

from __future__ import annotations

import enum

from msgspec import Struct

from mcpgen.text.identifiers import Identifier

MANIFEST_FILE = "mcpgen.yaml"
TESTS_FILE = "mcpgen.tests.yaml"
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


FileSet = tuple[PlannedFile, ...]
"""Planned files, sorted by path, without duplicates."""


STATE_FOLDER = ".mcpgen"
CONFLICT_FOLDER = f"{STATE_FOLDER}/conflicts"
RESCUE_FOLDER = f"{STATE_FOLDER}/rescued"
VENDORED_WHEEL = "vendor/mcpgen-"  # prefix of its path; other wheels there are the user's
_GENERATED_FILES = frozenset({LOCK_FILE, ANSWERS_FILE})
_GENERATED_PATHS = (f"{STATE_FOLDER}/", "openapi/", "tests/generated/", VENDORED_WHEEL)
_OWNED_FILES = frozenset({MANIFEST_FILE})
_OWNED_FOLDERS = ("evals/", "overlays/", "tests/")


def owner_of(path: str, package: Identifier) -> Owner:
    """Return the owner of the file at `path`; `package` is the server's Python package.

    `generated` files are rewritten by every run. `owned` files belong to the user and are written
    once. The others are `merged`: the skeleton, which both the user and mcpgen may change.
    """
    is_document = path in {"openapi.json", "openapi.yaml"}
    if is_document or path in _GENERATED_FILES or path.startswith(_GENERATED_PATHS):
        return Owner.GENERATED
    if path.startswith(f"src/{package}/_generated/"):
        return Owner.GENERATED
    if path in _OWNED_FILES or path.startswith((f"src/{package}/handlers/", *_OWNED_FOLDERS)):
        return Owner.OWNED
    return Owner.MERGED
