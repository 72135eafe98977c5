"""The servers of a workspace, and their owners."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from msgspec import Struct, field

from mcpgen.diagnostics import Location, Problems, did_you_mean
from mcpgen.factory.packages import WorkspaceRefusedError
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.workspace import WORKSPACE_FILE, WorkspaceSettings, list_owners
from mcpgen.pipeline.options import Outcome
from mcpgen.pipeline.project.workspace import apart_because, read_workspace

ONE_WORKSPACE = "a server belongs to one workspace, which defines its pin and owners"


class Server(Struct, frozen=True):
    """A member of the workspace."""

    path: str  # relative to the workspace, with "/"
    target: Path
    owners: tuple[str, ...] = ()


class Workspace(Struct, frozen=True):
    """The servers of a workspace, by path."""

    root: Path
    settings: WorkspaceSettings
    servers: tuple[Server, ...]
    apart: Mapping[str, str] = field(default_factory=dict)  # server path -> why it is no member

    def select(self, names: Sequence[str], here: Path) -> tuple[Server, ...]:
        """Return the servers with these names, or all.

        A name is a path, relative to `here` or the root, or the name of the folder.

        Raises:
            WorkspaceRefusedError: a name matches no server, or several.
        """
        if not names:
            return self.servers
        problems = Problems()
        chosen = {
            server.path for name in names for server in self._find_by_name(name, here, problems)
        }
        if problems.has_errors:
            raise WorkspaceRefusedError(problems, Outcome.USAGE)
        return tuple(server for server in self.servers if server.path in chosen)

    def _find_by_name(self, name: str, here: Path, problems: Problems) -> Sequence[Server]:
        path = name.rstrip("/")
        exact = [
            server
            for server in self.servers
            if server.path == path or server.target == (here / path).resolve()
        ]
        found = exact or [
            server for server in self.servers if server.path.rpartition("/")[2] == path
        ]
        if len(found) > 1:
            problems.error(
                "unknown-server",
                f"`{name}` matches {len(found)} servers",
                help=f"use a path: {', '.join(server.path for server in found)}",
            )
        if not found:
            names = [server.path.rpartition("/")[2] for server in self.servers]
            apart = [each for each in self.apart if path in (each, Path(each).name)]
            problems.error(
                "unknown-server",
                f"the workspace has no server `{name}`",
                why=f"{apart[0]} is not a member: {self.apart[apart[0]]}" if apart else "",
                help=did_you_mean(
                    path.rpartition("/")[2], names, "`mcpgen ws list` shows all of them"
                ),
            )
        return found


def default_answers(target: Path) -> dict[str, str]:
    """Return the answers to the skeleton's questions from the workspace around a new server.

    Raises:
        WorkspaceRefusedError: its file is invalid.
    """
    for folder in target.resolve().parents:
        if (folder / WORKSPACE_FILE).is_file():
            problems = Problems()
            settings = read_workspace(folder, problems)
            if settings is None:
                raise WorkspaceRefusedError(problems, Outcome.REJECTED)
            return settings.file.defaults.answers
    return {}


def open_workspace(here: Path) -> Workspace:
    """Find the workspace that contains the folder `here`, and its servers.

    Raises:
        WorkspaceRefusedError: there is none, or its file is invalid.
    """
    problems = Problems()
    here = here.resolve()
    roots = [folder for folder in (here, *here.parents) if (folder / WORKSPACE_FILE).is_file()]
    if not roots:
        raise WorkspaceRefusedError.because(
            "no-workspace",
            f"there is no {WORKSPACE_FILE} in {here} or above it",
            Outcome.USAGE,
            why="it lists the servers of a workspace",
            help="change into the workspace, or run `mcpgen ws init` at the repository's root",
        )
    root = roots[0]
    if len(roots) > 1:
        raise WorkspaceRefusedError.because(
            "nested-workspace",
            f"the workspace {root} is inside the workspace {roots[1]}",
            Outcome.REJECTED,
            at=Location(WORKSPACE_FILE),
            why=ONE_WORKSPACE,
            help=f"delete one of the two {WORKSPACE_FILE}",
        )
    settings = read_workspace(root, problems)
    if settings is None:
        raise WorkspaceRefusedError(problems, Outcome.REJECTED)
    workspace = _build_workspace(root, settings, problems)
    if problems.has_errors:
        raise WorkspaceRefusedError(problems, Outcome.REJECTED)
    return workspace


def _build_workspace(root: Path, settings: WorkspaceSettings, problems: Problems) -> Workspace:
    paths: set[str] = set()
    for number, pattern in enumerate(settings.file.servers):
        found = {
            folder.relative_to(root).as_posix()
            for folder in root.glob(pattern)
            if (folder / MANIFEST_FILE).is_file()
        }
        if not found:
            at = settings.at(("servers", str(number)))
            _report_unmatched(pattern, f"no folder with an {MANIFEST_FILE}", at, problems)
        paths |= found
    _refuse_nested(root, paths, problems)
    links = _find_links(root, paths)
    apart = {path: links.get(path) or apart_because(root / path) for path in sorted(paths)}
    servers = tuple(
        Server(path, root / path, _find_owners(path, settings))
        for path, reason in apart.items()
        if reason is None
    )
    for pattern in settings.file.owners:
        if paths and not any(fnmatch.fnmatchcase(path, pattern) for path in paths):
            _report_unmatched(pattern, "no server", settings.at(("owners", pattern)), problems)
    skipped = {path: reason for path, reason in apart.items() if reason is not None}
    return Workspace(root, settings, servers, skipped)


def _find_links(root: Path, paths: Set[str]) -> dict[str, str]:
    """Return the links to other members or out of the workspace, with the reason for each.

    Of several paths to one folder, the folder itself is the member, else the first link.
    """
    members: dict[Path, str] = {}
    links: dict[str, str] = {}
    for path in sorted(paths, key=lambda each: ((root / each).resolve() != root / each, each)):
        folder = (root / path).resolve()
        member = members.setdefault(folder, path)
        if not folder.is_relative_to(root):
            links[path] = f"it is a link to {folder}, outside the workspace"
        elif member != path:
            links[path] = f"it is a link to {member}"
    return links


def _report_unmatched(pattern: str, what: str, at: Location, problems: Problems) -> None:
    problems.error(
        "workspace",
        f"`{pattern}` matches {what}",
        at=at,
        why="a pattern that matches nothing is usually a mistake",
        help="patterns are relative to the workspace file, such as `servers/*`",
    )


def _refuse_nested(root: Path, paths: set[str], problems: Problems) -> None:
    """Report workspaces inside this one that contain some of its servers."""
    inner = {
        folder.as_posix()
        for path in paths
        for folder in (Path(path), *Path(path).parents)
        if folder.name and (root / folder / WORKSPACE_FILE).is_file()
    }
    for folder in sorted(inner):
        problems.error(
            "nested-workspace",
            f"the workspace {folder} is inside this one",
            at=Location(f"{folder}/{WORKSPACE_FILE}"),
            why=ONE_WORKSPACE,
            help=f"delete one of the two {WORKSPACE_FILE}",
        )


def _find_owners(path: str, settings: WorkspaceSettings) -> tuple[str, ...]:
    rules = settings.file.owners
    for pattern in reversed(rules):
        if fnmatch.fnmatchcase(path, pattern):
            return list_owners(rules[pattern])
    return list_owners(settings.file.defaults.owner)
