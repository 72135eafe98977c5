"""Files at a workspace's root: blocks between markers, and the JSON Schema of the manifests.

The blocks are the inventory of servers in the README, their owners in CODEOWNERS, and the generated
paths in `.gitattributes`. Text around the markers is the user's, and stays byte for byte.
"""

from __future__ import annotations

import glob
import importlib.metadata
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace
from packaging.version import Version

from mcpgen.diagnostics import Location, Problems
from mcpgen.factory.packages import WorkspaceRefusedError
from mcpgen.factory.workspace.members import ONE_WORKSPACE, Server, Workspace
from mcpgen.factory.workspace.stamps import LEFT_BY_TOOLS
from mcpgen.ir.file_set import LOCK_FILE, MANIFEST_FILE
from mcpgen.ir.workspace import WORKSPACE_FILE, VersionPin
from mcpgen.pipeline.manifest_schema import read_manifest_schema
from mcpgen.pipeline.options import Outcome
from mcpgen.pipeline.project.disk import report_system_fault, write_atomically
from mcpgen.pipeline.project.workspace import format_table, read_server_facts
from mcpgen.text.prose import text_lines


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically; its mode is kept, and a link remains a link.

    Raises:
        WorkspaceRefusedError: a system error; nothing was written.
    """
    try:
        place = path.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, content)
    except OSError as error:
        problems = Problems()
        outcome = report_system_fault(error, problems, path)
        raise WorkspaceRefusedError(problems, outcome) from None


_GENERATED = (
    ".copier-answers.yml", ".mcpgen/**", "mcpgen.lock", "src/*/_generated/**", "tests/generated/**",
)  # fmt: skip
_UNKNOWN = "-"


class Block(Struct, frozen=True):
    """The lines between two markers of a file, which mcpgen writes."""

    file: str
    begin: str
    end: str
    text: str

    def lines(self, newline: str) -> str:
        """Return the whole block with its markers."""
        return newline.join([self.begin, *self.text.splitlines(), self.end])


class MarkersError(Exception):
    """A file whose markers are missing or invalid."""


def inventory(servers: Sequence[Server], columns: Sequence[str]) -> list[dict[str, str]]:
    """Return one row per server, with these columns."""
    rows = []
    for server in servers:
        facts = read_server_facts(server.target)
        cells = {
            "server": server.path,
            "api": facts.api,
            "version": facts.version,
            "tools": "" if facts.tools is None else f"{facts.tools:,}",
            "tokens": "" if facts.tokens is None else f"{facts.tokens:,}",
            "owner": " ".join(server.owners),
            "tests": facts.tests,
            "score": facts.score,
        }
        rows.append({column: cells[column] or _UNKNOWN for column in columns})
    return rows


def blocks(workspace: Workspace) -> Iterator[Block]:
    """Yield the current blocks of the files at the root."""
    file = workspace.settings.file
    if file.inventory:
        columns = file.inventory.columns
        rows = inventory(workspace.servers, columns)
        table = format_table(columns, [[row[column] for column in columns] for row in rows])
        begin, end = "<!-- mcpgen:servers -->", "<!-- /mcpgen:servers -->"
        yield Block(file.inventory.file, begin, end, table)
    if file.codeowners:
        owned = [
            f"/{_escape(server.path)}/ {' '.join(server.owners)}"
            for server in workspace.servers
            if server.owners
        ]
        yield _make_block(file.codeowners.file, "owners", owned)
    if file.gitattributes:
        generated = [
            f"{_quote(f'/{PurePosixPath(pattern)}/{path}')} linguist-generated"
            for pattern in file.servers
            for path in _GENERATED
        ]
        yield _make_block(file.gitattributes.file, "generated", generated)


def _make_block(file: str, name: str, lines: Sequence[str]) -> Block:
    return Block(file, f"# mcpgen:{name}", f"# /mcpgen:{name}", "\n".join(lines))


def _quote(pattern: str) -> str:
    """Quote a git pattern if it contains a space."""
    if not re.search(r"[\s\"]", pattern):
        return pattern
    text = pattern.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _escape(path: str) -> str:
    return path.replace(" ", "\\ ")


def stale_files(workspace: Workspace, problems: Problems) -> list[str]:
    """Return the outdated files; report files without markers."""
    stale = []
    for change in _find_changes(workspace, problems):
        stale.append(change.file)
        problems.warning(
            "stale",
            f"{change.what} is outdated",
            at=Location(change.file),
            help="run `mcpgen ws generate`",
        )
    return stale


def write_files(workspace: Workspace, problems: Problems) -> list[str]:
    """Update the files; return the written ones."""
    written = []
    for change in _find_changes(workspace, problems):
        try:
            replace_file(workspace.root / change.file, change.content)
            written.append(change.file)
        except WorkspaceRefusedError as refused:
            problems.extend(refused.problems)
    return written


class _Change(Struct, frozen=True):
    """An outdated file; `what` names the outdated part."""

    file: str
    what: str
    content: bytes


def _find_changes(workspace: Workspace, problems: Problems) -> Iterator[_Change]:
    for block in blocks(workspace):
        content = _find_change(workspace.root, block, problems)
        if content is not None:
            yield _Change(block.file, f"the block `{block.begin}` of {block.file}", content)
    schema = workspace.settings.file.schema
    if schema is not None:
        path = workspace.root / schema.file
        new = read_manifest_schema()
        if not path.is_file() or path.read_bytes().replace(b"\r\n", b"\n") != new:
            yield _Change(schema.file, schema.file, new)


def _find_change(root: Path, block: Block, problems: Problems) -> bytes | None:
    """Return the new content of a file; None if it is current or has no markers."""
    try:
        old = _read(root, block.file)
        new = with_block(old, block)
    except (MarkersError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        problems.error(
            "no-markers",
            f"{block.file} was not changed: {reason}",
            at=Location(block.file),
            why="mcpgen writes only between its markers",
            help=f"add these two lines where the block belongs:\n{block.begin}\n{block.end}",
        )
        return None
    return None if new == old else new


def _read(root: Path, file: str) -> bytes | None:
    path = root / file
    if not path.resolve().is_relative_to(root):
        raise MarkersError("it is a link to a file outside the workspace")
    return path.read_bytes() if path.exists() else None


def with_block(content: bytes | None, block: Block) -> bytes:
    """Return the content with the block between its markers; the block for a missing file.

    Raises:
        MarkersError: the markers are not there exactly once and in order.
    """
    if content is None:
        return (block.lines("\n") + "\n").encode()
    newline = "\r\n" if b"\r\n" in content else "\n"
    begin, end = block.begin.encode(), block.end.encode()
    found = (content.count(begin), content.count(end))
    if found == (0, 0):
        raise MarkersError(f"it does not contain `{block.begin}`")
    if found != (1, 1) or content.index(begin) > content.index(end):
        raise MarkersError(f"it must contain `{block.begin}` and then `{block.end}`, once each")
    before, _, rest = content.partition(begin)
    after = rest.partition(end)[2]
    return before + block.lines(newline).encode() + after


def change_pin(workspace: Workspace, to: str) -> Workspace:
    """Return the workspace with another pin, without writing it.

    Raises:
        WorkspaceRefusedError: invalid version range `to`.
    """
    try:
        pin = VersionPin.parse(to)
    except ValueError:
        raise WorkspaceRefusedError.because(
            "usage",
            f"invalid version range `{to}`",
            Outcome.USAGE,
            help='use a version or a range, such as "0.6.*" or ">=0.6.1,<0.7"',
        ) from None
    settings = replace(workspace.settings, mcpgen=pin)
    return replace(workspace, settings=settings)


def write_pin(workspace: Workspace) -> None:
    """Replace the old pin in the file with the workspace's pin.

    Raises:
        WorkspaceRefusedError: the file cannot be written.
    """
    path = workspace.root / WORKSPACE_FILE
    at = workspace.settings.at(("mcpgen",))
    text = path.read_bytes().decode("utf-8")
    lines = text_lines(text)
    line, start = lines[at.line - 1], at.column - 1
    pin = workspace.settings.mcpgen.text
    lines[at.line - 1] = f'{line[:start]}"{pin}"{line[start + at.width :]}'
    replace_file(path, "".join(lines).encode())


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
                why=ONE_WORKSPACE,
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
