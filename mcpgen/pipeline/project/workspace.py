"""What the stages know of a workspace and of the servers in it, read from the disk."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.emit.merge.merge import TESTS
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.workspace import WORKSPACE_FILE, WorkspaceSettings
from mcpgen.pipeline.project.evidence import VALIDATE, read_results
from mcpgen.pipeline.project.project_folder import read_file

_VERSION = re.compile(r'^__version__ = "([^"\\]*)"', re.MULTILINE)


class ServerFacts(Struct, frozen=True):
    """What a generated server is, in figures. "" and None: its folder does not say."""

    api: str = ""
    version: str = ""
    tools: int | None = None  # made from the document
    tokens: int | None = None  # about what listing them costs
    tests: str = "unknown"  # what the evidence of their last run says
    score: str = "unknown"  # the same of `mcpgen validate`


def read_workspace(root: Path, problems: Problems) -> WorkspaceSettings | None:
    """Read the workspace file of `root`; None, and why, where it cannot be followed."""
    # Imported here, and below: a validator and YAML, which commands of one server do without.
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
    """Give why the server at `target` is no member of the workspace around it; None if it is.

    A manifest that cannot be read keeps its server in, whose commands then say so.
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
    """Return the path of the schema file of the workspace around a new server, from its folder.

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


def read_server_facts(target: Path) -> ServerFacts:
    """Read what the generated server at `target` is."""
    contracts = sorted(target.glob("src/*/_generated/contract.json"))
    if len(contracts) != 1:
        return ServerFacts()
    contract = _read_json(contracts[0])
    has_api = bool(contract.get("groups"))
    tools = _read_tools(contracts[0].parent, "listing") or []
    found = _read_tools(contracts[0].parent, "search_listing")
    listed = tools if found is None else found
    init = (read_file(contracts[0].parents[1], "__init__.py") or b"").decode("utf-8", "replace")
    version = _VERSION.search(init)
    results = read_results(target, (TESTS, VALIDATE))
    return ServerFacts(
        api=str(contract.get("title", "")),
        version=version[1] if version else "",
        tools=len(tools) if has_api else None,
        tokens=sum(-(-len(tool) // 4) for tool in listed) if has_api else None,
        tests=results[TESTS],
        score=results[VALIDATE],
    )


def _read_tools(folder: Path, name: str) -> list[bytes] | None:
    """Read a prepared list of tools, each as compact JSON; None if there is none."""
    content = read_file(folder, f"{name}.json")
    if content is None:  # an earlier mcpgen wrote JSON Lines
        lines = read_file(folder, f"{name}.jsonl")
        return None if lines is None else lines.splitlines()
    try:
        return [msgspec.json.encode(tool) for tool in msgspec.json.decode(content, type=list)]
    except msgspec.DecodeError:
        return []


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a table; every character of a cell is literal text."""
    from mcpgen.render.environment import markdown_text

    lines = [header, ["---"] * len(header), *([markdown_text(cell) for cell in r] for r in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
