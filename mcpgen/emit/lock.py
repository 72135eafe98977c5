"""`mcpgen.lock`: what the last run read, wrote and called its tools.

JSON that is reviewed and merged as text: sorted, one entry a line, and nothing in it that two
machines would write differently.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpgen.ir.file_set import Owner
from mcpgen.ir.json_types import JsonObject

LOCK_VERSION = 1


class LockUnreadableError(Exception):
    """`mcpgen.lock` is not what mcpgen writes; says why and what to do."""


@dataclass(frozen=True, slots=True)
class LockedFile:
    """A file as a run left it."""

    owner: Owner
    sha256: str


@dataclass(frozen=True, slots=True)
class LockedDocument:
    """The API description: where it came from, and what of it lies in the project."""

    source: str  # the URL, or the bare name of the file
    root: str  # the vendored root file's path
    sha256: Mapping[str, str]  # of each vendored file, by path


@dataclass(frozen=True, slots=True)
class Lock:
    """The state of a generated project. Everything in it can be made anew."""

    mcpgen: str
    toolchain: Mapping[str, str]
    document: LockedDocument
    manifest: str  # SHA-256 of mcpgen.yaml
    answers: str  # SHA-256 of the resolved answers, as they are recorded
    files: Mapping[str, LockedFile] = field(default_factory=dict)
    operations: Mapping[str, str] = field(default_factory=dict)  # key -> tool name
    surface: str = ""  # SHA-256 of the tool surface; "" where an older mcpgen recorded none


def sha256(content: bytes) -> str:
    """Hash a file's content, as the lock records it."""
    return hashlib.sha256(content).hexdigest()


def dump_lock(lock: Lock) -> bytes:
    """Write a lock."""
    sections: JsonObject = {
        "lock_version": LOCK_VERSION,
        "mcpgen": lock.mcpgen,
        "toolchain": dict(lock.toolchain),
        "inputs": {
            "answers": lock.answers,
            "document": {
                "source": lock.document.source,
                "root": lock.document.root,
                "sha256": dict(lock.document.sha256),
            },
            "manifest": lock.manifest,
        },
        "files": {
            path: {"class": file.owner.value, "sha256": file.sha256}
            for path, file in lock.files.items()
        },
        "operations": {key: {"tool": tool} for key, tool in lock.operations.items()},
        "surface": {"sha256": lock.surface},
    }
    entries = (f"  {json.dumps(name)}: {_section(sections[name])}" for name in sorted(sections))
    return ("{\n" + ",\n".join(entries) + "\n}\n").encode()


def _section(value: Any) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    lines = (
        f"    {json.dumps(key)}: {json.dumps(value[key], sort_keys=True)}" for key in sorted(value)
    )
    return "{\n" + ",\n".join(lines) + "\n  }"


def parse_lock(content: bytes) -> Lock:
    """Read a lock.

    Raises:
        LockUnreadableError: it is no lock, holds merge conflicts, or a newer mcpgen wrote it.
    """
    if b"<<<<<<< " in content or b">>>>>>> " in content:
        raise LockUnreadableError("mcpgen.lock has conflict markers of a merge in it")
    try:
        sections = json.loads(content)
        version = sections["lock_version"]
        if isinstance(version, int) and version > LOCK_VERSION:
            raise LockUnreadableError(
                f"mcpgen.lock was written by mcpgen {sections.get('mcpgen')}, which is newer"
            )
        return _lock(sections)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LockUnreadableError("mcpgen.lock is not what mcpgen writes") from None


def _lock(sections: JsonObject) -> Lock:
    inputs = sections["inputs"]
    document = inputs["document"]
    return Lock(
        mcpgen=sections["mcpgen"],
        toolchain=dict(sections["toolchain"]),
        document=LockedDocument(document["source"], document["root"], dict(document["sha256"])),
        manifest=inputs["manifest"],
        answers=inputs["answers"],
        files={
            path: LockedFile(Owner(entry["class"]), entry["sha256"])
            for path, entry in sections["files"].items()
        },
        operations={key: entry["tool"] for key, entry in sections["operations"].items()},
        surface=sections.get("surface", {}).get("sha256", ""),
    )
