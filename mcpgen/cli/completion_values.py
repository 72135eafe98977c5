"""Values for shell completion: servers, tools, clients.

Each function returns the candidates for a parameter; typer selects those that match. A folder that
cannot be read has no candidates, since a problem cannot be reported while a user types. Names that
a shell would interpret are omitted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import get_args

from typer import Context

from mcpgen.ir.file_set import MANIFEST_FILE

_LISTING = "src/*/_generated/listing.json"
_MAX_TOOLS = 2_000
_SAFE = re.compile(r"[\w./@+-]{1,200}\Z")


def list_servers() -> list[str]:
    """Return the folders of servers: of the workspace around this folder, or below it."""
    return sorted(filter(_SAFE.match, map(_from_here, _find_servers())))


def list_tools(ctx: Context) -> list[str]:
    """Return the generated tools of the server on the command line, of this folder, or of all."""
    stated = ctx.params.get("directory") or ctx.params.get("server") or ctx.args
    words = [stated] if isinstance(stated, str | Path) else stated
    named = [Path(word) for word in words if Path(word).is_dir()]
    here = [Path()] if Path(MANIFEST_FILE).is_file() else []
    folders = named or here or _find_servers()
    found = {name for folder in folders for name in _read_tools(folder)}
    return sorted(filter(_SAFE.match, found))[:_MAX_TOOLS]


def list_tasks(ctx: Context) -> list[str]:
    """Return the ids of the tasks of the server on the command line, or of this folder."""
    import yaml

    from mcpgen.ir.eval_tasks import TASKS_FILE

    folder = ctx.params.get("directory") or next(iter(ctx.args), "")
    try:
        stated = yaml.safe_load(Path(folder, TASKS_FILE).read_bytes())
    except (OSError, ValueError, yaml.YAMLError):
        return []
    tasks = stated.get("tasks") if isinstance(stated, dict) else None
    listed = tasks if isinstance(tasks, list) else []
    named = [it.get("id") for it in listed if isinstance(it, dict)]
    return sorted(it for it in named if isinstance(it, str) and _SAFE.match(it))


def list_clients(incomplete: str) -> list[tuple[str, str]]:
    """Return ids of clients with their titles; `incomplete` may have several, with commas."""
    from mcpgen.factory.clients.registry import read_install_clients

    before = incomplete.rpartition(",")[0]
    chosen = set(before.split(","))
    start = f"{before}," if before else ""
    clients = read_install_clients().items()
    return [(f"{start}{name}", it.title) for name, it in clients if name not in chosen]


def list_revisions() -> list[str]:
    """Return the MCP revisions, and `all`."""
    from mcpgen.ir.manifest_entries import McpRevision

    return [*get_args(McpRevision), "all"]


def offer(*values: str) -> Callable[[], Sequence[str]]:
    """Return a function that offers these values."""

    def list_values() -> list[str]:
        return list(values)

    return list_values


def _find_servers() -> list[Path]:
    """Find the servers of the workspace around this folder, or those in and below it."""
    from mcpgen.ir.workspace import WORKSPACE_FILE

    here = Path.cwd()
    root = next((it for it in (here, *here.parents) if (it / WORKSPACE_FILE).is_file()), None)
    if root is None:
        manifests = [*Path().glob(MANIFEST_FILE), *Path().glob(f"*/{MANIFEST_FILE}")]
    else:
        patterns = _read_patterns(root / WORKSPACE_FILE)
        manifests = [it for pattern in patterns for it in root.glob(f"{pattern}/{MANIFEST_FILE}")]
    return [manifest.parent for manifest in manifests]


def _read_patterns(workspace: Path) -> list[str]:
    """Read the globs of a workspace's servers, without the checks of other commands."""
    import yaml

    try:
        stated = yaml.safe_load(workspace.read_bytes())
    except (OSError, ValueError, yaml.YAMLError):
        return []
    patterns = stated.get("servers") if isinstance(stated, dict) else None
    listed = patterns if isinstance(patterns, list) else []
    return [it.rstrip("/") for it in listed if isinstance(it, str) and not Path(it).is_absolute()]


def _from_here(folder: Path) -> str:
    """Return the path of a folder as the user types it from here."""
    try:
        return folder.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return folder.as_posix()


def _read_tools(folder: Path) -> Iterator[str]:
    """Yield the names of a package's generated tools."""
    import msgspec

    class Named(msgspec.Struct):
        name: str

    for listing in folder.glob(_LISTING):
        try:
            tools = msgspec.json.decode(listing.read_bytes(), type=list[Named])
        except (OSError, msgspec.DecodeError):
            continue
        yield from (tool.name for tool in tools)
