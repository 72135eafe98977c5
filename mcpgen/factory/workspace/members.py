"""Which servers a workspace has, and whose they are."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence, Set
from pathlib import Path

from msgspec import Struct

from mcpgen.diagnostics import Location, Problems, did_you_mean
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.workspace import WORKSPACE_FILE, WorkspaceSettings, list_owners
from mcpgen.pipeline.outcome import Outcome
from mcpgen.pipeline.project.workspace import apart_because, read_workspace


class WorkspaceRefusedError(Exception):
    """There is no workspace to work in; `problems` say why."""

    def __init__(self, problems: Problems, outcome: Outcome) -> None:
        super().__init__()
        self.problems = problems
        self.outcome = outcome


class Server(Struct, frozen=True):
    """A member of the workspace."""

    path: str  # from the workspace's folder, with "/"
    target: Path
    owners: tuple[str, ...] = ()


class Apart(Struct, frozen=True):
    """A server that lies in the workspace's folders and is no member, and why."""

    path: str
    reason: str


class Workspace(Struct, frozen=True):
    """The servers of a workspace, by path."""

    root: Path
    settings: WorkspaceSettings
    servers: tuple[Server, ...]
    apart: tuple[Apart, ...] = ()

    def select(self, names: Sequence[str], here: Path) -> tuple[Server, ...]:
        """Give the servers with these names, or all; a name is a path from here or from the root,
        or what the folder is called.

        Raises:
            WorkspaceRefusedError: there is no such server, or several.
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
                f"`{name}` is the name of {len(found)} servers",
                help=f"name one by its path: {', '.join(server.path for server in found)}",
            )
        if not found:
            names = [server.path.rpartition("/")[2] for server in self.servers]
            apart = [each for each in self.apart if path in (each.path, Path(each.path).name)]
            problems.error(
                "unknown-server",
                f"the workspace has no server `{name}`",
                why=f"{apart[0].path} is left out: {apart[0].reason}" if apart else "",
                help=did_you_mean(
                    path.rpartition("/")[2], names, "`mcpgen ws list` names them all"
                ),
            )
        return found


def default_answers(target: Path) -> dict[str, str]:
    """Give what the workspace around a new server's folder answers to the skeleton's questions.

    Raises:
        WorkspaceRefusedError: its file cannot be followed.
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
    """Find the workspace that the folder `here` lies in, and its servers.

    Raises:
        WorkspaceRefusedError: there is none, or its file cannot be followed.
    """
    problems = Problems()
    here = here.resolve()
    roots = [folder for folder in (here, *here.parents) if (folder / WORKSPACE_FILE).is_file()]
    if not roots:
        problems.error(
            "no-workspace",
            f"there is no {WORKSPACE_FILE} in {here} or above it",
            why="it lists the servers of the workspace",
            help="change into the workspace, or `mcpgen ws init` at the repository's root",
        )
        raise WorkspaceRefusedError(problems, Outcome.USAGE)
    root = roots[0]
    if len(roots) > 1:
        problems.error(
            "nested-workspace",
            f"the workspace {root} lies inside the workspace {roots[1]}",
            at=Location(WORKSPACE_FILE),
            why="a server belongs to one workspace, whose pin and owners count",
            help=f"delete one {WORKSPACE_FILE} of the two",
        )
        raise WorkspaceRefusedError(problems, Outcome.REJECTED)
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
    left_out = tuple(Apart(path, reason) for path, reason in apart.items() if reason is not None)
    return Workspace(root, settings, servers, left_out)


def _find_links(root: Path, paths: Set[str]) -> dict[str, str]:
    """Say why a path is no member that leads to another one, or out of the workspace.

    Of several that lead to one folder, the one that lies there is the member, or the first.
    """
    members: dict[Path, str] = {}
    links: dict[str, str] = {}
    for path in sorted(paths, key=lambda each: ((root / each).resolve() != root / each, each)):
        folder = (root / path).resolve()
        member = members.setdefault(folder, path)
        if not folder.is_relative_to(root):
            links[path] = f"it is a link that leads out of the workspace, to {folder}"
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
    """Tell of workspaces inside this one that claim some of its servers."""
    inner = {
        folder.as_posix()
        for path in paths
        for folder in (Path(path), *Path(path).parents)
        if folder.name and (root / folder / WORKSPACE_FILE).is_file()
    }
    for folder in sorted(inner):
        problems.error(
            "nested-workspace",
            f"the workspace {folder} lies inside this one",
            at=Location(f"{folder}/{WORKSPACE_FILE}"),
            why="a server belongs to one workspace, whose pin and owners count",
            help=f"delete one {WORKSPACE_FILE} of the two",
        )


def _find_owners(path: str, settings: WorkspaceSettings) -> tuple[str, ...]:
    rules = settings.file.owners
    for pattern in reversed(rules):
        if fnmatch.fnmatchcase(path, pattern):
            return list_owners(rules[pattern])
    return list_owners(settings.file.defaults.owner)
