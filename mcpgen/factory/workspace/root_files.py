"""Files at a workspace's root: blocks between markers, and the JSON Schema of the manifests.

The blocks are the inventory of servers in the README, their owners in CODEOWNERS, and what is
generated in `.gitattributes`. Text around the markers is the user's, and stays to the byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from mcpgen.diagnostics import Location, Problems
from mcpgen.factory.workspace.files import replace_file
from mcpgen.factory.workspace.members import Server, Workspace, WorkspaceRefusedError
from mcpgen.pipeline.manifest_schema import render_manifest_schema
from mcpgen.pipeline.project.workspace import ServerFacts, format_table, read_server_facts

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
        cells = _make_cells(server, read_server_facts(server.target))
        rows.append({column: cells[column] or _UNKNOWN for column in columns})
    return rows


def _make_cells(server: Server, facts: ServerFacts) -> dict[str, str]:
    return {
        "server": server.path,
        "api": facts.api,
        "version": facts.version,
        "tools": "" if facts.tools is None else f"{facts.tools:,}",
        "tokens": "" if facts.tokens is None else f"{facts.tokens:,}",
        "owner": " ".join(server.owners),
        "tests": facts.tests,
    }


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
    """An outdated file; `what` names the part of it."""

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
        new = render_manifest_schema()
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
