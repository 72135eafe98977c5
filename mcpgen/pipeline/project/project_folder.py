"""Reading of a project folder (files, lock, toolchain), and the check of a folder for a new one."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from mcpgen.changelog import SurfaceUnreadableError, derive_surface, is_surface_source, read_surface
from mcpgen.diagnostics import Location, Problems
from mcpgen.emit.lockfile import (
    LeftOut,
    Lock,
    LockedFile,
    LockTooNewError,
    LockUnreadableError,
    dump_lock,
    parse_lock,
    parse_locked_key,
    recover_lock,
    sha256,
)
from mcpgen.emit.reconcile import Changes
from mcpgen.emit.write import write
from mcpgen.ir.file_set import (
    ANSWERS_FILE,
    LOCK_FILE,
    MANIFEST_FILE,
    RESCUE_FOLDER,
    STATE_FOLDER,
    Owner,
    PlannedFile,
)
from mcpgen.ir.listing_form import ListingForm
from mcpgen.ir.surface import SURFACE_FILE, Surface, SurfaceTool
from mcpgen.pipeline.options import Outcome, StoppedError
from mcpgen.pipeline.project.git import read_tree_at

if TYPE_CHECKING:
    from mcpgen.ir.api import Operation
    from mcpgen.ir.tool_plan import ServerPlan
    from mcpgen.pipeline.inputs import Project


_TOOLS = ("copier", "datamodel-code-generator", "jinja2", "ruff")


def read_file(target: Path, path: str) -> bytes | None:
    """Read a file of the project; None if there is none."""
    try:
        return (target / path).read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def find_changed_inputs(target: Path, lock: Lock) -> dict[str, str]:
    """Return the inputs that changed since the project was generated, each with its change."""
    recorded = {**lock.inputs, MANIFEST_FILE: lock.manifest, ANSWERS_FILE: lock.answers}
    changed: dict[str, str] = {}
    for path, digest in recorded.items():
        content = read_file(target, path)
        if content is None or sha256(content) != digest:
            changed[path] = "is missing" if content is None else "has changed"
    return changed


class FoundLock(Struct, frozen=True):
    """A project's lock, or the readable part of it."""

    lock: Lock
    is_lost: bool = False
    is_recovered: bool = False  # lost, or read line by line out of a merge


def find_lock(target: Path, problems: Problems) -> FoundLock | None:
    """Read the project's lock, or the intact part of it; report what is wrong with it.

    None if the folder is not a project, or a newer mcpgen wrote the lock.
    """
    content = read_file(target, LOCK_FILE)
    at = Location((target / LOCK_FILE).as_posix())
    if content is None and read_file(target, MANIFEST_FILE) is None:
        problems.error(
            "not-a-project",
            f"{target} is not an mcpgen project: it has no {LOCK_FILE}",
            at=at,
            why="the lock lists the files that mcpgen wrote and may change",
            help="name the folder that `mcpgen new` made, or make one with `mcpgen new SOURCE`",
        )
        return None
    why_not = f"{target} has no {LOCK_FILE}"
    try:
        if content is not None:
            try:
                return FoundLock(parse_lock(content))
            except LockUnreadableError as error:
                why_not = str(error)
        published = _read_published_tools(target)
        issued = {tool.operation: name for name, tool in published.items()}
        lock = recover_lock(content, issued, _find_published_form(published.values()))
    except LockTooNewError as error:
        problems.error(
            "lock-too-new",
            str(error),
            at=at,
            why="this mcpgen does not know what the newer one recorded, and would lose it",
            help="upgrade mcpgen",
        )
        return None
    problems.warning(
        "lock-unreadable" if lock.files else "lock-lost",
        why_not,
        at=at,
        why="mcpgen needs the lock to detect your edits",
        help="`mcpgen generate` makes it anew, and keeps a copy of each generated file that it"
        f" cannot tell from an edit in {RESCUE_FOLDER}/",
    )
    return FoundLock(lock, is_lost=not lock.files, is_recovered=True)


def _find_published_form(tools: Iterable[SurfaceTool]) -> str:
    """Return whether bodies are "flat" or "nested" in a package; "" if it has no bodies."""
    tools = list(tools)
    if any(tool.flat_body is not None for tool in tools):
        return "flat"
    return "nested" if any("body" in tool.input_schema["properties"] for tool in tools) else ""


def _read_published_tools(target: Path) -> Mapping[str, SurfaceTool]:
    found = load_readable_surface(target)
    return {} if found is None else found.handled


def require_lock(target: Path, problems: Problems, *, if_lost: Outcome = Outcome.FINDINGS) -> Lock:
    """Read the lock of a project that is in order.

    Raises:
        StoppedError: there is no project, or its lock is lost or has conflicts.
    """
    found = find_lock(target, problems)
    if found is None:
        raise StoppedError(Outcome.USAGE)
    if found.is_recovered:
        raise StoppedError(if_lost if found.is_lost else Outcome.CONFLICT)
    return found.lock


def refuse_target(target: Path, problems: Problems) -> bool:
    """Report why a new project cannot be created at `target`; return whether there is a reason."""
    at = Location(target.as_posix())
    if target.is_dir():
        existing = sorted(path.name for path in target.iterdir() if not _is_ignorable(path))
        if existing:
            problems.error(
                "target-not-empty",
                f"{target} is not empty: it holds {existing[0]}"
                + (f" and {len(existing) - 1} more" if len(existing) > 1 else ""),
                at=at,
                why="`mcpgen new` never writes among files that it did not make",
                help="name another folder; in an existing project run `mcpgen generate`",
            )
            return True
    parent = target
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        reason = "cannot be written to" if parent.is_dir() else "is not a folder"
        problems.error(
            "target-unwritable",
            f"cannot make {target}: {parent} {reason}",
            at=at,
            why="the project has to go somewhere",
            help="name a folder that you can write to",
        )
        return True
    return False


def _is_ignorable(path: Path) -> bool:
    """Whether it may be in a new project's folder: a repository, or files of a killed `new`."""
    if path.name != STATE_FOLDER:
        return path.name == ".git"
    return path.is_dir() and {each.name for each in path.iterdir()} <= {"running", "stage"}


def toolchain() -> dict[str, str]:
    """Return the versions of the tools that affect the output."""
    return {name: importlib.metadata.version(name) for name in _TOOLS}


def make_lock(
    project: Project, files: Mapping[str, LockedFile], manifest: bytes | None = None
) -> Lock:
    """Create a project's lock; `manifest` is the one on the disk, if it exists already."""
    from mcpgen.plan.naming.names import derive_call_type  # `check` plans nothing

    documents = [
        replace(
            origin.record_hashes({path: sha256(content) for path, content in document.items()}),
            credentials=_read_published_credentials(project.plan, origin.name or ""),
        )
        for document, origin in project.inputs.documents
    ]
    roots = {each.name: each.root for each in documents}
    tools = {_find_locked_key(tool.operation, roots): tool for tool in project.plan.tools}
    made = {file.path: file.content for file in project.files}
    return Lock(
        mcpgen=importlib.metadata.version("mcpgen"),
        toolchain=toolchain(),
        documents=tuple(sorted(documents, key=lambda document: document.root)),
        manifest=sha256(made[MANIFEST_FILE] if manifest is None else manifest),
        answers=sha256(made[ANSWERS_FILE]),
        files=files,
        operations={key: tool.name for key, tool in tools.items()},
        calls={
            key: tool.call_type
            for key, tool in tools.items()
            if tool.call_type != derive_call_type(tool.operation)
        },
        overlays={path: sha256(content) for path, content in project.inputs.overlays.items()},
        arazzo={path: sha256(content) for path, content in project.inputs.arazzo.items()},
        left_out={
            each.operation: LeftOut(each.code, each.reason)
            for each in (*project.plan.skipped, *project.plan.unselected)
        },
        listing=project.plan.form if project.plan.form != ListingForm() else None,
    )


def _find_locked_key(operation: Operation, roots: Mapping[str | UnsetType, str]) -> str:
    if operation.declared is not None:
        return operation.key
    return parse_locked_key(roots[operation.source], f"{operation.method} {operation.path}")


def _read_published_credentials(plan: ServerPlan, source: str) -> dict[str, str]:
    """Return what begins the settings of each security scheme of a source, by scheme."""
    own = {each.id: each.local_id for each in plan.api.security_schemes if each.source == source}
    return {
        own[variable.scheme]: variable.stem
        for variable in plan.environment
        if variable.scheme in own
    }


def commit(target: Path, changes: Changes, lock: Lock) -> tuple[str, ...]:
    """Write the changes and then the lock; return the paths of the written files.

    Raises:
        OSError: writing failed; nothing was written.
        RefusedError: as `write` does.
    """
    locked = PlannedFile(LOCK_FILE, dump_lock(lock), Owner.GENERATED)
    files = changes.written
    if read_file(target, LOCK_FILE) != locked.content:
        files = (*files, locked)
    if files or changes.deleted:
        write(target, files, changes.deleted)
    return tuple(file.path for file in files)


def load_surface(target: Path) -> Surface | None:
    """Read the surface of the project at `target`; None if no tools were generated there.

    Raises:
        SurfaceUnreadableError: a file is missing, damaged or in a merge conflict.
        OSError: a file cannot be read.
    """
    return parse_surface(_read_files(target))


def load_readable_surface(target: Path) -> Surface | None:
    """Read the surface of the project at `target`; None if it is missing or damaged."""
    try:
        return load_surface(target)
    except SurfaceUnreadableError:
        return None


def require_surface(target: Path) -> Surface:
    """Read the surface of the project at `target`.

    Raises:
        SurfaceUnreadableError: no tools were generated, or a file is missing or damaged.
        OSError: a file cannot be read.
    """
    found = load_surface(target)
    if found is None:
        raise SurfaceUnreadableError("it is missing", find_listing(target))
    return found


def load_unedited_surface(target: Path, lock: Lock) -> Surface | None:
    """Read the surface of the project at `target` if its files are those that the lock records.

    Raises:
        SurfaceUnreadableError: a file is damaged.
        OSError: a file cannot be read.
    """
    files = _read_files(target)
    recorded = {path: it.sha256 for path, it in lock.files.items() if is_surface_source(path)}
    found = {path: sha256(content) for path, content in files.items() if is_surface_source(path)}
    return derive_surface(files) if found == recorded else None


def load_surface_at(folder: Path, commit: str) -> Surface | None:
    """Read the surface of the project below `folder` as a commit has it; None if it has none.

    Raises:
        SurfaceUnreadableError: a file is missing, damaged or in a merge conflict.
        GitUnusableError: git cannot supply a file.
    """
    return parse_surface(read_tree_at(folder, commit, ("src", SURFACE_FILE), is_surface_file))


def find_listing(target: Path) -> str:
    """Return the path in a project of the list of its tools, whether or not the file exists."""
    generated = sorted(target.glob("src/*/_generated"))
    folder = generated[0].relative_to(target).as_posix() if generated else "src/*/_generated"
    return f"{folder}/listing.json"


def is_surface_file(path: str) -> bool:
    """Whether the file at this path states the surface, in the layout of any version."""
    return path == SURFACE_FILE or is_surface_source(path)


def parse_surface(files: Mapping[str, bytes]) -> Surface | None:
    """Read the surface from the files of a project, by path; None if they state none.

    Raises:
        SurfaceUnreadableError: a file is missing, damaged or in a merge conflict.
    """
    found = derive_surface(files)
    if found is None and SURFACE_FILE in files:
        return read_surface(files[SURFACE_FILE])
    return found


def _read_files(target: Path) -> dict[str, bytes]:
    generated = [*target.glob("src/*/_generated/*.json"), *target.glob("src/*/_generated/*/*.json")]
    paths = {path.relative_to(target).as_posix(): path for path in generated}
    paths[SURFACE_FILE] = target / SURFACE_FILE
    return {
        name: path.read_bytes()
        for name, path in sorted(paths.items())
        if is_surface_file(name) and path.is_file()
    }
