"""Tests that pyright and mypy accept generated code with every kind of override and feature.

One pyright process checks everything, since most of its time goes to what all servers import. The
gallery is checked in strict mode: there an unknown type in the runtime's public API is an error in
the module that uses it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from tests.support.examples import BY_HAND, NAMES
from tests.support.paths import EXAMPLES, REPOSITORY
from tests.support.running_server import NODE_MODULES, installed

HERE = Path(__file__).parent
WRAPPED = (
    "get_picture",
    "list_pictures",
    "delete_picture",
    "upload_file",
    "get_artist",
    "find_auctions",
    "workflow:hang_picture",
)
EJECTED = ("add_picture", "replace_file", "workflow:store_picture")
PYTHON = "3.11"  # the oldest that a server runs on
TIMEOUT_SECONDS = 240


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a generated server with every kind of override and feature."""
    project = tmp_path_factory.mktemp("gallery") / "gallery-mcp"
    document, handlers = HERE / "gallery" / "openapi.yaml", HERE / "gallery" / "handlers"
    assert run(["new", str(document), str(project), "--name", "gallery", "--defaults", "-q"]) == 0
    shutil.copy(HERE / "gallery" / "mcpgen.yaml", project)
    assert run(["generate", str(project), "-q"]) == 0
    for command, operations in (("override", WRAPPED), ("eject", EJECTED)):
        for operation in operations:
            assert run([command, operation, str(project), "-q"]) == 0
    shutil.copytree(handlers, project / "src/gallery_mcp/handlers", dirs_exist_ok=True)
    assert run(["generate", str(project), "-q"]) == 0  # which declares the calls that they name
    return project


def pyright(
    folder: Path, sources: Mapping[Path, Path], strict: Iterable[Path]
) -> list[dict[str, Any]]:
    """Check folders with pyright, each with the folder from which it imports its package."""
    node = installed(NODE_MODULES / "node" / "bin" / "node", "peers")
    command = installed(NODE_MODULES / "pyright" / "index.js", "peers")
    settings = {
        "include": [os.path.relpath(root, folder) for root in sources],
        "strict": [os.path.relpath(root, folder) for root in strict],
        "typeCheckingMode": "standard",
        "pythonVersion": PYTHON,
        "executionEnvironments": [
            {
                "root": os.path.relpath(root, folder),
                "extraPaths": [os.path.relpath(path, folder) for path in (source, REPOSITORY)],
            }
            for root, source in sources.items()
        ],
    }
    configuration = folder / "pyrightconfig.json"
    configuration.write_text(json.dumps(settings))
    done = subprocess.run(
        [node, command, "-p", configuration, "--pythonpath", sys.executable, "--outputjson"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr  # others: it did not check
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] >= len(sources)
    diagnostics: list[dict[str, Any]] = found["generalDiagnostics"]
    return diagnostics


def test_pyright_reports_the_mistakes_and_nothing_else(gallery: Path, tmp_path: Path) -> None:
    examples = [EXAMPLES / f"{name}-mcp" for name in (*NAMES, *BY_HAND)]
    sources = {project: project / "src" for project in (*examples, gallery)}
    mistakes = HERE / "mistakes" / "mistakes.py"
    lines = mistakes.read_text().splitlines()
    expected = {number for number, line in enumerate(lines, 1) if "# rejected:" in line}

    reported = pyright(tmp_path, {**sources, mistakes.parent: gallery / "src"}, strict=(gallery,))

    found = {each["range"]["start"]["line"] + 1 for each in reported if is_in(mistakes, each)}
    assert [each for each in reported if not is_in(mistakes, each)] == []
    assert found == expected


def is_in(module: Path, diagnostic: Mapping[str, Any]) -> bool:
    return Path(diagnostic["file"]).samefile(module)


def test_mypy_accepts_every_override_and_feature(gallery: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path],
        cwd=gallery,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_server_lists_the_tools_that_type_checkers_accept(gallery: Path) -> None:
    assert run(["tools", str(gallery), "-q"]) == 0
