"""`generate`: update a project to its document, its manifest and mcpgen."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.cache_files import store, touch
from mcpgen.changelog import Changelog, compare
from mcpgen.diagnostics import Diagnostic, Location, Problems, RejectedError, Severity
from mcpgen.emit.lockfile import OVERRIDDEN_FILE, Lock, sha256
from mcpgen.emit.reconcile import Changes, Earlier, FileDiff, format_diff, reconcile
from mcpgen.emit.write import RefusedError, is_interrupted, lock_project, roll_forward
from mcpgen.ir.document import Document
from mcpgen.ir.file_set import ANSWERS_FILE, LOCK_FILE, MANIFEST_FILE, Owner, PlannedFile
from mcpgen.pipeline.commands.changelog import read_levels
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.inputs import Project
from mcpgen.pipeline.options import GenerateOptions, Outcome, Progress, Report, StoppedError
from mcpgen.pipeline.project.disk import report_interrupted, report_refused
from mcpgen.pipeline.project.evidence import show_figures
from mcpgen.pipeline.project.overrides import (
    add_overridden,
    find_edited_tools,
    find_named_call_types,
)
from mcpgen.pipeline.project.own_skills import check_own_skills
from mcpgen.pipeline.project.project_folder import commit, find_lock, make_lock, read_file
from mcpgen.pipeline.project.report_changes import (
    find_foreign,
    find_unresolved,
    is_merging,
    report_changes,
)
from mcpgen.pipeline.project.surfaces import read_last_surface
from mcpgen.pipeline.user_cache import code_digest, user_cache


def note_current(report: Report, cache: Path | None) -> None:
    """Record that a run left its project up to date, and what it reported.

    A run that changed files may have reported a warning about the changes, so it is not recorded.
    Notes alone need not be repeated. A cache that cannot be written is ignored.
    """
    if report.outcome is not Outcome.DONE:
        return
    problems = [*report.problems]
    silent, reported = _find_notes(report.target, cache)
    if silent is None or reported is None:
        return
    if all(problem.severity is Severity.NOTE for problem in problems):
        touch(silent)
    elif not (report.written or report.deleted or any(map(_is_chance, problems))):
        store(reported, msgspec.json.encode(problems))


def _is_chance(problem: Diagnostic) -> bool:
    """Whether another run may not have the problem: a validator took too long."""
    return problem.code == "external-validator" and problem.severity is Severity.NOTE


def find_current(target: Path, cache: Path | None) -> Problems | None:
    """Return what a run with default options would report; None if it may change something."""
    silent, reported = _find_notes(target, cache)
    problems = Problems()
    if reported is not None and reported.exists():
        try:
            for problem in msgspec.json.decode(reported.read_bytes(), type=list[Diagnostic]):
                problems.add(problem)
        except (OSError, msgspec.DecodeError):
            return None
    elif silent is None or not silent.exists():
        return None
    # Files of the user may have changed: merging the same base again leaves them as they are.
    found = check(target, inputs_decide=True)
    is_current = found.outcome is Outcome.DONE and not len(found.problems)
    return problems if is_current else None


def _find_notes(target: Path, cache: Path | None) -> tuple[Path | None, Path | None]:
    """Return the entries of the cache that note a run without and with warnings.

    Warnings contain paths as the user spelled the folder.
    """
    lock = read_file(target, LOCK_FILE)
    if lock is None:
        return None, None
    named = " ".join(sorted(find_named_call_types(target)))
    key = sha256(code_digest().encode() + lock + named.encode())
    folder = (cache or user_cache()) / "current"
    return folder / key, folder / f"{key}-{sha256(str(target).encode())[:16]}.json"


class Edit(Struct, frozen=True):
    """A change of the sources of a project, which is written together with the generated files."""

    manifest: bytes
    lock: Lock  # as the plan reads it
    documents: Mapping[str, Document] = field(default_factory=dict)  # new ones, by their paths
    kept: frozenset[str] = frozenset()  # files that stay, although nothing is generated from them


class Prepared(Struct, frozen=True):
    """A run before anything is written. Without `changes`, `report` contains the reason."""

    report: Report
    changes: Changes | None = None
    lock: Lock = Lock()


def generate(target: Path, options: GenerateOptions, progress: Progress) -> Report:
    """Update the project at `target`, except what its users wrote.

    A hand edit of a generated file stops the run before anything is written, unless
    `options.force` is set. With `options.dry_run` or `options.diff` nothing is written.
    """
    problems = Problems()
    try:
        if options.only_shows:
            if is_interrupted(target):
                return Report(problems, report_interrupted(target, problems), target)
            edit = _make_code_edit(target, options, problems)
            return prepare(target, options, problems, progress, edit).report
        with contextlib.ExitStack() as stack:
            if target.is_dir():
                stack.enter_context(lock_project(target))
                roll_forward(target)
            is_usual = not (options.strict or options.answers) and options.code is None
            if is_usual and (reported := find_current(target, options.cache)) is not None:
                return Report(reported, Outcome.DONE, target)
            edit = _make_code_edit(target, options, problems)
            prepared = prepare(target, options, problems, progress, edit)
            report = write_prepared(prepared, progress)
            note_current(report, options.cache)
            return report
    except StoppedError as stopped:
        return Report(problems, stopped.outcome, target)
    except (OSError, RefusedError) as error:
        return Report(problems, report_refused(error, target, problems), target)


def _make_code_edit(target: Path, options: GenerateOptions, problems: Problems) -> Edit | None:
    """Return the edit of the manifest that turns code mode on or off; None if nothing changes.

    Raises:
        StoppedError: the manifest cannot be edited.
    """
    manifest = read_file(target, MANIFEST_FILE)
    found = None if options.code is None else find_lock(target, Problems())
    if manifest is None or found is None:
        return None  # also of a folder that is no project, which `prepare` reports
    from mcpgen.pipeline.commands.edit_manifest import prepare_manifest_edit
    from mcpgen.pipeline.project.read_inputs import read_intent

    try:
        intent = read_intent(target, Problems())
    except RejectedError:
        return None  # `prepare` reports why
    if (intent.manifest.code_bounds is not None) is options.code:
        return None
    edit = prepare_manifest_edit(target, {("code",): options.code}, problems)
    if edit.after is None:
        raise StoppedError(edit.outcome)
    return Edit(edit.after, found.lock)


def prepare(
    target: Path,
    options: GenerateOptions,
    problems: Problems,
    progress: Progress,
    edit: Edit | None = None,
) -> Prepared:
    """Build the project in memory, and decide what to write and delete.

    `edit` replaces the manifest and the lock on the disk.
    """
    found = find_lock(target, problems)
    if found is None:
        return Prepared(Report(problems, Outcome.USAGE, target))
    lock = found.lock if edit is None else edit.lock
    inputs = (MANIFEST_FILE, ANSWERS_FILE, *(each.root for each in lock.documents))
    if find_unresolved(target, inputs, problems):
        return Prepared(Report(problems, Outcome.CONFLICT, target))
    try:
        project, changelog = _build(target, lock, options, problems, progress, edit)
    except RejectedError:
        return Prepared(Report(problems, Outcome.REJECTED, target))
    merged = [file.path for file in project.files if file.owner is Owner.MERGED]
    if find_unresolved(target, merged, problems):
        return Prepared(Report(problems, Outcome.CONFLICT, target, project.plan))
    # During a merge, or without a readable lock, a refusal could not be resolved.
    is_mixed = found.is_recovered or is_merging(target)
    is_expected = found.is_lost or OVERRIDDEN_FILE in lock.files
    project, is_fit = add_overridden(project, target, problems, is_expected=is_expected)
    changes = reconcile(
        project.files,
        Earlier(lock.files, is_lock_lost=found.is_lost, skeletons=project.skeletons),
        lambda path: read_file(target, path),
        overwrite=options.force or is_mixed,
    )
    report_changes(changes, find_edited_tools(changes, project, target), problems)
    manifest = read_file(target, MANIFEST_FILE)
    if edit is not None:
        manifest = edit.manifest
        changes = _with_edit(changes, edit)
    check_own_skills(target, problems)
    find_foreign(target, {*changes.files, *changes.deleted, *changes.orphans_kept}, problems)
    if changes.hand_edits:
        edits = changes.hand_edits
        return Prepared(Report(problems, Outcome.CONFLICT, target, project.plan, diffs=edits))
    report = Report(
        problems,
        Outcome.CONFLICT if changes.unmerged else Outcome.DONE if is_fit else Outcome.FINDINGS,
        target,
        project.plan,
        tuple(file.path for file in changes.written),
        changes.deleted,
        _diffs(target, changes) if options.diff else (),
        changelog,
    )
    return Prepared(report, changes, make_lock(project, changes.files, manifest))


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
    progress("write")
    written = commit(target, changes, prepared.lock)
    if written:
        written += tuple(path for path in show_figures(target) if path not in written)
    return replace(report, written=written)


def _build(
    target: Path,
    lock: Lock,
    options: GenerateOptions,
    problems: Problems,
    progress: Progress,
    edit: Edit | None,
) -> tuple[Project, Changelog | None]:
    """Build the project from its folder, and compare its tools with the last ones."""
    # Imported here: the pipeline loads a validator, templates and YAML, which `check` never needs.
    from mcpgen.manifest.manifest import read_manifest
    from mcpgen.pipeline.build import build
    from mcpgen.pipeline.project.read_inputs import read_inputs, read_intent
    from mcpgen.render.contracts import surface_of

    if edit is None:
        intent = read_intent(target, problems)
    else:
        intent = read_manifest(edit.manifest, problems)
    levels = read_levels(intent, problems)
    documents = edit.documents if edit is not None else {}
    inputs = read_inputs(target, intent, options, lock=lock, documents=documents)
    project = build(inputs, problems, progress)
    _check_answers(project, target, lock, problems)
    before = read_last_surface(inputs, problems)
    changelog = None if before is None else compare(before, surface_of(project.plan), levels)
    return project, changelog


def _check_answers(project: Project, target: Path, lock: Lock, problems: Problems) -> None:
    """Check that lost answers do not change the skeleton."""
    from mcpgen.pipeline.render import parse_answers

    locked = lock.files.get(ANSWERS_FILE)
    made = next(file.content for file in project.files if file.path == ANSWERS_FILE)
    is_lost = not parse_answers(read_file(target, ANSWERS_FILE))
    if not is_lost or locked is None or locked.is_untouched(made):
        return
    problems.error(
        "answers-lost",
        f"{ANSWERS_FILE} is missing, and the default answers differ from it",
        at=Location(ANSWERS_FILE),
        why="files of the project would change or disappear unintentionally",
        help='restore it from version control, or write one line such as `python_version: "3.12"`'
        " for each question of `mcpgen new`",
    )
    raise RejectedError


def _diffs(target: Path, changes: Changes) -> tuple[FileDiff, ...]:
    new = {file.path: file.content for file in changes.written}
    new |= dict.fromkeys(changes.deleted, b"")
    return tuple(
        FileDiff(
            path,
            format_diff(path, read_file(target, path) or b"", content, ("on disk", "mcpgen")),
        )
        for path, content in sorted(new.items())
    )
