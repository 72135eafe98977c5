"""Creation of `mcpgen-workspace.yaml` for the servers of a repository."""

from __future__ import annotations

import glob
import importlib.metadata
import json
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from msgspec import Struct
from packaging.version import Version

from mcpgen.diagnostics import Location
from mcpgen.factory.workspace.files import replace_file
from mcpgen.factory.workspace.members import WorkspaceRefusedError
from mcpgen.factory.workspace.stamps import LEFT_BY_TOOLS
from mcpgen.ir.file_set import LOCK_FILE, MANIFEST_FILE
from mcpgen.ir.workspace import WORKSPACE_FILE
from mcpgen.pipeline.outcome import Outcome

_TEXT = """\
# The servers that `mcpgen ws` looks after together.
version: 1
mcpgen: {pin}
servers: {patterns}
# inventory: {{file: README.md}}  # a table of them, between <!-- mcpgen:servers --> and its end
# defaults: {{owner: "@org/team"}}
# codeowners: {{file: .github/CODEOWNERS}}
# gitattributes: {{file: .gitattributes}}
# schema: {{file: mcpgen.schema.json}}  # for editors; new servers refer to it
"""


class FirstFile(Struct, frozen=True):
    """The text of the file, and its servers."""

    root: Path
    text: str
    servers: tuple[str, ...]

    def write(self) -> None:
        """Write the file.

        Raises:
            WorkspaceRefusedError: the file cannot be written.
        """
        replace_file(self.root / WORKSPACE_FILE, self.text.encode())


def make_first_file(here: Path) -> FirstFile:
    """Make the file for the servers below `here`, without writing it.

    Raises:
        WorkspaceRefusedError: `here` is in a workspace already, or there are no servers below it.
    """
    here = here.resolve()
    for folder in (here, *here.parents):
        if (folder / WORKSPACE_FILE).exists():
            raise WorkspaceRefusedError.because(
                "workspace-exists",
                f"{folder} is already a workspace",
                Outcome.USAGE,
                at=Location((folder / WORKSPACE_FILE).as_posix()),
                why="a server belongs to one workspace, which defines its pin and owners",
                help="add missing servers to its `servers`; `mcpgen ws list` shows the others",
            )
    servers = tuple(sorted(_servers(here)))
    if not servers:
        raise WorkspaceRefusedError.because(
            "no-servers",
            f"no mcpgen server below {here}",
            Outcome.USAGE,
            why=f"a server is a folder with {MANIFEST_FILE}",
            help="change to the repository's root, or make a server with `mcpgen new SOURCE`",
        )
    parents = {PurePosixPath(server).parent.as_posix() for server in servers}
    patterns = [f"{glob.escape(each)}/*" if each != "." else "*" for each in sorted(parents)]
    release = Version(importlib.metadata.version("mcpgen")).release
    pin = ".".join([*map(str, release[:2]), "*"])
    # A string of JSON is one of YAML.
    text = _TEXT.format(pin=json.dumps(pin), patterns=json.dumps(patterns, ensure_ascii=False))
    return FirstFile(here, text, servers)


def _servers(here: Path) -> Iterator[str]:
    """Yield the relative paths of the servers below a folder, without nested ones."""
    for folder, subfolders, files in os.walk(here):
        inside = Path(folder).relative_to(here).as_posix()
        if inside != "." and {MANIFEST_FILE, LOCK_FILE} <= set(files):
            yield inside
            subfolders.clear()
        subfolders[:] = [
            name for name in subfolders if name not in LEFT_BY_TOOLS and name[0] != "."
        ]
