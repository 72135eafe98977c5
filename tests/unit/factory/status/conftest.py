"""A server with evidence of all checks, in the form in which commands write it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcpgen.factory.status.examine import examine_server
from mcpgen.factory.status.model import Proof, ServerStatus, StageName
from mcpgen.pipeline.project.evidence import write_evidence
from tests.support.projects import make_server

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
SCORE = {"score": 100, "coverage": 0.95, "verdict": "PASS", "reliable": True, "findings": []}
EVIDENCE: dict[str, dict[str, Any]] = {
    "source": {
        "outcome": "unchanged",
        "result": "unchanged",
        "source": "petshop.yaml",
        "level": "none",
        "written": False,
    },
    "lint": {
        "outcome": "passed",
        "result": "1 note",
        "findings": [{"rule": "description-short", "severity": "note", "tool": "get_pet"}],
        "client_effects": {"cursor": {"effect": "dropped", "tools": 1, "limits": ["dropped: x"]}},
    },
    "tests": {"outcome": "passed", "result": "9 passed", "mutation": {"score": 0.98}},
    "validate": {
        "outcome": "passed",
        "result": "100 in 1 revision, at least 95 % exercised",
        "revisions": {"2026-07-28": SCORE},
    },
    "live": {"outcome": "passed", "result": "2 passed"},
    "bundle": {"outcome": "passed", "result": "0.1.0: mcpb", "version": "0.1.0"},
    "published": {
        "outcome": "passed",
        "result": "0.1.0 in registry.example",
        "registry": "registry.example",
        "version": "0.1.0",
    },
}
Record = Callable[..., None]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a server with `new`, for tests to copy."""
    return make_server(tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("cache"))


@pytest.fixture
def server(made: Path, tmp_path: Path) -> Path:
    """Copy the server, with evidence from three days ago for all stages."""
    target = Path(shutil.copytree(made, tmp_path / "petshop-mcp"))
    for check in EVIDENCE:
        record(target, check)
    return target


def record(target: Path, check: str, **changes: Any) -> None:
    """Write evidence of a check, with some members changed."""
    found = {**EVIDENCE[check], **changes}
    write_evidence(target, check, found, now=NOW - timedelta(days=3))


def examine(target: Path) -> ServerStatus:
    """Return the status of a server at `servers/petshop` of a workspace."""
    return examine_server(target, "servers/petshop", ("@shop",), NOW)


def proof_of(status: ServerStatus, name: str) -> Proof:
    """Return the proof of a stage."""
    return next(it.proof for it in status.stages if it.name is StageName(name))


def edit(target: Path, path: str, text: str = "# changed\n") -> None:
    """Append text to a file, which is created if it is missing."""
    file = target / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((file.read_text() if file.exists() else "") + text)


def damage(target: Path, check: str, **members: Any) -> None:
    """Replace members of an evidence file by values of other types."""
    file = target / f".mcpgen/evidence/{check}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **members}))
