"""A workspace of small servers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options
from tests.support.projects import DOCUMENT, silent

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
    """A server as `new` makes it, to be copied."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "petshop.yaml").write_text(DOCUMENT)
    options = Options(external_validator=False, models=False, cache=cache / "mcpgen")
    report = new(str(folder / "petshop.yaml"), folder / "server", options, silent)
    assert report.outcome == "done", list(report.problems)
    return folder / "server"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def workspace(server: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of the servers `ant`, `bee` and `cat`, as the current folder.

    Its cache is as making the server left it. One that tests share would know the stamps of the
    tests before, whose servers are the same to the byte.
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
