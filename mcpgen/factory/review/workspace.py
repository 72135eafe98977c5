"""Review of the servers of a workspace that changed since a revision."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.changelog import Level
from mcpgen.diagnostics import Problems
from mcpgen.factory.packages import NoPackageError, WorkspaceRefusedError
from mcpgen.factory.review.model import relocate
from mcpgen.factory.review.run import ReviewOptions
from mcpgen.factory.review.run import review as review_server
from mcpgen.factory.workspace.commands import Request
from mcpgen.factory.workspace.fleet import ServerResult, run_fleet
from mcpgen.factory.workspace.members import Server, Workspace, open_workspace
from mcpgen.factory.workspace.processes import usable_cores
from mcpgen.ir.file_set import LOCK_FILE, MANIFEST_FILE
from mcpgen.pipeline.options import Outcome, Progress, StoppedError, worst
from mcpgen.pipeline.project.git import GitUnusableError, list_changed_paths
from mcpgen.pipeline.project.history import find_base
from mcpgen.pipeline.project.project_folder import find_lock, read_file


class WorkspaceReview(Struct, frozen=True):
    """The changed servers, those with something to resolve first."""

    root: Path
    since: str
    commit: str  # "" without git: then all servers are reviewed
    servers: tuple[ServerResult, ...]
    unchanged: int
    removed: tuple[str, ...] = ()
    other_files: int = 0  # that changed outside of all servers

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of a server."""
        return worst(it.outcome for it in self.servers)


class _Changed(Struct, frozen=True):
    servers: Sequence[Server]
    removed: tuple[str, ...] = ()
    other_files: int = 0


def review_workspace(
    request: Request, options: ReviewOptions, progress: Progress
) -> WorkspaceReview:
    """Review the selected servers whose files differ from the revision, committed or not.

    Raises:
        WorkspaceRefusedError: the workspace or the revision cannot be used.
    """
    workspace = open_workspace(request.here)
    selected = request.choose(workspace)
    is_whole = not request.names and request.covers_root
    progress("comparing with the revision")
    problems = Problems()
    try:
        commit = find_base(workspace.root, options.against, problems)
        changed = (
            _find_changed_servers(workspace, selected, commit) if commit else _Changed(selected)
        )
    except StoppedError as error:
        raise WorkspaceRefusedError(problems, error.outcome) from None
    except GitUnusableError as error:
        raise WorkspaceRefusedError.because(
            "against", f"git cannot compare: {error}", Outcome.USAGE, help="mend that"
        ) from None
    pinned = replace(options, commit=commit or "")
    results = run_fleet(
        partial(_review, pinned), changed.servers, request.jobs or usable_cores(), progress
    )
    return WorkspaceReview(
        workspace.root,
        (options.against or "HEAD") if commit else "the last `generate`",
        commit or "",
        tuple(sorted(results, key=_rank)),
        len(selected) - len(changed.servers),
        changed.removed if is_whole else (),
        changed.other_files if is_whole else 0,
    )


def _rank(result: ServerResult) -> tuple[bool, bool, int, str]:
    """Sort what needs a decision first, then what changed most."""
    changes = result.review.changes if result.review else ()
    level = max((it.change.level for it in changes), default=Level.NONE)
    is_done = result.outcome is Outcome.DONE
    return is_done, result.review is not None, -level, result.server


def _find_changed_servers(
    workspace: Workspace, selected: Sequence[Server], commit: str
) -> _Changed:
    """Return the servers with a changed file, in their folder or named by their lock.

    Raises:
        GitUnusableError: git does not answer.
    """
    paths = list_changed_paths(workspace.root, commit)
    folders = {server.path for server in workspace.servers}
    owners = {path: _find_owner(path, folders) for path in paths}
    touched = set(owners.values())
    others = {path for path, owner in owners.items() if not owner}
    servers = [
        server
        for server in selected
        if server.path in touched or (others and others & _list_outside_files(workspace, server))
    ]
    removed = {
        path.removesuffix(f"/{MANIFEST_FILE}")
        for path in others
        if path.endswith(f"/{MANIFEST_FILE}") and not (workspace.root / path).exists()
    }
    outside = [path for path in others if not any(path.startswith(f"{it}/") for it in removed)]
    return _Changed(servers, tuple(sorted(removed)), len(outside))


def _find_owner(path: str, folders: set[str]) -> str:
    """Return the server that a file belongs to; "" if there is none."""
    parts = path.split("/")
    parents = ("/".join(parts[:length]) for length in range(1, len(parts)))
    return next((parent for parent in parents if parent in folders), "")


def _list_outside_files(workspace: Workspace, server: Server) -> set[str]:
    """Return the documents of a server outside of its folder, relative to the workspace."""
    if b'"../' not in (read_file(server.target, LOCK_FILE) or b""):
        return set()
    found = find_lock(server.target, Problems())  # the review itself reports its problems
    paths = [server.target / path for path in (found.lock.inputs if found else ())]
    places = [path.resolve() for path in paths]
    root = workspace.root
    return {it.relative_to(root).as_posix() for it in places if it.is_relative_to(root)}


def _review(options: ReviewOptions, server: Server) -> ServerResult:
    try:
        report = review_server(server.target, server.path, options, _ignore)
    except NoPackageError as error:
        problems = Problems()
        problems.error("usage", str(error), help=error.help)
        return ServerResult(server.path, Outcome.USAGE, "no review", tuple(problems))
    return ServerResult(
        server.path,
        report.outcome,
        "reviewed" if report.review else "no review",
        tuple(relocate(problem, server.path) for problem in report.problems),
        review=report.review,
    )


def _ignore(_: str) -> None:
    """Ignore the progress of one server: the fleet reports which servers are done."""
