"""`mcpgen check`: compare a project with its inputs and its lock, and load its handlers.

It compares hashes. `handlers/` are loaded only if they changed since the last successful load.
"""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

from mcpgen.diagnostics import Location, Problems
from mcpgen.emit.lockfile import OVERRIDDEN_FILE, Lock, sha256
from mcpgen.emit.write import is_interrupted
from mcpgen.ir.file_set import ANSWERS_FILE, LOCK_FILE, MANIFEST_FILE, Owner
from mcpgen.pipeline.options import CheckReport, Outcome
from mcpgen.pipeline.project.disk import report_interrupted, report_unreadable
from mcpgen.pipeline.project.evidence import (
    EVIDENCE_FOLDER,
    TESTS,
    VALIDATE,
    has_other_sources,
    read_evidence,
)
from mcpgen.pipeline.project.loading import check_loading
from mcpgen.pipeline.project.overrides import check_overrides, report_lost
from mcpgen.pipeline.project.own_skills import check_own_skills
from mcpgen.pipeline.project.project_folder import (
    find_changed_inputs,
    find_lock,
    read_file,
    toolchain,
)
from mcpgen.pipeline.project.report_changes import find_foreign, find_unresolved


def check(
    target: Path,
    *,
    ignore_toolchain: bool = False,
    inputs_decide: bool = False,
    loads_handlers: bool = True,
) -> CheckReport:
    """Check that the project at `target` is current and unedited, and that it can be loaded.

    Writes nothing there. An edited file determines the outcome before a stale one; both are
    reported. With `ignore_toolchain`, other versions of the tools that mcpgen uses do not make the
    project stale. With `inputs_decide`, the check ends at a changed input and never loads
    `handlers/`; without `loads_handlers`, they are not loaded either.
    """
    problems = Problems()
    try:
        if is_interrupted(target):
            return CheckReport(problems, report_interrupted(target, problems), target)
        found = find_lock(target, problems)
        if found is None:
            return CheckReport(problems, Outcome.USAGE, target)
        if found.is_recovered:
            outcome = Outcome.FINDINGS if found.is_lost else Outcome.CONFLICT
            return CheckReport(problems, outcome, target, stale=(LOCK_FILE,))
        lock = found.lock
        changed = find_changed_inputs(target, lock)
        for path, how in changed.items():
            _report_stale(problems, path, how)
        stale = list(changed)
        if stale and inputs_decide:
            return CheckReport(problems, Outcome.FINDINGS, target, tuple(stale))
        missing, edited = _compare_files(target, lock, problems)
        merged = [path for path, file in lock.files.items() if file.owner is Owner.MERGED]
        edited += find_unresolved(
            target,
            (*merged, MANIFEST_FILE, ANSWERS_FILE, *(each.root for each in lock.documents)),
            problems,
        )
        find_foreign(target, lock.files, problems)
        stale += missing
        stale += _report_missing_resources(target, problems)
        stale += _report_changed_tools(lock, problems, is_all=not stale, ignored=ignore_toolchain)
        _note_other_runtime(target, problems)
        _report_destinations(target, problems)
        is_misfit = check_overrides(target, problems, is_lost=OVERRIDDEN_FILE in missing)
        is_misfit |= check_own_skills(target, problems)
        # The problems found so far already explain why the server does not start.
        if loads_handlers and not (stale or edited or is_misfit or inputs_decide):
            is_misfit = check_loading(target, problems)
        outcome = (
            Outcome.CONFLICT if edited else Outcome.FINDINGS if stale or is_misfit else Outcome.DONE
        )
        return CheckReport(problems, outcome, target, tuple(stale), tuple(edited))
    except OSError as error:
        return CheckReport(problems, report_unreadable(error, target, problems), target)


def _report_changed_tools(
    lock: Lock, problems: Problems, *, is_all: bool, ignored: bool
) -> list[str]:
    """Return the tools whose version changed; `is_all` states that nothing else is stale."""
    now = {"mcpgen": importlib.metadata.version("mcpgen")}
    then = {"mcpgen": lock.mcpgen}
    if not ignored:
        now |= toolchain()
        then |= lock.toolchain
    changed = [name for name in sorted(now.keys() | then.keys()) if now.get(name) != then.get(name)]
    if changed:
        versions = ", ".join(
            f"{name} {then.get(name, '(absent)')} -> {now.get(name, '(absent)')}"
            for name in changed
        )
        problems.warning(
            "stale",
            f"stale only because {versions}" if is_all else f"stale because {versions}",
            why="another version may write other bytes",
            help="run `mcpgen generate` and review its diff"
            + ("" if "mcpgen" in changed else "; `--ignore-toolchain` passes over it"),
        )
    return changed


def _note_other_runtime(target: Path, problems: Problems) -> None:
    for check, subject, remedy in (
        (TESTS, "the tests", "`mcpgen test` finds out what they say now"),
        (VALIDATE, "`mcpgen validate`", "run it again"),
    ):
        evidence = read_evidence(target, check)
        if evidence is not None and has_other_sources(target, evidence):
            problems.note(
                "proven-with-other-runtime",
                f"{subject} ran with another state of the runtime",
                at=Location(f"{EVIDENCE_FOLDER}/{check}.json"),
                why="mcpgen is installed from a checkout, which changes without its version",
                help=remedy,
            )


def _report_destinations(target: Path, problems: Problems) -> None:
    """Report the origins that the generated server sends no credentials to."""
    for path in sorted(target.glob("src/*/_generated/contract.json")):
        try:
            contract = json.loads(path.read_bytes())
            apis = [contract, *contract.get("sources", {}).values()]
            stated = [it.get("credential_origins", {}) for it in apis]
            origins = [origin for it in stated for origin, is_ok in it.items() if not is_ok]
        except (ValueError, TypeError, AttributeError):
            continue  # reported as an edit
        for origin in sorted(set(origins)):
            problems.warning(
                "credential-destination",
                f"no credentials are sent to the origin {origin}",
                at=Location(path.relative_to(target).as_posix(), pointer="/credential_origins"),
                why="the document names it for requests with credentials, and nobody confirmed it,"
                " so these calls are refused",
                help="if it belongs to the API, add it to `credential_origins` of the source in"
                f" {MANIFEST_FILE}, and run `mcpgen generate`",
            )


def _report_stale(problems: Problems, path: str, how: str) -> None:
    problems.warning(
        "stale",
        f"{path} {how} since the project was generated",
        at=Location(path),
        why="what the project serves may no longer be what its inputs say",
        help="run `mcpgen generate` and review its diff",
    )


def _report_missing_resources(target: Path, problems: Problems) -> list[str]:
    """Return the missing files among those that the manifest serves as resources."""
    missing: list[str] = []
    for listing in sorted(target.glob("src/*/_generated/resources.json")):
        try:
            entries = json.loads(listing.read_bytes())
            files = [file for entry in entries if isinstance(file := entry.get("file"), str)]
        except (ValueError, TypeError, AttributeError):
            continue  # an edit by hand, which has been reported already
        folder = listing.parents[1]
        missing += [
            (folder / file).relative_to(target).as_posix()
            for file in files
            if not (folder / file).is_file()
        ]
    for path in missing:
        problems.warning(
            "stale",
            f"{path} is missing, which a resource of {MANIFEST_FILE} is read from",
            at=Location(path),
            why="the server lists the resource, and cannot give it",
            help=f"take it back from version control, or take it out of {MANIFEST_FILE}",
        )
    return missing


def _compare_files(target: Path, lock: Lock, problems: Problems) -> tuple[list[str], list[str]]:
    """Return the generated files that are missing, and those that were edited."""
    inputs = {*lock.inputs, ANSWERS_FILE}
    missing: list[str] = []
    edited: list[str] = []
    for path, locked in lock.files.items():
        if locked.owner is not Owner.GENERATED or path in inputs:
            continue
        content = read_file(target, path)
        if content is None:
            missing.append(path)
            if path == OVERRIDDEN_FILE:
                report_lost(problems)
            else:
                _report_stale(problems, path, "was deleted")
        elif sha256(content) != locked.sha256:
            edited.append(path)
            problems.error(
                "hand-edit",
                f"{path} was edited by hand",
                at=Location(path),
                why="the next `mcpgen generate` would lose the edit, and refuses",
                help="`mcpgen override TOOL` moves an edited handler to `handlers/`, and"
                " `mcpgen generate` shows every edit",
            )
    return missing, edited
