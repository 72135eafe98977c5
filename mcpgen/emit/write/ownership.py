"""Whose each file of a generated project is, decided by its path alone."""

from __future__ import annotations

from mcpgen.ir.file_set import ANSWERS_FILE, LOCK_FILE, MANIFEST_FILE, Owner
from mcpgen.text.identifiers import Identifier

STATE_FOLDER = ".mcpgen"
CONFLICT_FOLDER = f"{STATE_FOLDER}/conflicts"
RESCUE_FOLDER = f"{STATE_FOLDER}/rescued"
VENDORED_WHEEL = "vendor/mcpgen-"  # what its path begins with; other wheels there are the user's
_GENERATED_FILES = frozenset({LOCK_FILE, ANSWERS_FILE})
_GENERATED_PATHS = (f"{STATE_FOLDER}/", "openapi/", "tests/generated/", VENDORED_WHEEL)
_OWNED_FILES = frozenset({MANIFEST_FILE})
_OWNED_FOLDERS = ("overlays/", "tests/")


def owner_of(path: str, package: Identifier) -> Owner:
    """Say whose the file at `path` is; `package` is the server's Python package.

    `generated`: rewritten by every run. `owned`: the user's, written once. What is neither is the
    skeleton, which both may change.
    """
    is_document = path in {"openapi.json", "openapi.yaml"}
    if is_document or path in _GENERATED_FILES or path.startswith(_GENERATED_PATHS):
        return Owner.GENERATED
    if path.startswith(f"src/{package}/_generated/"):
        return Owner.GENERATED
    if path in _OWNED_FILES or path.startswith((f"src/{package}/handlers/", *_OWNED_FOLDERS)):
        return Owner.OWNED
    return Owner.MERGED
