"""The fleet that a folder belongs to: a workspace, or one server."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from mcpgen.factory.status.details import collect_fleet, collect_server
from mcpgen.factory.status.model import Fleet
from mcpgen.factory.workspace.members import Server, open_workspace
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.workspace import WORKSPACE_FILE


def find_root(folder: Path) -> Path:
    """Return the folder that paths in the fleet of `folder` are relative to.

    It is the root of the workspace, or the parent of a server outside of one.
    """
    folder = folder.resolve()
    for each in (folder, *folder.parents):
        if (each / WORKSPACE_FILE).is_file():
            return each
    return folder.parent


def collect(folder: Path, now: datetime) -> Fleet:
    """Examine the servers of the workspace around `folder`, or only the server in it.

    Raises:
        WorkspaceRefusedError: the folder is in no workspace and contains no server, or the
            workspace file is invalid.
    """
    folder, root = folder.resolve(), find_root(folder)
    is_server = (folder / MANIFEST_FILE).is_file()
    if is_server and not (root / WORKSPACE_FILE).is_file():
        return collect_server(folder, now)
    workspace = open_workspace(folder)
    if not is_server:
        return collect_fleet(root.name, root, workspace.servers, now)
    own = [server for server in workspace.servers if server.target.resolve() == folder]
    path = folder.relative_to(root).as_posix()
    return collect_fleet(path, root, own or [Server(path, folder)], now)
