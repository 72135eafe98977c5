"""The sources of a project: entries of the manifest with what the lock records of each.

The prefix of its operation keys, its settings and its tool names stay with a document. So adding,
renaming or removing a source does not change the others.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import UNSET, Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.emit.lockfile import Lock, LockedDocument
from mcpgen.ir.api import ApiSource
from mcpgen.ir.document import Document
from mcpgen.ir.manifest import LocatedManifest, Manifest, SourceEntry
from mcpgen.ir.tool_plan import EnvironmentVariable
from mcpgen.ir.workspace import WORKSPACE_FILE
from mcpgen.openapi.source.urls import is_url, strip_secrets
from mcpgen.pipeline.project.project_folder import read_file


class Source(Struct, frozen=True):
    """A source of the manifest, identified."""

    entry: SourceEntry
    locked: LockedDocument  # as the lock has it, or will have it
    name: str  # as the lock records it, or will record it
    settings: str  # follows the server's prefix in its settings

    @property
    def origin(self) -> LockedDocument:
        """Record of its document for the lock, with the name and settings of the source."""
        return replace(self.locked, name=self.name, settings=self.settings)

    def api_source(self, published_settings: Mapping[str, str]) -> ApiSource:
        """Return the source of its operations.

        `published_settings` are those of the generated package by security scheme, for a project
        whose lock does not record them.
        """
        start = f"{self.name}." if self.name else ""
        published = self.locked.credentials or {
            scheme.removeprefix(start): setting
            for scheme, setting in published_settings.items()
            if scheme.startswith(start)
        }
        return ApiSource(
            self.name,
            settings=self.settings,
            published_settings=published,
            tool_prefix=self.entry.prefix,
            credentials=self.entry.credentials,
        )


def server_word(manifest: Manifest) -> str:
    """Return the name of the server in the form of a source's name."""
    return manifest.server.name.replace("-", "_")


def find_entry(manifest: Manifest, label: str) -> SourceEntry | None:
    """Find the source with this name, or else with its document at this path."""
    return next(
        (entry for entry in manifest.sources if entry.name == label),
        next((entry for entry in manifest.sources if entry.document == label), None),
    )


def identify_sources(intent: LocatedManifest, lock: Lock, problems: Problems) -> tuple[Source, ...]:
    """Find the record in the lock of each source of the manifest; identify the new sources.

    Raises:
        RejectedError: two sources cannot be distinguished.
    """
    entries = intent.manifest.sources
    locked = [_find_locked(entry, lock, is_only=len(entries) == 1) for entry in entries]
    if lock.operations and not lock.documents:
        names = _find_published_sources(intent, lock, problems)
    else:
        is_first = not lock.documents and len(entries) == 1
        names = [
            "" if is_first else _find_name(entry, of)
            for entry, of in zip(entries, locked, strict=True)
        ]
    server = server_word(intent.manifest)
    settings = [
        _find_settings(name, of) if of in lock.documents else settings_of(name, server)
        for name, of in zip(names, locked, strict=True)
    ]
    _check_distinct(names, settings, intent, problems)
    return tuple(map(Source, entries, locked, names, settings))


def _find_locked(entry: SourceEntry, lock: Lock, *, is_only: bool) -> LockedDocument:
    """Return the record of a source in the lock; for a new source, a record with its path only."""
    by_root = {document.root: document for document in lock.documents}
    if entry.document in by_root:
        return by_root[entry.document]
    moved = [each for each in lock.documents if each.name and each.name == entry.name]
    if not moved and is_only and len(lock.documents) == 1:
        moved = list(lock.documents)
    return moved[0] if moved else LockedDocument("", {}, entry.document)


def _find_name(entry: SourceEntry, locked: LockedDocument) -> str:
    # A source whose keys have no name keeps such keys; another one follows the manifest.
    return "" if locked.name == "" else entry.name or locked.name or ""


def _find_published_sources(intent: LocatedManifest, lock: Lock, problems: Problems) -> list[str]:
    """Return the name in each source's operation keys, if the lock records only the keys."""
    entries = intent.manifest.sources
    methods = {key.partition(" ")[0] for key in lock.operations}
    begins = {method.rpartition(":")[0] for method in methods}  # "rail:GET", "GET"
    open_ = [entry for entry in entries if entry.name not in begins - {""}]
    unnamed = [entry for entry in open_ if not entry.name]
    if "" in begins and len(open_) > 1 and not unnamed:
        problems.error(
            "source-name",
            "unknown which source has the operation keys without a name",
            at=intent.locate(("sources",)),
            why="mcpgen.lock records it, and is lost; a wrong one would rename tools and settings",
            help="take mcpgen.lock back from version control, or remove the `name` of that source",
        )
        raise RejectedError
    is_unnamed = "" in begins or len(entries) == 1
    first = unnamed or (open_ if is_unnamed else [])
    return ["" if entry in first else entry.name for entry in entries]


def _find_settings(name: str, locked: LockedDocument) -> str:
    if locked.settings is not UNSET:
        return locked.settings
    return f"{name.upper()}_" if name else ""  # as in version 1, which did not record it


def settings_of(name: str, server: str) -> str:
    """Return the prefix of a new source's settings, after that of the server.

    It is "" for a source with the name of its server, so that the name is not repeated.
    """
    return "" if name in ("", server) else f"{name.upper()}_"


def _check_distinct(
    names: Sequence[str], settings: Sequence[str], intent: LocatedManifest, problems: Problems
) -> None:
    """Check that all sources have different names in operation keys, and different settings."""
    entries = intent.manifest.sources
    name_count, settings_count = Counter(names), Counter(settings)
    for number, (entry, name, setting) in enumerate(zip(entries, names, settings, strict=True)):
        at = intent.locate(("sources", str(number)))
        if name_count[name] > 1:
            problems.error(
                "source-name",
                f"`{entry.document}` shares the operation keys of another source",
                at=at,
                why=f"their operations have the keys `{name}:GET /…`"
                if name
                else "the operations of both have keys without a name, such as `GET /…`",
                help="give the source that you added last a `name` of its own",
            )
        elif settings_count[setting] > 1:
            problems.error(
                "source-name",
                f"`{entry.label}` shares the settings of another source",
                at=at,
                why=f"both would read `…_{setting}BASE_URL`",
                help="give the source that you added last another `name`",
            )
    if problems.has_errors:
        raise RejectedError


def read_setting_prefixes(target: Path) -> dict[str, str]:
    """Read the prefix of the settings of each security scheme from the generated package."""
    found: dict[str, str] = {}
    for path in sorted(target.glob("src/*/_generated/contract.json")):
        content = read_file(target, path.relative_to(target).as_posix()) or b""
        try:
            entries = json.loads(content)["environment"]
            for entry in entries:
                if entry.get("scheme"):
                    variable = EnvironmentVariable(
                        entry["name"], "", required=False, secret=False, part=entry["part"]
                    )
                    found[entry["scheme"]] = variable.stem
        except (ValueError, LookupError, TypeError, AttributeError):
            continue  # edited by hand, which is reported elsewhere
    return found


_ROOT_MARKS = (".git", WORKSPACE_FILE)


def describe_source(document: Document, target: Path) -> str:
    """Return the origin of a document in a form that `locate_source` can find again.

    It is a URL without credentials and query; or a path relative to the folder that contains the
    project, if both are in one repository or workspace and so move together; else the file name, as
    the path is different on other machines.
    """
    if document.url is not None:
        return strip_secrets(document.url)
    if document.path is None:
        return PurePosixPath(document.files[0].name).name
    return describe_path(document.path, target)


def describe_path(file: Path, target: Path) -> str:
    """Return the path of a file in the form of `describe_source`."""
    path, folder = file.resolve(), target.resolve().parent
    root = _find_shared_root(folder)
    if root is None or not path.is_relative_to(root):
        return file.name
    return Path(os.path.relpath(path, folder)).as_posix()


def locate_source(recorded: str, target: Path) -> str:
    """Resolve a recorded source: return a URL, or a path relative to the current folder."""
    if is_url(recorded):
        return recorded
    path = target.resolve().parent / recorded
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # on another drive
        return path.as_posix()


def _find_shared_root(folder: Path) -> Path | None:
    """Return the nearest folder, from this one upwards, that is a repository or a workspace."""
    for parent in (folder, *folder.parents):
        if any((parent / mark).exists() for mark in _ROOT_MARKS):
            return parent
    return None
