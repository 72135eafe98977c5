"""A workspace of small servers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.projects import make_server
from tests.support.workspaces import Ws, make_ws

SETTINGS = """\
version: 1
mcpgen: "0.6.*"
runtime: "mcpgen>=0.6,<0.7"
servers: ["servers/*"]
defaults: {owner: "@shop/platform"}
owners: {"servers/c*": ["@shop/cats", "cat@shop.example"]}
inventory: {file: README.md, columns: [server, api, tools, owner]}
codeowners: {file: .github/CODEOWNERS}
gitattributes: {file: .gitattributes}
"""
README = "# Shop\n\n<!-- mcpgen:servers -->\n<!-- /mcpgen:servers -->\n\nOurs.\n"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """Make a server with `new`, for tests to copy."""
    return make_server(tmp_path_factory.mktemp("made"), cache / "mcpgen")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def workspace(server: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a workspace of the servers `ant`, `bee` and `cat`, and change to its folder.

    Its cache is a copy of the one that was used to make the server. A cache shared by tests would
    contain the stamps of earlier tests, whose servers have the same bytes.
    """
    root = tmp_path / "shop"
    own_cache = shutil.copytree(cache, tmp_path / "cache")
    for name in ("cat", "ant", "bee"):
        shutil.copytree(server, root / "servers" / name)
    (root / "mcpgen-workspace.yaml").write_text(SETTINGS)
    (root / "README.md").write_text(README)
    monkeypatch.setenv("XDG_CACHE_HOME", str(own_cache))
    monkeypatch.setattr("sys.platform", "linux")  # whose user cache that variable moves
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def ws(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Ws:
    """Return a function that runs workspace commands; the root files are current."""
    ask = make_ws(capsys)
    assert ask("generate", "--jobs", "1")[0] == 0
    return ask
