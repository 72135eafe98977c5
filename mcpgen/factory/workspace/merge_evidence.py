"""Combination of the evidence that several machines recorded for the servers of one workspace.

Each machine runs a shard of the checks in a clone of its own. The recorded evidence is read from
folders, chosen as a whole, and written at the end.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from mcpgen.diagnostics import Location, Problems, Severity, did_you_mean
from mcpgen.factory.lint.pins import PINS_FILE
from mcpgen.factory.workspace import root_files
from mcpgen.factory.workspace.members import Workspace
from mcpgen.factory.workspace.stamps import LEFT_BY_TOOLS
from mcpgen.pipeline.options import Outcome
from mcpgen.pipeline.project.disk import report_system_fault, write_atomically
from mcpgen.pipeline.project.evidence import EVIDENCE_FOLDER, list_inputs, show_figures
from mcpgen.pipeline.project.input_hashes import ProjectFiles, hash_inputs

_MAX_BYTES: Final = 16 * 1024 * 1024
_FILE: Final = re.compile(r"([a-z][a-z0-9-]{0,63})\.json")
_LINK: Final = "it is a link"
_STATE_FOLDER: Final = EVIDENCE_FOLDER.partition("/")[0]
_NO_TIME: Final = datetime.min.replace(tzinfo=UTC)


class Evidence(Struct, frozen=True, kw_only=True):
    """One file of evidence. `folder` is where it was found, as named; "" is the workspace."""

    server: str
    check: str
    folder: str
    content: bytes
    inputs: Mapping[str, Any]
    time: datetime = _NO_TIME  # of evidence that states none
    has_passed: bool

    @property
    def path(self) -> str:
        """The path of the file in the workspace."""
        return f"{self.server}/{EVIDENCE_FOLDER}/{self.check}.json"


class Merged(Struct, frozen=True):
    """The evidence of one check of a server that was chosen."""

    chosen: Evidence
    is_current: bool

    @property
    def is_new(self) -> bool:
        """Whether it is from one of the folders."""
        return bool(self.chosen.folder)


class MergeReport(Struct, frozen=True, kw_only=True):
    """The chosen evidence, sorted by server and check, and the written files."""

    outcome: Outcome
    merged: tuple[Merged, ...] = ()
    root_files: tuple[str, ...] = ()  # written, or to write
    problems: Problems = field(default_factory=Problems)


class _DamagedError(Exception):
    """A file cannot be read as evidence. The message states the reason."""


def merge_evidence(
    workspace: Workspace, folders: Mapping[str, Path], *, is_dry_run: bool = False
) -> MergeReport:
    """Take the best evidence of each check from the workspace and from `folders`, by their names.

    Evidence of the current inputs is better than stale evidence, then a later time is better. Each
    folder is a copy of the workspace, or contains `<server>/.mcpgen/evidence/*.json` of it. Links
    are not followed. Write all of the evidence or, if the disk refuses, none; then update the
    figures of the servers' READMEs and the files at the root.
    """
    problems = Problems()
    found = _collect(workspace, folders, problems)
    files = {server.path: ProjectFiles(server.target) for server in workspace.servers}
    merged = tuple(_choose(found[key], files[key[0]], problems) for key in sorted(found))
    changed: list[str] = []
    if not is_dry_run:
        new = [each.chosen for each in merged if each.is_new]
        try:
            _write_all(workspace.root, new)
        except OSError as error:
            outcome = report_system_fault(error, problems, workspace.root)
            return MergeReport(outcome=outcome, problems=problems)
        _show_figures(workspace, {each.server for each in new}, problems)
        changed = root_files.write_files(workspace, problems)
    is_clean = all(problem.severity is Severity.NOTE for problem in problems)
    return MergeReport(
        outcome=Outcome.DONE if is_clean else Outcome.FINDINGS,
        merged=merged,
        root_files=tuple(changed),
        problems=problems,
    )


def _collect(
    workspace: Workspace, folders: Mapping[str, Path], problems: Problems
) -> dict[tuple[str, str], list[Evidence]]:
    """Return the evidence of the servers, by server and check; each that is of no use is reported.

    A server whose own folder of evidence is a link gets none: it would be written elsewhere.
    """
    found: dict[tuple[str, str], list[Evidence]] = {}
    known: dict[str, bool] = {}  # by path: whether it can be written
    for server in workspace.servers:
        known[server.path] = not _report_links(server.path, server.target, "", problems)
        if known[server.path]:
            for evidence in _read_folder(server.path, server.target, "", problems):
                found.setdefault((server.path, evidence.check), []).append(evidence)
    has_more = False
    for name, root in folders.items():
        for path, folder in _find_servers(root):
            if path not in known:
                _report_unknown(path, name, workspace, problems)
            elif known[path] and not _report_links(path, folder, name, problems):
                for evidence in _read_folder(path, folder, name, problems):
                    found.setdefault((path, evidence.check), []).append(evidence)
                    has_more = True
    if not has_more:
        problems.warning(
            "nothing-to-merge",
            f"no evidence of a server in {', '.join(folders)}",
            why="there is nothing to merge",
            help="name folders that contain `<server>/.mcpgen/evidence/*.json`",
        )
    return found


def _find_servers(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the relative path and the place of each folder below `root` that has evidence."""
    for folder, subfolders, _ in os.walk(root):
        subfolders[:] = sorted(each for each in subfolders if each not in LEFT_BY_TOOLS)
        if _STATE_FOLDER in subfolders:
            subfolders.remove(_STATE_FOLDER)
            if os.path.lexists(f"{folder}/{EVIDENCE_FOLDER}"):
                yield Path(folder).relative_to(root).as_posix(), Path(folder)


def _report_links(path: str, folder: Path, name: str, problems: Problems) -> bool:
    """Report whether the folder of evidence of a server is reached by a link."""
    for part in (_STATE_FOLDER, EVIDENCE_FOLDER):
        if (folder / part).is_symlink():
            _report_damaged(f"{path}/{part}", name, _LINK, problems)
            return True
    return False


def _read_folder(path: str, folder: Path, name: str, problems: Problems) -> Iterator[Evidence]:
    """Yield the evidence of the server at `folder`; report each file that is damaged."""
    place = folder / EVIDENCE_FOLDER
    for file in sorted(place.iterdir()) if place.is_dir() else ():
        if file.name == PINS_FILE or file.suffix != ".json":
            continue
        try:
            yield _read(path, file, name)
        except _DamagedError as error:
            _report_damaged(f"{path}/{EVIDENCE_FOLDER}/{file.name}", name, str(error), problems)


def _read(server: str, file: Path, name: str) -> Evidence:
    """Read one file of evidence.

    Raises:
        _DamagedError: it is something else.
    """
    match = _FILE.fullmatch(file.name)
    if match is None:
        raise _DamagedError("its name is not that of a check")
    content = _read_regular(file)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise _DamagedError("it is not JSON") from None
    if not isinstance(value, dict) or value.get("check") != match[1]:
        raise _DamagedError(f"it is not evidence of the check `{match[1]}`")
    inputs = value.get("inputs")
    if not isinstance(inputs, dict):
        raise _DamagedError("it does not state its inputs")
    return Evidence(
        server=server,
        check=match[1],
        folder=name,
        content=content,
        inputs=inputs,
        time=_read_time(value.get("time")),
        has_passed=value.get("outcome") == "passed",
    )


def _read_regular(file: Path) -> bytes:
    """Read a file within the limit; reject links and devices.

    Raises:
        _DamagedError: it is a link or a device, or too large.
    """
    try:
        about = file.lstat()
        if not stat.S_ISREG(about.st_mode):
            raise _DamagedError("it is a link or a device")
        if about.st_size > _MAX_BYTES:
            raise _DamagedError(f"it has more than {_MAX_BYTES:,} bytes")
        return file.read_bytes()
    except OSError as error:
        raise _DamagedError(f"it cannot be read: {error.strerror}") from None


def _read_time(value: object) -> datetime:
    """Parse RFC 3339; evidence of earlier versions of mcpgen has no time.

    Raises:
        _DamagedError: it is something else.
    """
    if value is None:
        return _NO_TIME
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        time = _NO_TIME.replace(tzinfo=None)
    if time.tzinfo is None:
        raise _DamagedError("its time is invalid")
    return time


def _choose(candidates: Sequence[Evidence], files: ProjectFiles, problems: Problems) -> Merged:
    """Return the best evidence of one check; the workspace's own if others are not better."""

    def is_current(evidence: Evidence) -> bool:
        return evidence.inputs == hash_inputs(files, list_inputs(evidence.check))

    ranks = [(is_current(each), each.time) for each in candidates]
    best = max(ranks)
    equal = [each for each, rank in zip(candidates, ranks, strict=True) if rank == best]
    if len({each.content for each in equal}) > 1:
        places = ", ".join(each.folder or "the workspace" for each in equal)
        problems.warning(
            "evidence-conflict",
            f"different evidence of one time: {places}",
            at=Location(equal[0].path),
            why="neither is newer; of the two, the one that did not pass was taken",
            help=f"run the check `{equal[0].check}` of {equal[0].server} again",
        )
    # The content decides last, so that the order of the folders does not matter.
    chosen = min(equal, key=lambda each: (each.has_passed, bool(each.folder), each.content))
    return Merged(chosen, best[0])


def _write_all(root: Path, new: Sequence[Evidence]) -> None:
    """Write files of evidence, all or none.

    Raises:
        OSError: the disk refused; the files are as they were.
    """
    written: list[tuple[Path, bytes | None]] = []  # each file, and its content before
    try:
        for evidence in new:
            place = root / evidence.path
            place.parent.mkdir(parents=True, exist_ok=True)
            before = place.read_bytes() if place.is_file() else None
            write_atomically(place, evidence.content)
            written.append((place, before))
    except OSError:
        for place, before in reversed(written):
            if before is None:
                place.unlink(missing_ok=True)
            else:
                write_atomically(place, before)
        raise


def _show_figures(workspace: Workspace, paths: Set[str], problems: Problems) -> None:
    """Update the figures in the READMEs of servers; report those that the disk refuses."""
    for server in workspace.servers:
        if server.path in paths:
            try:
                show_figures(server.target)
            except OSError as error:
                report_system_fault(error, problems, server.target)


def _report_unknown(path: str, name: str, workspace: Workspace, problems: Problems) -> None:
    reason = workspace.apart.get(path)
    paths = [server.path for server in workspace.servers]
    moved = [each for each in paths if Path(each).name == Path(path).name]
    advice = did_you_mean(path, paths, "delete it, or add the server to the workspace")
    if moved:
        advice = f"copy it with the path that the server has in the workspace: `{moved[0]}`"
    problems.warning(
        "unknown-server",
        f"{name} has evidence of `{path}`, which is no server of the workspace",
        why=f"it is not a member: {reason}" if reason else "",
        help=advice,
    )


def _report_damaged(path: str, name: str, why: str, problems: Problems) -> None:
    place = f" of {name}" if name else ""
    problems.error(
        "evidence-damaged",
        f"skipped {path}{place}: {why}",
        why="a result that cannot be read says nothing about the server",
        help="delete the file, and run the check again",
    )
