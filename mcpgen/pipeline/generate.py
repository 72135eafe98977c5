"""`generate`: a project is brought up to date with its document, its manifest and mcpgen."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.emit.lock import Lock
from mcpgen.emit.reconcile import Changes, reconcile, unified_diff
from mcpgen.emit.write import BusyError, exclusive, is_interrupted, roll_forward
from mcpgen.pipeline.known_current import is_known_current, note_current
from mcpgen.pipeline.options import (
    CONFLICT,
    DONE,
    INTERRUPTED,
    REJECTED,
    USAGE,
    FileDiff,
    GenerateOptions,
    Progress,
    Project,
    Report,
)
from mcpgen.pipeline.project_folder import (
    ANSWERS_FILE,
    MANIFEST_FILE,
    commit,
    make_lock,
    read_file,
    read_lock,
    told_by_the_disk,
)


def generate(target: Path, options: GenerateOptions, progress: Progress) -> Report:
    """Bring the project at `target` up to date; what its users wrote stays as it is.

    A generated file that somebody edited stops the run before anything is written, unless
    `options.force` says otherwise.
    """
    problems = Problems()
    if options.dry_run:
        if is_interrupted(target):
            return Report(problems, _interrupted(target, problems), target)
        return _generate(target, options, problems, progress)
    try:
        with contextlib.ExitStack() as stack:
            if target.is_dir():
                stack.enter_context(exclusive(target))
                roll_forward(target)
            if not options.strict and is_known_current(target, options.cache):
                return Report(problems, DONE, target)
            report = _generate(target, options, problems, progress)
            if report.exit_code == DONE:
                note_current(target, options.cache)
            return report
    except (OSError, BusyError) as error:
        return Report(problems, told_by_the_disk(error, target, problems), target)


def _interrupted(target: Path, problems: Problems) -> int:
    problems.error(
        "interrupted",
        "an earlier run was cut while it was writing",
        at=Location(target.as_posix()),
        why="some files are already new and some are still old",
        help="`mcpgen generate` finishes that run first",
    )
    return INTERRUPTED


def _generate(
    target: Path, options: GenerateOptions, problems: Problems, progress: Progress
) -> Report:
    lock = read_lock(target, problems)
    if lock is None:
        return Report(problems, USAGE, target)
    try:
        project, document = _make(target, lock, options, problems, progress)
    except RejectedError:
        return Report(problems, REJECTED, target)
    changes = reconcile(
        project.files, lock.files, lambda path: read_file(target, path), force=options.force
    )
    _tell(changes, options, problems)
    if changes.hand_edits and not options.force:
        edits = tuple(FileDiff(edit.path, edit.diff) for edit in changes.hand_edits)
        return Report(problems, CONFLICT, target, project.plan, diffs=edits)
    diffs = _diffs(target, changes) if options.diff else ()
    if options.dry_run:
        written = tuple(file.path for file in changes.written)
    else:
        progress(f"writing {target}")
        manifest = read_file(target, MANIFEST_FILE)
        new_lock = make_lock(project, document, lock.document.source, changes.files, manifest)
        written = commit(target, changes, new_lock)
    return Report(problems, DONE, target, project.plan, written, changes.deleted, diffs)


def _make(
    target: Path, lock: Lock, options: GenerateOptions, problems: Problems, progress: Progress
) -> tuple[Project, Mapping[str, bytes]]:
    """Make the project anew from what lies in its folder."""
    # Imported here: the stages load a validator, templates and YAML, which `check` does without.
    from mcpgen.pipeline import stages
    from mcpgen.pipeline.planned import plan_project, read_intent

    intent = read_intent(target, problems)
    answers = stages.recorded_answers(read_file(target, ANSWERS_FILE))
    planned = plan_project(target, lock, intent, options, problems, progress)
    project = stages.make_project(
        planned.plan, planned.document, answers, problems, progress, cache=options.cache
    )
    return project, planned.document


def _tell(changes: Changes, options: GenerateOptions, problems: Problems) -> None:
    for edit in changes.hand_edits:
        report = problems.warning if options.force else problems.error
        report(
            "hand-edit",
            f"{edit.path} was edited by hand",
            at=Location(edit.path),
            why="mcpgen rewrites it, and the edit would be lost",
            help="move the change to `handlers/` or `mcpgen.yaml`; `mcpgen generate --force`"
            " overwrites it and keeps a copy in .mcpgen/rescued/",
        )
    for path in changes.left_alone:
        problems.note(
            "left-alone",
            f"{path} has edits of yours, so its new version was not written",
            at=Location(path),
            help="`mcpgen generate --diff` shows what it would have changed",
        )
    for path in changes.orphans_kept:
        problems.warning(
            "orphan-kept",
            f"{path} is no longer made, and is kept because it was edited",
            at=Location(path),
            help="delete it once you have taken what you need",
        )


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
