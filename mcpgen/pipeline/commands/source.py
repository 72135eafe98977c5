"""`source add` and `source remove`: change the sources of a project and generate it at once."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError, did_you_mean
from mcpgen.emit.lockfile import Lock, LockedDocument
from mcpgen.emit.write import BusyError, RefusedError, is_interrupted, lock_project
from mcpgen.ir.credentials import HiddenCredential
from mcpgen.ir.document import Document
from mcpgen.ir.file_set import LOCK_FILE, MANIFEST_FILE
from mcpgen.ir.manifest import LocatedManifest, SourceEntry
from mcpgen.ir.manifest_entries import is_bulk_key
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.pipeline.commands.generate import Edit, Prepared, note_current, prepare, write_prepared
from mcpgen.pipeline.options import GenerateOptions, Outcome, Progress, Report, StoppedError
from mcpgen.pipeline.project.disk import report_interrupted, report_refused, report_stop
from mcpgen.pipeline.project.project_folder import read_file, require_lock
from mcpgen.pipeline.project.sources import (
    Source,
    describe_source,
    find_entry,
    identify_sources,
    server_word,
    settings_of,
)

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_OTHER = re.compile(r"[^a-z0-9]+")
_FORBIDDEN = frozenset({"merged", "tool", "workflow"})  # prefixes of keys outside documents


class SourceChange(Struct, frozen=True):
    """A source to add or to remove, and what that changes. Nothing is written yet."""

    report: Report
    name: str = ""
    prepared: Prepared | None = None  # None if `report` states why nothing can be written
    before: tuple[bytes | None, bytes | None] = (None, None)  # the lock and the manifest
    settings_before: tuple[str, ...] = ()


def add_source(
    target: Path,
    source: str,
    options: GenerateOptions,
    progress: Progress,
    *,
    name: str = "",
    prefix: str | None = None,
) -> SourceChange:
    """Prepare to add the API description at `source`, a path or a URL, to the project at `target`.

    Without `name`, it has the name of its API. `prefix` begins the names of its tools; None means
    the name. A file inside the project is used at its path.
    """
    return _prepare(
        target, options, progress, lambda run: run.add(source, name=name, prefix=prefix)
    )


def remove_source(
    target: Path, name: str, options: GenerateOptions, progress: Progress
) -> SourceChange:
    """Prepare to remove the source with this name, or with its document at this path."""
    return _prepare(target, options, progress, lambda run: run.remove(name))


def write_source_change(change: SourceChange, options: GenerateOptions) -> Report:
    """Write a prepared change as a whole, or nothing."""
    report = change.report
    target, problems = report.target, report.problems
    if change.prepared is None:
        return report
    try:
        with lock_project(target):
            if is_interrupted(target) or _read_state(target) != change.before:
                raise BusyError("another run changed this project meanwhile")
            report = write_prepared(change.prepared, lambda _: None)
            note_current(report, options.cache)
            return report
    except (OSError, RefusedError) as error:
        return Report(problems, report_refused(error, target, problems), target)


def _prepare(
    target: Path,
    options: GenerateOptions,
    progress: Progress,
    work: Callable[[_Run], SourceChange],
) -> SourceChange:
    problems = Problems()
    try:
        return work(_open(target, options, problems, progress))
    except (StoppedError, RejectedError, OSError) as error:
        return SourceChange(Report(problems, report_stop(error, target, problems), target))


def _open(target: Path, options: GenerateOptions, problems: Problems, progress: Progress) -> _Run:
    """Read what the project records of its sources."""
    from mcpgen.pipeline.project.read_inputs import read_intent  # with YAML

    if is_interrupted(target):
        raise StoppedError(report_interrupted(target, problems))
    before = _read_state(target)
    lock = require_lock(target, problems)
    intent = read_intent(target, problems)
    sources = identify_sources(intent, lock, problems)
    return _Run(target, options, problems, progress, lock, intent, sources, before)


class _Run(Struct, frozen=True):
    """One run in one project."""

    target: Path
    options: GenerateOptions
    problems: Problems
    progress: Progress
    lock: Lock
    intent: LocatedManifest
    sources: tuple[Source, ...]
    before: tuple[bytes | None, bytes | None]

    def add(self, source: str, *, name: str, prefix: str | None) -> SourceChange:
        """Prepare to add a source."""
        from mcpgen.pipeline.project.credentials import report_decided, source_keys

        document = self._load(source)
        own_path = self._path_in_project(document)
        origin = "" if own_path else describe_source(document, self.target)
        self._check_new(origin, own_path)
        name = self._check_name(name) if name else self._choose_name(document)
        path = own_path or self._choose_path(name, document)
        entry: JsonObject = {"document": path, "name": name}
        if self.sources and prefix != "":
            entry["prefix"] = prefix or name
        # The keys of an only source need no name, and get none when another one joins it.
        own = name if self.sources else ""
        settings = settings_of(own, server_word(self.intent.manifest))
        locked = LockedDocument(origin, {}, path, document.etag, name=own, settings=settings)
        lock = self.lock.with_document(path, locked)
        problems = Problems()
        change = self._change(name, self._make_edit(entry, lock, document), problems)
        if credentials := self._find_hidden_credentials(change, own):
            entry |= source_keys(credentials)
            change = self._change(name, self._make_edit(entry, lock, document), self.problems)
            if change.report.plan is not None:
                report_decided(credentials, change.report.plan, self.problems)
        else:
            self.problems.extend(problems)
        return replace(change, report=replace(change.report, problems=self.problems))

    def _make_edit(self, entry: Mapping[str, JsonValue], lock: Lock, document: Document) -> Edit:
        """Return the edit that adds an entry of `sources` with its document."""
        from mcpgen.emit.manifest_sources import add_source
        from mcpgen.emit.manifest_text import ManifestEditError

        try:
            manifest = add_source(self.before[1] or b"", entry)
        except ManifestEditError:
            self._refuse_edit(f"add the entry `{entry}` there, then run `mcpgen generate`")
        return Edit(manifest, lock, {str(entry["document"]): document})

    def _find_hidden_credentials(self, change: SourceChange, name: str) -> list[HiddenCredential]:
        """Return what the document leaves no doubt about, and an entry of `sources` can declare."""
        from mcpgen.plan.arguments.credentials import (
            find_hidden_credentials,  # with the validator
        )

        plan = change.report.plan
        found = find_hidden_credentials(plan, name) if plan is not None else ()
        return [it for it in found if it.is_certain and not it.parameters]

    def remove(self, name: str) -> SourceChange:
        """Prepare to remove a source."""
        from mcpgen.emit.manifest_sources import remove_source
        from mcpgen.emit.manifest_text import ManifestEditError

        entry = find_entry(self.intent.manifest, name)
        if entry is None:
            labels = [source.entry.label for source in self.sources]
            self.problems.error(
                "unknown-source",
                f"{self.target} has no source `{name}`",
                at=self.intent.locate(("sources",)),
                help=did_you_mean(name, labels, f"it has {', '.join(labels) or 'none'}"),
            )
            raise StoppedError(Outcome.USAGE)
        number = self.intent.manifest.sources.index(entry)
        removed = self.sources[number].locked
        try:
            manifest = remove_source(self.before[1] or b"", number)
        except ManifestEditError:
            self._refuse_edit("remove the entry there, then run `mcpgen generate`")
        lock = replace(
            self.lock,
            documents=tuple(each for each in self.lock.documents if each.root != removed.root),
            operations={
                key: tool
                for key, tool in self.lock.operations.items()
                if not key.startswith(f"{removed.root} ")
            },
        )
        # A document that the user put here by hand may exist nowhere else.
        kept = frozenset() if removed.source else frozenset(removed.sha256)
        edit = Edit(manifest, lock, kept=kept)
        change = self._change(entry.label, edit, self.problems)
        if change.prepared is None:
            self._report_dependents(entry.label)
        else:
            self._report_leftovers(entry, kept)
        return change

    def _change(self, name: str, edit: Edit, problems: Problems) -> SourceChange:
        prepared = prepare(self.target, self.options, problems, self.progress, edit)
        is_possible = prepared.changes is not None
        return SourceChange(
            prepared.report,
            name,
            prepared if is_possible else None,
            self.before,
            _read_setting_names(self.target),
        )

    def _load(self, source: str) -> Document:
        from mcpgen.openapi.source.fetch import UnreachableError
        from mcpgen.pipeline.parse import load_source

        try:
            return load_source(source, self.problems, self.progress)
        except UnreachableError:
            raise StoppedError(Outcome.FINDINGS) from None

    def _path_in_project(self, document: Document) -> str:
        """Return the path of a document inside the project; "" for another one."""
        if document.path is None:
            return ""
        path, folder = document.path.resolve(), self.target.resolve()
        return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else ""

    def _check_new(self, origin: str, own_path: str) -> None:
        """Check that the project does not have the document already."""
        for number, source in enumerate(self.sources):
            is_known = (
                own_path == source.entry.document if own_path else origin == source.locked.source
            )
            if is_known:
                self.problems.error(
                    "source-exists",
                    f"`{own_path or origin}` is already the source `{source.entry.label}`",
                    at=self.intent.locate(("sources", str(number))),
                    why="its tools would exist twice",
                    help=f"`mcpgen pull {self.target}` fetches it anew",
                )
                raise StoppedError(Outcome.USAGE)

    def _check_name(self, name: str) -> str:
        """Check a name that was given."""
        why = ""
        if not _NAME.match(name):
            why = "a name has letters of a-z, digits and `_`, and begins with a letter"
        elif name in _FORBIDDEN or is_bulk_key(f"{name}:"):
            why = f"`{name}:` begins keys of other things"
        elif name in self._collect_taken_names():
            why = "another source has this name, or settings that begin with it"
        if why:
            self.problems.error(
                "source-name",
                f"a new source cannot be called `{name}`",
                why=why,
                help="give it another `--name`",
            )
            raise StoppedError(Outcome.USAGE)
        return name

    def _choose_name(self, document: Document) -> str:
        """Name a source after its API, distinct from the others."""
        from mcpgen.pipeline.server_name import choose_server_name

        info = document.root.get("info")
        title = info.get("title") if isinstance(info, dict) else None
        name = _OTHER.sub("_", choose_server_name(title if isinstance(title, str) else "api"))
        taken = self._collect_taken_names() | _FORBIDDEN | {"tag", "effect"}
        numbered = (f"{name}_{number}" for number in itertools.count(2))
        return next(each for each in itertools.chain([name], numbered) if each not in taken)

    def _collect_taken_names(self) -> set[str]:
        """Return the names that a new source cannot have."""
        names = {text for source in self.sources for text in (source.name, source.entry.name)}
        names |= {source.settings.rstrip("_").lower() for source in self.sources}
        if any(not source.settings for source in self.sources):
            names.add(server_word(self.intent.manifest))
        return names - {""}

    def _choose_path(self, name: str, document: Document) -> str:
        """Return the path for the root file of a new document."""
        from mcpgen.openapi.resolve.resolve import resolve
        from mcpgen.pipeline.build import vendor_document

        files = vendor_document(resolve(document, Problems()))
        root = next(iter(files))
        path = (
            f"{name}/{root.rpartition('/')[2]}" if len(files) > 1 else f"{name}{Path(root).suffix}"
        )
        there = read_file(self.target, path)
        if there is not None and there != files[root]:
            self.problems.error(
                "source-exists",
                f"{path} exists already, with other content",
                at=Location((self.target / path).as_posix()),
                why="the document would be written there",
                help=f"`mcpgen source add {self.target / path} {self.target}` uses that file;"
                " another `--name` puts the document elsewhere",
            )
            raise StoppedError(Outcome.USAGE)
        return path

    def _refuse_edit(self, help: str) -> NoReturn:
        self.problems.error(
            "manifest-edit",
            f"cannot edit `sources` in {MANIFEST_FILE} as it is written",
            at=self.intent.locate(("sources",)),
            why="an edit would change more of the file than this list",
            help=help,
        )
        raise StoppedError(Outcome.REJECTED)

    def _report_dependents(self, label: str) -> None:
        self.problems.error(
            "source-in-use",
            f"the project cannot be generated without `{label}`; nothing was written",
            at=Location(MANIFEST_FILE),
            why="the errors above name what still depends on it",
            help=f"remove these entries from {MANIFEST_FILE}, then remove the source again",
        )

    def _report_leftovers(self, entry: SourceEntry, kept: Iterable[str]) -> None:
        for path in kept:
            self.problems.note(
                "source-leftover",
                f"{path} stays: {LOCK_FILE} does not record where it comes from",
                at=Location(path),
                why="it may be the only copy",
                help="delete it if it is not needed any more",
            )
        used = {
            path
            for source in self.sources
            for path in source.entry.overlays
            if source.entry is not entry
        }
        for path in entry.overlays:
            if path not in used:
                self.problems.note(
                    "source-leftover",
                    f"{path} is not used any more",
                    at=Location(path),
                    why="it is an overlay of the removed source, and yours",
                    help="delete it if it is not needed any more",
                )


def _read_state(target: Path) -> tuple[bytes | None, bytes | None]:
    return read_file(target, LOCK_FILE), read_file(target, MANIFEST_FILE)


def _read_setting_names(target: Path) -> tuple[str, ...]:
    """Read the names of the settings of the generated package."""
    names: list[str] = []
    for path in target.glob("src/*/_generated/contract.json"):
        with contextlib.suppress(ValueError, LookupError, TypeError):
            names += [entry["name"] for entry in json.loads(path.read_bytes())["environment"]]
    return tuple(names)
