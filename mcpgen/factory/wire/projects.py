"""The command that starts the server of a project folder: Python, Node, or `.mcp.json`."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from mcpgen.factory.packages import NoPackageError


class ProjectServer(Struct, frozen=True):
    """Start of a project's server: a URL, or a command with its environment variables."""

    url: str = ""
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def find_project_server(folder: Path) -> ProjectServer:
    """Return the server that a folder describes, by its first of these files.

    - `.mcp.json` with one server;
    - `pyproject.toml` with one script, which is installed in `.venv` of the folder or on PATH;
    - `package.json` with one program (`bin`), which Node runs.

    Raises:
        NoPackageError: the folder has none of them, or one that names no server or several.
    """
    for name, read in (
        (".mcp.json", _read_mcp_json),
        ("pyproject.toml", _read_pyproject),
        ("package.json", _read_package_json),
    ):
        file = folder / name
        if not file.is_file():
            continue
        try:
            return read(folder, file.read_text("utf-8"))
        except (ValueError, OSError) as error:
            raise NoPackageError(
                f"`{file}` does not say how to start a server: {error}",
                help="give the command after `--`, or the server's URL",
            ) from None
    raise NoPackageError(
        f"`{folder}` contains no server",
        help="give the folder of a package, a command after `--`, or a URL",
    )


def _read_mcp_json(_folder: Path, text: str) -> ProjectServer:
    servers = _members(json.loads(text), "mcpServers")
    name = _only(servers, "server")
    entry = servers[name]
    if not isinstance(entry, dict):
        raise ValueError(f"`{name}` is not an object")  # noqa: TRY004  (a fault of the file)
    if isinstance(entry.get("url"), str):
        return ProjectServer(url=entry["url"])
    command, arguments = entry.get("command"), entry.get("args", [])
    if not isinstance(command, str) or not isinstance(arguments, list):
        raise ValueError(f"`{name}` has no command")  # noqa: TRY004  (a fault of the file)
    variables = {key: str(value) for key, value in _members(entry, "env").items()}
    return ProjectServer(command=(command, *map(str, arguments)), environment=variables)


def _read_pyproject(folder: Path, text: str) -> ProjectServer:
    scripts = _members(_members(tomllib.loads(text), "project"), "scripts")
    name = _only(scripts, "script")
    own = folder / ".venv" / ("Scripts" if sys.platform == "win32" else "bin")
    found = shutil.which(name, path=str(own.resolve())) or shutil.which(name)
    if found is None:
        raise ValueError(f"the script `{name}` is not installed")
    return ProjectServer(command=(found,))


def _read_package_json(folder: Path, text: str) -> ProjectServer:
    package = json.loads(text)
    programs = package.get("bin") if isinstance(package, dict) else None
    if isinstance(programs, dict):
        programs = programs[_only(programs, "program")]
    if not isinstance(programs, str):
        raise ValueError("it has no `bin`")  # noqa: TRY004  (a fault of the file)
    return ProjectServer(command=("node", str((folder / programs).resolve())))


def _members(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _only(named: Mapping[str, Any], noun: str) -> str:
    if len(named) != 1:
        raise ValueError(f"it has {len(named)} {noun}s, expected 1")
    return next(iter(named))
