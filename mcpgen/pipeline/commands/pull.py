"""`pull`: fetch a project's documents again, and compare its tools before anything is written."""

from __future__ import annotations

import contextlib
import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.changelog import Changelog, compare
from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.emit.lockfile import Lock, LockedDocument, dump_lock, sha256
from mcpgen.emit.reconcile import rescue_copy
from mcpgen.emit.write import BusyError, RefusedError, is_interrupted, lock_project, write
from mcpgen.ir.document import Document
from mcpgen.ir.file_set import LOCK_FILE, RESCUE_FOLDER, FileSet, Owner, PlannedFile
from mcpgen.openapi.source.urls import is_url
from mcpgen.pipeline.commands.changelog import read_levels
from mcpgen.pipeline.options import GenerateOptions, Outcome, Progress, StoppedError
from mcpgen.pipeline.project.disk import report_interrupted, report_refused, report_stop
from mcpgen.pipeline.project.evidence import (
    SOURCE,
    is_evidence_current,
    read_evidence,
    record_evidence,
)
from mcpgen.pipeline.project.input_hashes import ProjectFiles
from mcpgen.pipeline.project.project_folder import read_file, require_lock
from mcpgen.pipeline.project.sources import (
    describe_source,
    find_entry,
    identify_sources,
    locate_source,
)
from mcpgen.pipeline.project.surfaces import read_last_surface


class PullResult(enum.StrEnum):
    """The result of a pull."""

    CURRENT = "current"  # the project has that document; the lock at most is to be written
    CHANGED = "changed"  # it has another one; `Pull.files` are to be written
    SKIPPED = "skipped"  # no document has a recorded origin; the problems name them
    UNREACHABLE = "unreachable"
    OTHER_DOCUMENT = "other-document"  # `Pull.mismatches`: it seems to describe another API
    REFUSED = "refused"  # the exit code and the problems state why


class Mismatch(Struct, frozen=True):
    """A fetched document that seems to describe another API than the one it would replace."""

    path: str  # of the document in the project
    source: str  # where the other one came from
    title: str  # of the other one
    old_title: str

    def report(self, target: Path, problems: Problems) -> None:
        """Report that the document is refused."""
        problems.error(
            "other-document",
            f"refused to replace {self.path} by a document of another API",
            at=Location((target / self.path).as_posix()),
            why=f"{self.path} is `{self.old_title}`, but {self.source} is `{self.title}`: they have"
            " no title, host and operations in common by which they could be one API",
            help="name where this document comes from, or accept the other one with"
            " `--accept-other`",
        )


class Pull(Struct, frozen=True):
    """Fetched documents, and their changes. Nothing is written yet.

    `changelog` is None if the tools could not be compared, or nothing was fetched.
    """

    problems: Problems
    outcome: Outcome
    target: Path
    result: PullResult
    source: str = ""  # as it is recorded
    changelog: Changelog | None = None
    files: FileSet = ()
    lock_before: bytes | None = None
    is_complete: bool = False  # every document was compared with an origin
    is_other_origin: bool = False  # which was given, and is recorded once the files are written
    mismatches: tuple[Mismatch, ...] = ()
    documents: Mapping[str, Document] = field(default_factory=dict)  # those fetched, by path

    @property
    def written(self) -> tuple[str, ...]:
        """The paths that `write_pull` writes."""
        return tuple(file.path for file in self.files)


class _UnreachableError(StoppedError):
    """A document cannot be fetched."""

    def __init__(self) -> None:
        super().__init__(Outcome.FINDINGS)


def pull(
    target: Path,
    source: str | None,
    options: GenerateOptions,
    progress: Progress,
    *,
    accepted: Mapping[str, Document] | None = None,
    accepts_other: bool = False,
) -> Pull:
    """Fetch the documents of the project at `target` from their origins, or one from `source`.

    If there are several documents, `name=source` fetches the one with that name, or at that path. A
    document without an origin is skipped, with a warning.

    Writes nothing. A document that cannot be served is rejected, as `generate` would reject it. So
    is one that seems to describe another API, unless `accepts_other`, or it is among the `accepted`
    documents, which an earlier pull fetched and which are not fetched again. `options.force`
    overwrites edits of the vendored document; a copy of them is stored.
    """
    problems = Problems()
    try:
        run = _Run(target, source, options, problems, progress, accepted or {})
        return run.pull(accepts_other=accepts_other)
    except _UnreachableError as stopped:
        return Pull(problems, stopped.outcome, target, PullResult.UNREACHABLE)
    except (StoppedError, RejectedError, OSError) as error:
        outcome = report_stop(error, target, problems)
        return Pull(problems, outcome, target, PullResult.REFUSED)


def write_pull(fetched: Pull) -> Outcome:
    """Write what a pull changes, as a whole or not at all; return the outcome."""
    target, problems = fetched.target, fetched.problems
    try:
        with lock_project(target):
            is_same = read_file(target, LOCK_FILE) == fetched.lock_before
            if is_interrupted(target) or not is_same:
                raise BusyError("another run changed this project meanwhile")
            write(target, fetched.files, ())
    except (OSError, RefusedError) as error:
        return report_refused(error, target, problems)
    return Outcome.DONE


def record_pull(fetched: Pull, *, is_written: bool) -> None:
    """Record whether the documents still are what their origins have.

    Nothing is recorded of a pull that failed, skipped a document, or compared another origin
    without recording it.
    """
    is_decided = fetched.result in (PullResult.CURRENT, PullResult.CHANGED)
    is_of_origin = is_written or not (fetched.is_other_origin and fetched.files)
    if not (is_decided and fetched.is_complete and is_of_origin):
        return
    evidence = collect_evidence(fetched, is_written=is_written)
    if fetched.result is PullResult.CURRENT:
        evidence |= _find_pending_changes(fetched.target)
    record_evidence(fetched.target, SOURCE, evidence, fetched.problems)


def _find_pending_changes(target: Path) -> dict[str, Any]:
    """Return what an earlier pull recorded of a document that nothing was generated from yet."""
    lock = ProjectFiles(target).lock
    before = read_evidence(target, SOURCE)
    is_pending = lock is not None and any(each.fetched for each in lock.documents)
    if not is_pending or before is None or not is_evidence_current(target, before):
        return {}
    return {name: before[name] for name in ("level", "changes", "written") if name in before}


def collect_evidence(fetched: Pull, *, is_written: bool) -> dict[str, Any]:
    """Return the content of `.mcpgen/evidence/source.json` for a pull.

    `level` is that of the changes in the tools, "" if they could not be compared.
    """
    found = fetched.changelog
    is_changed = fetched.result is PullResult.CHANGED
    level = "none" if not is_changed else "" if found is None else found.level.word
    counts = Counter(change.level.word for change in found.changes) if found else {}
    return {
        "outcome": "changed" if is_changed else "unchanged",
        "result": f"changed, tools: {level or 'unknown'}" if is_changed else "unchanged",
        "source": fetched.source,
        "level": level,
        "changes": dict(sorted(counts.items())),
        "written": is_changed and is_written,
    }


class _Run:
    def __init__(
        self,
        target: Path,
        location: str | None,
        options: GenerateOptions,
        problems: Problems,
        progress: Progress,
        accepted: Mapping[str, Document],
    ) -> None:
        # Imported here: the manifest needs YAML, which `check` does without.
        from mcpgen.pipeline.project.read_inputs import read_intent

        self._target = target
        self._options = options
        self._problems = problems
        self._progress = progress
        self._accepted = accepted
        if is_interrupted(target):
            raise StoppedError(report_interrupted(target, problems))
        self._lock = require_lock(target, problems, if_lost=Outcome.CONFLICT)
        self._intent = read_intent(target, problems)
        sources = identify_sources(self._intent, self._lock, problems)
        self._sources = {source.entry.document: source for source in sources}
        self._location = location or ""
        self._is_complete = False

    def pull(self, *, accepts_other: bool) -> Pull:
        from mcpgen.pipeline.build import plan_project
        from mcpgen.pipeline.project.read_inputs import read_inputs
        from mcpgen.render.contracts import surface_of

        paths = self._choose_documents()
        if not paths:
            return self._make_report(PullResult.SKIPPED)
        self._is_complete = len(paths) == len(self._sources)
        levels = read_levels(self._intent, self._problems)
        documents = self._fetch_documents(paths)
        if not documents:
            return self._make_report(PullResult.CURRENT)
        mismatches = () if accepts_other else self._find_mismatches(documents)
        if mismatches:
            for mismatch in mismatches:
                mismatch.report(self._target, self._problems)
            return replace(
                self._make_report(PullResult.OTHER_DOCUMENT),
                outcome=Outcome.REJECTED,
                mismatches=mismatches,
                documents=documents,
            )
        lock = self._add_origins(documents)
        inputs = read_inputs(
            self._target, self._intent, self._options, lock=lock, documents=documents
        )
        planned = plan_project(inputs, self._problems, self._progress)
        read = (files for files, _ in planned.files.documents)
        vendored = dict(zip(self._sources, read, strict=True))
        placed = {path: self._place_files(path, vendored[path]) for path in documents}
        lock = self._add_contents(lock, documents, placed)
        files = self._list_changes(
            {path: each for of in placed.values() for path, each in of.items()}, lock
        )
        if not files:
            return self._make_report(PullResult.CURRENT)
        before = read_last_surface(inputs, self._problems)
        is_news = any(file.path != LOCK_FILE for file in files)
        return replace(
            self._make_report(PullResult.CHANGED if is_news else PullResult.CURRENT),
            source=lock.origins,
            changelog=None if before is None else compare(before, surface_of(planned.plan), levels),
            files=files,
            lock_before=read_file(self._target, LOCK_FILE),
        )

    def _fetch_documents(self, paths: Iterable[str]) -> dict[str, Document]:
        """Fetch the documents for these paths, except those that did not change."""
        from mcpgen.openapi.source.fetch import NotModifiedError

        documents: dict[str, Document] = {}
        for path in paths:
            with contextlib.suppress(NotModifiedError):
                documents[path] = self._accepted.get(path) or self._load(path)
        return documents

    def _find_mismatches(self, documents: Mapping[str, Document]) -> tuple[Mismatch, ...]:
        """Return the fetched documents that describe another API than those that they replace."""
        from mcpgen.openapi.resolve.identity import identify
        from mcpgen.openapi.source.load import load

        found: list[Mismatch] = []
        for path, document in documents.items():
            if path in self._accepted or not (self._target / path).is_file():
                continue
            try:
                old = identify(load(str(self._target / path), Problems()))
            except RejectedError:  # the old file is not an API description, so none is lost
                continue
            new = identify(document)
            if not new.is_same_api(old):
                source = describe_source(document, self._target)
                found.append(Mismatch(path, source, new.title, old.title))
        return tuple(found)

    def _add_origins(self, documents: Mapping[str, Document]) -> Lock:
        """Return the lock with the origins of the documents, but not yet their contents."""
        lock = self._lock
        for path, document in documents.items():
            origin = describe_source(document, self._target)
            locked = replace(self._find_origin(path), source=origin, etag="", fetched={})
            lock = lock.with_document(locked.root, locked)
        return lock

    def _add_contents(
        self,
        lock: Lock,
        documents: Mapping[str, Document],
        placed: Mapping[str, Mapping[str, bytes]],
    ) -> Lock:
        """Return the lock with the fetched contents, which the next `generate` will read."""
        origins = {each.root: each for each in lock.documents}
        for path, document in documents.items():
            hashes = {each: sha256(content) for each, content in placed[path].items()}
            locked = replace(
                origins[self._find_origin(path).root],
                etag=document.etag,
                fetched={} if hashes == self._find_origin(path).sha256 else hashes,
            )
            lock = lock.with_document(locked.root, locked)
        return lock

    def _make_report(self, result: PullResult) -> Pull:
        return Pull(
            self._problems,
            Outcome.DONE,
            self._target,
            result,
            self._lock.origins,
            is_complete=self._is_complete,
            is_other_origin=bool(self._location),
        )

    def _find_origin(self, path: str) -> LockedDocument:
        return self._sources[path].origin

    def _find_source(self, path: str) -> str:
        """Return the URL or path from which the document at this path is fetched."""
        return self._location or locate_source(self._find_origin(path).source, self._target)

    def _choose_documents(self) -> list[str]:
        """Return the paths of the documents to fetch.

        They are all that have an origin, or the one that the given source is for:
        `shop=https://shop.example/api.json`.
        """
        if not self._sources:
            self._problems.error(
                "no-document",
                f"{self._target} has no document: `sources` of mcpgen.yaml is empty",
                why="all that it serves is written by hand",
                help=f"`mcpgen source add SOURCE {self._target}` adds one",
            )
            raise StoppedError(Outcome.USAGE)
        if not self._location:
            return self._find_known_origins()
        label, equals, location = self._location.partition("=")
        entry = find_entry(self._intent.manifest, label) if equals else None
        if entry is not None:
            self._location = location
            return [entry.document]
        if len(self._sources) > 1:
            labels = [source.entry.label for source in self._sources.values()]
            self._problems.error(
                "several-documents",
                f"{self._target} has {len(labels)} documents: {self._location} could replace any",
                at=self._intent.locate(("sources",)),
                why="each is pulled from a place of its own",
                help=f"say which, as in `{labels[0]}={self._location}`; there is "
                + " and ".join(f"`{label}`" for label in labels),
            )
            raise StoppedError(Outcome.USAGE)
        return list(self._sources)

    def _find_known_origins(self) -> list[str]:
        """Return the paths of the documents whose origin is known; report the others."""
        known = [path for path in self._sources if self._find_origin(path).source]
        for number, (path, source) in enumerate(self._sources.items()):
            if path not in known:
                self._problems.warning(
                    "no-origin",
                    f"{path} was skipped: {LOCK_FILE} does not record where it comes from",
                    at=self._intent.locate(("sources", str(number), "document")),
                    why="it was put into the project by hand, and stays as it is",
                    help=f"record it: `mcpgen pull {self._target} {source.entry.label}=SOURCE`",
                )
        return known

    def _load(self, path: str) -> Document:
        """Load the document for this path; NotModifiedError if the project has it already."""
        from mcpgen.openapi.source.fetch import UnreachableError
        from mcpgen.openapi.source.load import load

        source = self._find_source(path)
        self._progress(f"load {source}")
        if not is_url(source) and not Path(source).is_file():
            several = f"{self._sources[path].entry.label}=" if len(self._sources) > 1 else ""
            self._problems.error(
                "unreachable",
                f"there is no file {source}",
                why="the document is pulled from there"
                if self._location
                else "the lock says that the document came from there",
                help=f"name the file or the URL: `mcpgen pull {self._target} {several}SOURCE`",
            )
            raise _UnreachableError
        try:
            return load(source, self._problems, known_etag=self._find_etag(path))
        except UnreachableError:
            raise _UnreachableError from None

    def _find_etag(self, path: str) -> str:
        """Return what the server called the document that the project still has unchanged."""
        locked = self._find_origin(path)
        is_same = self._find_source(path) == locked.source and all(
            sha256(read_file(self._target, file) or b"") == digest
            for file, digest in (locked.fetched or locked.sha256).items()
        )
        return locked.etag if is_same else ""

    def _place_files(self, path: str, document: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the files by their paths in the project: the root file keeps its path."""
        (root, content), *others = document.items()
        if others and (root != path or "/" not in path):
            name = root.rpartition("/")[2]
            self._problems.error(
                "document-layout",
                f"the document consists of {len(document)} files now, and `{path}` is one",
                at=Location(self._find_source(path)),
                why="its files refer to each other by name, and lie together in a folder",
                help=f"write `document: openapi/{name}` under `sources` in mcpgen.yaml,"
                " then pull again",
            )
            raise RejectedError
        return {path: content, **dict(others)}

    def _list_changes(self, contents: Mapping[str, bytes], changed: Lock) -> FileSet:
        """Return the files that differ from those in the project; the lock is last."""
        files: list[PlannedFile] = []
        for path, content in contents.items():
            on_disk = read_file(self._target, path)
            if on_disk == content:
                continue
            if on_disk is not None and self._is_edited(path, on_disk):
                files.append(self._rescue(path, on_disk))
            files.append(PlannedFile(path, content, Owner.GENERATED))
        lock = dump_lock(changed)
        if lock != read_file(self._target, LOCK_FILE):
            files.append(PlannedFile(LOCK_FILE, lock, Owner.GENERATED))
        return tuple(files)

    def _is_edited(self, path: str, content: bytes) -> bool:
        known = {each.sha256.get(path) for each in self._lock.documents}
        known |= {each.fetched.get(path) for each in self._lock.documents}
        return sha256(content) not in known

    def _rescue(self, path: str, on_disk: bytes) -> PlannedFile:
        report = self._problems.warning if self._options.force else self._problems.error
        report(
            "hand-edit",
            f"{path} was edited by hand after the last run",
            at=Location((self._target / path).as_posix()),
            why="the fetched document would replace it, and the edit would be lost",
            help=f"`mcpgen pull --force` keeps a copy of it in {RESCUE_FOLDER}/; put lasting"
            " repairs into an overlay",
        )
        if not self._options.force:
            raise StoppedError(Outcome.CONFLICT)
        return rescue_copy(path, on_disk, lambda copy: read_file(self._target, copy))
