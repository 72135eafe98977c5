"""`generate`: a project is brought up to date with its document, its manifest and mcpgen."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.changelog import Changelog, compare
from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.emit.exclusive import exclusive
from mcpgen.emit.lock import Lock
from mcpgen.emit.overridden import OVERRIDDEN_FILE
from mcpgen.emit.reconcile import Changes, Earlier, reconcile, unified_diff
from mcpgen.emit.write import RefusedError, is_interrupted, roll_forward
from mcpgen.ir.document import Document
from mcpgen.ir.file_set import ANSWERS_FILE, MANIFEST_FILE, Owner, PlannedFile
from mcpgen.pipeline.changelog import levels_of
from mcpgen.pipeline.disk import tell_interrupted, tell_refused
from mcpgen.pipeline.known_current import is_known_current, note_current
from mcpgen.pipeline.options import (
    CONFLICT,
    DONE,
    REJECTED,
    STALE,
    USAGE,
    FileDiff,
    GenerateOptions,
    Progress,
    Project,
    Report,
)
from mcpgen.pipeline.overrides import edited_tools, with_overridden
from mcpgen.pipeline.project_folder import Inputs, commit, find_lock, make_lock, read_file
from mcpgen.pipeline.surfaces import last_surface
from mcpgen.pipeline.tell_changes import tell
from mcpgen.pipeline.tested import show_tests
from mcpgen.pipeline.unresolved import find_foreign, find_unresolved, is_merging


class Edit(Struct, frozen=True):
    """A change of the sources of a project, which is written together with what it generates."""

    manifest: bytes
    lock: Lock  # as the plan reads it
    documents: Mapping[str, Document] = field(default_factory=dict)  # new ones, by their paths
    kept: frozenset[str] = frozenset()  # files that stay, though nothing is made of them any more


class Prepared(Struct, frozen=True):
    """A run before anything is written. Without `changes` the report says why nothing can be."""

    report: Report
    changes: Changes | None = None
    lock: Lock = Lock()


def generate(target: Path, options: GenerateOptions, progress: Progress) -> Report:
    """Bring the project at `target` up to date; what its users wrote stays as it is.

    A generated file that somebody edited stops the run before anything is written, unless
    `options.force` says otherwise. With `options.dry_run` or `options.diff` nothing is written.
    """
    problems = Problems()
    try:
        if options.only_shows:
            if is_interrupted(target):
                return Report(problems, tell_interrupted(target, problems), target)
            return prepare(target, options, problems, progress).report
        with contextlib.ExitStack() as stack:
            if target.is_dir():
                stack.enter_context(exclusive(target))
                roll_forward(target)
            is_usual = not (options.strict or options.answers)
            if is_usual and is_known_current(target, options.cache):
                return Report(problems, DONE, target)
            prepared = prepare(target, options, problems, progress)
            report = write_prepared(prepared, progress)
            note_current(report, options.cache)
            return report
    except (OSError, RefusedError) as error:
        return Report(problems, tell_refused(error, target, problems), target)


def prepare(
    target: Path,
    options: GenerateOptions,
    problems: Problems,
    progress: Progress,
    edit: Edit | None = None,
) -> Prepared:
    """Make the project in memory, and decide what to write and delete.

    `edit` replaces the manifest and the lock on the disk.
    """
    found = find_lock(target, problems)
    if found is None:
        return Prepared(Report(problems, USAGE, target))
    lock = found.lock if edit is None else edit.lock
    inputs = (MANIFEST_FILE, ANSWERS_FILE, *(each.root for each in lock.documents))
    if find_unresolved(target, inputs, problems):
        return Prepared(Report(problems, CONFLICT, target))
    try:
        project, inputs_read, changelog = _make(target, lock, options, problems, progress, edit)
    except RejectedError:
        return Prepared(Report(problems, REJECTED, target))
    merged = [file.path for file in project.files if file.owner is Owner.MERGED]
    if find_unresolved(target, merged, problems):
        return Prepared(Report(problems, CONFLICT, target, project.plan))
    # Where git has just mixed two versions of a generated file, or the lock cannot tell, refusing
    # would leave nobody able to go on.
    is_mixed = found.is_recovered or is_merging(target)
    is_expected = found.is_lost or OVERRIDDEN_FILE in lock.files
    project, is_fit = with_overridden(project, target, problems, is_expected=is_expected)
    changes = reconcile(
        project.files,
        Earlier(lock.files, is_lock_lost=found.is_lost, skeletons=project.skeletons),
        lambda path: read_file(target, path),
        overwrite=options.force or is_mixed,
    )
    tell(changes, edited_tools(changes, project, target), problems)
    manifest = read_file(target, MANIFEST_FILE)
    if edit is not None:
        manifest = edit.manifest
        changes = _with_edit(changes, edit)
    find_foreign(target, {*changes.files, *changes.deleted, *changes.orphans_kept}, problems)
    if changes.hand_edits:
        edits = tuple(FileDiff(edit.path, edit.diff) for edit in changes.hand_edits)
        return Prepared(Report(problems, CONFLICT, target, project.plan, diffs=edits))
    report = Report(
        problems,
        CONFLICT if changes.unmerged else DONE if is_fit else STALE,
        target,
        project.plan,
        tuple(file.path for file in changes.written),
        changes.deleted,
        _diffs(target, changes) if options.diff else (),
        changelog,
    )
    return Prepared(report, changes, make_lock(project, inputs_read, changes.files, manifest))


def _with_edit(changes: Changes, edit: Edit) -> Changes:
    manifest = PlannedFile(MANIFEST_FILE, edit.manifest, Owner.OWNED)
    return replace(
        changes,
        written=(*changes.written, manifest),
        deleted=tuple(path for path in changes.deleted if path not in edit.kept),
    )


def write_prepared(prepared: Prepared, progress: Progress) -> Report:
    """Write a prepared run as a whole, and return its report.

    Raises:
        OSError: the disk refused; nothing was written.
        RefusedError: as `write` does.
    """
    report, changes = prepared.report, prepared.changes
    if changes is None:
        return report
    target = report.target
    progress(f"writing {target}")
    written = commit(target, changes, prepared.lock)
    if written:
        written += tuple(path for path in show_tests(target) if path not in written)
    return replace(report, written=written)


def _make(
    target: Path,
    lock: Lock,
    options: GenerateOptions,
    problems: Problems,
    progress: Progress,
    edit: Edit | None,
) -> tuple[Project, Inputs, Changelog | None]:
    """Make the project anew from what lies in its folder, and say what changed in its tools."""
    # Imported here: the stages load a validator, templates and YAML, which `check` does without.
    from mcpgen.pipeline import stages
    from mcpgen.pipeline.planned import plan_project, read_intent
    from mcpgen.render.surface import surface_of
    from mcpgen.spec.manifest import read_manifest

    with stages.ready_for_skeleton(len(lock.operations)) as around:
        intent = (
            read_intent(target, problems)
            if edit is None
            else read_manifest(edit.manifest, problems)
        )
        levels = levels_of(intent, problems)
        answers = stages.recorded_answers(read_file(target, ANSWERS_FILE))
        documents = edit.documents if edit is not None else {}
        planned = plan_project(
            target, lock, intent, options, problems, progress, documents=documents
        )
        project = stages.make_project(
            planned.plan,
            planned.inputs.files,
            {**answers, **options.answers},
            problems,
            progress,
            cache=options.cache,
            around=around,
        )
    _hold_answers(project, answers, lock, problems)
    before = last_surface(target, problems)
    changelog = None if before is None else compare(before, surface_of(planned.plan), levels)
    return project, planned.inputs, changelog


def _hold_answers(
    project: Project, answers: Mapping[str, str], lock: Lock, problems: Problems
) -> None:
    """Hold that a skeleton is not made of other answers because what was answered is lost.

    Raises:
        RejectedError: it would be.
    """
    locked = lock.files.get(ANSWERS_FILE)
    made = next(file.content for file in project.files if file.path == ANSWERS_FILE)
    if answers or locked is None or locked.is_untouched(made):
        return
    problems.error(
        "answers-lost",
        f"{ANSWERS_FILE} is lost, and what is answered by default is not what stood there",
        at=Location(ANSWERS_FILE),
        why="files of the project would change, or go, without anybody having asked for it",
        help='take it back from version control, or write it anew: `python_version: "3.12"`,'
        " a line for each question of `mcpgen new`",
    )
    raise RejectedError


def _diffs(target: Path, changes: Changes) -> tuple[FileDiff, ...]:
    new = {file.path: file.content for file in changes.written}
    new |= dict.fromkeys(changes.deleted, b"")
    return tuple(
        FileDiff(
            path,
            unified_diff(path, read_file(target, path) or b"", content, ("on disk", "mcpgen")),
        )
        for path, content in sorted(new.items())
    )
