"""`pull`: a project's document is fetched anew, and its tools compared before it is written."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.changelog import Changelog, compare
from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.emit.exclusive import BusyError, exclusive
from mcpgen.emit.lock import Lock, LockedDocument, dump_lock, sha256
from mcpgen.emit.ownership import RESCUE_FOLDER
from mcpgen.emit.reconcile import rescue_copy
from mcpgen.emit.write import RefusedError, is_interrupted, write
from mcpgen.ir.document import Document
from mcpgen.ir.file_set import LOCK_FILE, FileSet, Owner, PlannedFile
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.pipeline.changelog import levels_of
from mcpgen.pipeline.disk import tell_interrupted, tell_refused, tell_unreadable
from mcpgen.pipeline.options import (
    CONFLICT,
    DONE,
    REJECTED,
    STALE,
    USAGE,
    GenerateOptions,
    Progress,
)
from mcpgen.pipeline.origin import found_source, recorded_source
from mcpgen.pipeline.project_folder import find_lock, read_file
from mcpgen.pipeline.surfaces import last_surface


class PullOutcome(enum.StrEnum):
    """What a pull came to."""

    CURRENT = "current"  # the project has that document; the lock at most is to be written
    CHANGED = "changed"  # it has another one; `Pull.files` are to be written
    UNREACHABLE = "unreachable"
    REFUSED = "refused"  # the exit code and the problems say why


class Pull(Struct, frozen=True):
    """A document that was fetched, and what it changes. Nothing of it is written yet.

    `changelog` is None where the tools could not be compared, or nothing came.
    """

    problems: Problems
    outcome: PullOutcome
    exit_code: int
    target: Path
    source: str = ""  # as it is recorded
    changelog: Changelog | None = None
    files: FileSet = ()
    lock_before: bytes | None = None

    @property
    def written(self) -> tuple[str, ...]:
        """The paths that `write_pull` writes."""
        return tuple(file.path for file in self.files)


class _RefusedError(Exception):
    """The pull ends here; the reason is told."""

    def __init__(self, exit_code: int, outcome: PullOutcome = PullOutcome.REFUSED) -> None:
        super().__init__()
        self.exit_code = exit_code
        self.outcome = outcome


def pull(
    target: Path,
    source: str | None,
    options: GenerateOptions,
    progress: Progress,
) -> Pull:
    """Fetch the document of the project at `target` from where it came, or from `source`.

    Of several documents `name=source` fetches the one that the manifest names so.

    Writes nothing. A document that cannot be served is refused, as `generate` would refuse it.
    `options.force` goes over edits of the vendored document; a copy of them is kept.
    """
    problems = Problems()
    try:
        return _Pulling(target, source, options, problems, progress).pull()
    except _RefusedError as refused:
        return Pull(problems, refused.outcome, refused.exit_code, target)
    except RejectedError:
        return Pull(problems, PullOutcome.REFUSED, REJECTED, target)
    except OSError as error:
        exit_code = tell_unreadable(error, target, problems)
        return Pull(problems, PullOutcome.REFUSED, exit_code, target)


def write_pull(fetched: Pull) -> int:
    """Write what a pull changes, as a whole or not at all; give the exit code of the run."""
    target, problems = fetched.target, fetched.problems
    try:
        with exclusive(target):
            is_same = read_file(target, LOCK_FILE) == fetched.lock_before
            if is_interrupted(target) or not is_same:
                raise BusyError("another run changed this project meanwhile")
            write(target, fetched.files, ())
    except (OSError, RefusedError) as error:
        return tell_refused(error, target, problems)
    return DONE


class _Pulling:
    def __init__(
        self,
        target: Path,
        source: str | None,
        options: GenerateOptions,
        problems: Problems,
        progress: Progress,
    ) -> None:
        self._target = target
        self._options = options
        self._problems = problems
        self._progress = progress
        self._lock = self._read_lock()
        self._given = source

    def pull(self) -> Pull:
        # Imported here: the stages load a validator and YAML, which `check` does without.
        from mcpgen.pipeline.planned import plan_project, read_intent
        from mcpgen.render.surface import surface_of

        intent = read_intent(self._target, self._problems)
        paths = self._vendored_paths(intent)
        levels = levels_of(intent, self._problems)
        documents = self._fetched(self._asked_for(intent))
        if not documents:
            return self._finished(PullOutcome.CURRENT)
        lock = self._with_origins(documents)
        planned = plan_project(
            self._target,
            lock,
            intent,
            self._options,
            self._problems,
            self._progress,
            documents=documents,
        )
        vendored = dict(zip(paths, (each for each, _ in planned.inputs.documents), strict=True))
        placed = {path: self._placed(path, vendored[path]) for path in documents}
        lock = self._with_contents(lock, documents, placed)
        files = self._files(
            {path: each for of in placed.values() for path, each in of.items()}, lock
        )
        if not files:
            return self._finished(PullOutcome.CURRENT)
        before = last_surface(self._target, self._problems)
        is_news = any(file.path != LOCK_FILE for file in files)
        return replace(
            self._finished(PullOutcome.CHANGED if is_news else PullOutcome.CURRENT),
            source=", ".join(each.source for each in lock.documents),
            changelog=None if before is None else compare(before, surface_of(planned.plan), levels),
            files=files,
            lock_before=read_file(self._target, LOCK_FILE),
        )

    def _fetched(self, paths: Iterable[str]) -> dict[str, Document]:
        """Fetch the documents that lie at `paths`, but for those that did not change."""
        from mcpgen.spec.fetch import NotModifiedError

        documents: dict[str, Document] = {}
        for path in paths:
            with contextlib.suppress(NotModifiedError):
                documents[path] = self._load(path)
        return documents

    def _with_origins(self, documents: Mapping[str, Document]) -> Lock:
        """Give the lock with where the documents came from; what they hold is not known yet."""
        lock = self._lock
        for path, document in documents.items():
            source = recorded_source(document, self._target)
            locked = replace(self._locked(path), source=source, etag="", fetched={})
            lock = lock.with_document(path, locked)
        return lock

    def _with_contents(
        self,
        lock: Lock,
        documents: Mapping[str, Document],
        placed: Mapping[str, Mapping[str, bytes]],
    ) -> Lock:
        """Give the lock with what was fetched, which the next `generate` will be made from."""
        for path, document in documents.items():
            hashes = {each: sha256(content) for each, content in placed[path].items()}
            locked = replace(
                lock.document_at(path),
                etag=document.etag,
                fetched={} if hashes == self._locked(path).sha256 else hashes,
            )
            lock = lock.with_document(path, locked)
        return lock

    def _finished(self, outcome: PullOutcome) -> Pull:
        sources = ", ".join(each.source for each in self._lock.documents)
        return Pull(self._problems, outcome, DONE, self._target, sources)

    def _locked(self, path: str) -> LockedDocument:
        return self._lock.document_at(path)

    def _source_of(self, path: str) -> str:
        """Where the document comes from that lies at `path`."""
        return self._given or found_source(self._locked(path).source, self._target)

    def _read_lock(self) -> Lock:
        if is_interrupted(self._target):
            raise _RefusedError(tell_interrupted(self._target, self._problems))
        found = find_lock(self._target, self._problems)
        if found is None:
            raise _RefusedError(USAGE)
        if found.is_recovered:
            raise _RefusedError(CONFLICT)
        return found.lock

    def _vendored_paths(self, intent: LocatedManifest) -> list[str]:
        """Where the root files lie in the project."""
        sources = intent.manifest.sources
        if not sources:
            self._problems.error(
                "no-document",
                f"{self._target} has no document: `sources` of mcpgen.yaml is empty",
                why="all that it serves is written by hand",
            )
            raise _RefusedError(USAGE)
        return [source.document for source in sources]

    def _asked_for(self, intent: LocatedManifest) -> list[str]:
        """Where the root files lie of the documents to fetch: of all, or of the one that is named.

        Where there are several, a given source says of which: `shop=https://shop.example/api.json`.
        """
        sources = intent.manifest.sources
        name, equals, given = (self._given or "").partition("=")
        named = [source.document for source in sources if equals and source.name == name]
        if named:
            self._given = given
        elif self._given and len(sources) > 1:
            self._problems.error(
                "several-documents",
                f"{self._target} has {len(sources)} documents, and {self._given} could be any",
                at=intent.locate(("sources",)),
                why="each is pulled from a place of its own",
                help=f"say which, as in `{sources[0].name}={self._given}`; there is "
                + " and ".join(f"`{source.name}`" for source in sources),
            )
            raise _RefusedError(USAGE)
        return named or [source.document for source in sources]

    def _load(self, path: str) -> Document:
        """Load the document that lies at `path`.

        Raises:
            NotModifiedError: the project has it already.
        """
        from mcpgen.spec.fetch import UnreachableError
        from mcpgen.spec.load import load
        from mcpgen.spec.urls import is_url

        source = self._source_of(path)
        self._progress(f"fetching {source}")
        if not is_url(source) and not Path(source).is_file():
            recorded = source == found_source(self._locked(path).source, self._target)
            self._problems.error(
                "unreachable",
                f"there is no file {source}",
                why="the lock says that the document came from there"
                if recorded
                else "the document is pulled from there",
                help="name the file or the URL: `mcpgen pull DIR SOURCE`",
            )
            raise _RefusedError(STALE, PullOutcome.UNREACHABLE)
        try:
            return load(source, self._problems, known_etag=self._known_etag(path))
        except UnreachableError:
            raise _RefusedError(STALE, PullOutcome.UNREACHABLE) from None

    def _known_etag(self, path: str) -> str:
        """What the server called the document that the project still has unchanged."""
        locked = self._locked(path)
        is_same = self._source_of(path) == locked.source and all(
            sha256(read_file(self._target, file) or b"") == digest
            for file, digest in (locked.fetched or locked.sha256).items()
        )
        return locked.etag if is_same else ""

    def _placed(self, path: str, document: Mapping[str, bytes]) -> dict[str, bytes]:
        """Give the files by where they go: the root file keeps its place."""
        (root, content), *others = document.items()
        if others and (root != path or "/" not in path):
            name = root.rpartition("/")[2]
            self._problems.error(
                "document-layout",
                f"the document consists of {len(document)} files now, and `{path}` is one",
                at=Location(self._source_of(path)),
                why="its files refer to each other by name, and lie together in a folder",
                help=f"write `document: openapi/{name}` under `sources` in mcpgen.yaml,"
                " then pull again",
            )
            raise RejectedError
        return {path: content, **dict(others)}

    def _files(self, contents: Mapping[str, bytes], changed: Lock) -> FileSet:
        """Give what differs from what lies in the project; the lock comes last."""
        files: list[PlannedFile] = []
        for path, content in contents.items():
            on_disk = read_file(self._target, path)
            if on_disk == content:
                continue
            if on_disk is not None and self._is_edited(path, on_disk):
                files.append(self._rescued(path, on_disk))
            files.append(PlannedFile(path, content, Owner.GENERATED))
        lock = dump_lock(changed)
        if lock != read_file(self._target, LOCK_FILE):
            files.append(PlannedFile(LOCK_FILE, lock, Owner.GENERATED))
        return tuple(files)

    def _is_edited(self, path: str, content: bytes) -> bool:
        known = {each.sha256.get(path) for each in self._lock.documents}
        known |= {each.fetched.get(path) for each in self._lock.documents}
        return sha256(content) not in known

    def _rescued(self, path: str, on_disk: bytes) -> PlannedFile:
        report = self._problems.warning if self._options.force else self._problems.error
        report(
            "hand-edit",
            f"{path} was edited by hand since it was generated from",
            at=Location((self._target / path).as_posix()),
            why="the document that was fetched takes its place, and the edit would be lost",
            help=f"`mcpgen pull --force` keeps a copy of it in {RESCUE_FOLDER}/; repairs that are"
            " to last belong into an overlay",
        )
        if not self._options.force:
            raise _RefusedError(CONFLICT)
        return rescue_copy(path, on_disk, lambda copy: read_file(self._target, copy))
