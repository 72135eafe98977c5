"""Workspace settings and facts about the servers of a workspace, read from the disk."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.workspace import WORKSPACE_FILE, WorkspaceSettings
from mcpgen.pipeline.project.evidence import TESTS, VALIDATE, read_results
from mcpgen.pipeline.project.input_hashes import ProjectFiles
from mcpgen.pipeline.project.project_folder import read_file
from mcpgen.pipeline.project.surfaces import read_project_names

_CONTRACT = re.compile(r"src/[^/]*/_generated/contract\.json")


class ServerFacts(Struct, frozen=True):
    """Facts about a generated server. "" and None: its folder does not state them."""

    api: str = ""
    name: str = ""  # of the distribution: "petstore-mcp"
    version: str = ""
    tools: int | None = None  # generated from the document
    listed: int | None = None  # those that clients see: search tools may replace the others
    tokens: int | None = None  # estimated tokens of the list
    tests: str = "unknown"  # result of their last run, from its evidence
    score: str = "unknown"  # result of `mcpgen validate`, from its evidence


def read_workspace(root: Path, problems: Problems) -> WorkspaceSettings | None:
    """Read the workspace file of `root`; report why it is invalid and return None if it is."""
    # Imported here, and below: a validator and YAML, which commands for one server do not need.
    from mcpgen.manifest.workspace_file import read_workspace_file

    try:
        return read_workspace_file((root / WORKSPACE_FILE).read_bytes(), problems)
    except RejectedError:
        return None
    except OSError as error:
        problems.error(
            "unreadable",
            f"cannot read {WORKSPACE_FILE}: {error.strerror}",
            at=Location(WORKSPACE_FILE),
            why="it says which servers there are",
        )
        return None


def apart_because(target: Path) -> str | None:
    """Return the reason why a server is not in the workspace around it; None if it is.

    A server whose manifest cannot be read stays in it; its commands then report that.
    """
    manifest = read_file(target, MANIFEST_FILE) or b""
    if b"workspace" not in manifest:
        return None
    from mcpgen.manifest.manifest import read_manifest

    try:
        return read_manifest(manifest, Problems()).manifest.apart_because
    except RejectedError:
        return None


def find_editor_schema(target: Path) -> str:
    """Return the path of the surrounding workspace's schema file, relative to a new server.

    "" if it is in no workspace, or in one without a schema file.
    """
    for root in target.resolve().parents:
        if (root / WORKSPACE_FILE).is_file():
            settings = read_workspace(root, Problems())
            if settings is None or settings.file.schema is None:
                return ""
            path = os.path.relpath(root / settings.file.schema.file, target.resolve())
            return Path(path).as_posix()
    return ""


class _Contract(Struct, frozen=True):
    """The members of a contract that the figures need."""

    title: str = ""
    groups: tuple[str, ...] = ()


def read_server_facts(target: Path) -> ServerFacts:
    """Read the facts about the generated server at `target` and the results in its evidence."""
    results = read_results(target, (TESTS, VALIDATE))
    facts = read_package_facts(ProjectFiles(target))
    return replace(facts, tests=results[TESTS], score=results[VALIDATE])


def read_package_facts(files: ProjectFiles) -> ServerFacts:
    """Read the facts about a generated server from its package, without evidence.

    Raises:
        OSError: a file cannot be read.
    """
    contracts = [path for path in files.generated if _CONTRACT.fullmatch(path)]
    if len(contracts) != 1:
        return ServerFacts()
    folder = contracts[0].rpartition("/")[0]
    try:
        contract = msgspec.json.decode(files.read(contracts[0]) or b"", type=_Contract)
    except (msgspec.DecodeError, RecursionError):
        contract = _Contract()
    tools = _read_tools(files, f"{folder}/listing") or []
    found = _read_tools(files, f"{folder}/search_listing")
    listed = tools if found is None else found
    project = read_project_names(files.read)
    return ServerFacts(
        api=contract.title,
        name=project.name,
        version=project.version,
        tools=len(tools) if contract.groups else None,
        listed=len(listed) if contract.groups else None,
        tokens=sum(-(-len(tool) // 4) for tool in listed) if contract.groups else None,
    )


def _read_tools(files: ProjectFiles, path: str) -> list[bytes] | None:
    """Read a prepared list of tools, each as compact JSON; None if there is none.

    Between the tokens of the list, mcpgen writes line ends and tabs only, which JSON strings cannot
    contain.
    """
    content = files.read(f"{path}.json")
    if content is None:  # an earlier mcpgen wrote JSON Lines
        lines = files.read(f"{path}.jsonl")
        return None if lines is None else lines.splitlines()
    try:
        tools = msgspec.json.decode(content, type=list[msgspec.Raw])
        return [bytes(tool).translate(None, b"\r\n\t") for tool in tools]
    except (msgspec.DecodeError, RecursionError):
        return []


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table as Markdown; every character of a cell is literal text."""
    from mcpgen.render.environment import markdown_text

    lines = [header, ["---"] * len(header), *([markdown_text(cell) for cell in r] for r in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
