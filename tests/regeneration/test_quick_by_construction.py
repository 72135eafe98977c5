"""Tests that commands on unchanged servers import no generator modules and read few files.

Times depend on the machine (tests/benchmarks/workspace.py measures them); imports and reads do not.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mcpgen.pipeline.project.evidence import write_evidence

HEAVY = {
    "aiohttp", "copier", "datamodel_code_generator", "jinja2", "jsonschema_rs",
    "openapi_spec_validator", "pydantic", "rich", "ruff", "tomlkit", "yaml",
}  # fmt: skip
OF_THE_WORKSPACE = {"jsonschema_rs", "yaml"}  # used to read the workspace file
WATCHED = """
import json, sys
read = []
sys.addaudithook(lambda event, told: read.append(str(told[0])) if event == "open" else None)
from mcpgen.cli.app import run
code = run(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules), read]))
"""


def watched(folder: Path, cache: Path, *words: str) -> tuple[int, set[str], list[str]]:
    """Run mcpgen in a process; return its exit code, imported modules and files read."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *words],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    code, modules, read = json.loads(done.stdout.splitlines()[-1])
    return code, {module.partition(".")[0] for module in modules}, read


def test_checking_an_unchanged_server_imports_no_generator_modules(
    project: Path, tmp_path: Path
) -> None:
    code, modules, _ = watched(project, tmp_path / "cache", "check")
    assert code == 0
    assert modules & HEAVY == set()


@pytest.fixture
def workspace(made_once: Path, tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    for name in ("ant", "bee"):
        shutil.copytree(made_once, root / "servers" / name)
    (root / "mcpgen-workspace.yaml").write_text(
        'version: 1\nmcpgen: ">=0.5"\nservers: ["servers/*"]\n'
    )
    return root


def test_unaffected_servers_are_hashed_without_being_parsed(
    workspace: Path, tmp_path: Path
) -> None:
    """Documents are only hashed, so modules that read OpenAPI or make files are not imported."""
    words = ("ws", "check", "--affected")
    assert watched(workspace, tmp_path / "cache", *words)[0] == 0
    code, modules, read = watched(workspace, tmp_path / "cache", *words)
    assert code == 0
    assert modules & (HEAVY - OF_THE_WORKSPACE) == set()
    documents = [path for path in read if Path(path).name == "openapi.yaml"]
    assert len(documents) == 2, "each is read once, for its hash"


def test_generating_an_unchanged_server_imports_no_generator_modules(
    project: Path, tmp_path: Path
) -> None:
    assert watched(project, tmp_path / "cache", "generate")[0] == 0
    code, modules, _ = watched(project, tmp_path / "cache", "generate")
    assert code == 0
    assert modules & HEAVY == set()


def test_the_status_of_a_server_imports_no_generator_modules(project: Path, tmp_path: Path) -> None:
    code, modules, _ = watched(project, tmp_path / "cache", "status")
    assert code == 0
    assert modules & HEAVY == set()


def test_the_status_of_a_workspace_reads_each_file_of_a_server_once(
    workspace: Path, tmp_path: Path
) -> None:
    for server in (workspace / "servers").iterdir():
        for check in ("lint", "tests", "validate", "bundle"):
            write_evidence(server, check, {"outcome": "passed", "result": "fine"})
    code, modules, read = watched(workspace, tmp_path / "cache", "ws", "status")
    assert code == 0
    assert modules & (HEAVY - OF_THE_WORKSPACE) == set()
    assert "concurrent" not in modules, "no process is started: that costs more than the reading"
    counts = Counter(path for path in read if "/servers/" in path and Path(path).is_file())
    assert len(counts) > 2 * 20
    # The members of the workspace are found by their manifests.
    assert {Path(path).name for path, count in counts.items() if count > 1} == {"mcpgen.yaml"}
    assert max(counts.values()) == 2
