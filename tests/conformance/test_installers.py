"""Tests that compare the entries written by `mcpgen add` with those of two other npm installers.

docs/how-to/add-to-clients.md has the table; its differences are those stated here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcpgen.factory.clients.config_text import ConfigText
from mcpgen.factory.clients.registry import InstallClient, read_install_clients
from mcpgen.jsonschema.types import JsonValue
from tests.support.paths import CACHE

pytestmark = pytest.mark.slow

NODE = CACHE / "node" / "node_modules" / ".bin" / "node"
ADD_MCP = CACHE / "node" / "node_modules" / "add-mcp" / "dist" / "index.js"
INSTALL_MCP = CACHE / "node" / "node_modules" / "install-mcp" / "bin" / "run"
COMMAND = ["npx", "-y", "foo-mcp"]
URL = "https://x.example/mcp"

ADD_MCP_NAMES = {
    name: name
    for name in (
        "antigravity claude-code claude-desktop cline cline-cli codex cursor fx goose mcporter"
        " opencode pi vscode windsurf zed"
    ).split()
} | {
    "copilot-cli": "github-copilot-cli",
    "gemini": "gemini-cli",
    "grok": "grok-build",
    "kilo": "kilo-code",
    "kimi": "kimi-code",
    "kiro": "kiro-cli",
    "mastra": "mastracode",
}
INSTALL_MCP_NAMES = {
    "claude-code": "claude-code",
    "claude-desktop": "claude",
    "cline": "cline",
    "codex": "codex",
    "cursor": "cursor",
    "gemini": "gemini-cli",
    "roo": "roo-cline",
    "windsurf": "windsurf",
}

# Members of an entry that differ or that one side lacks, with the reason.
TYPED = "the client's documentation writes the type; without it, the client infers it"
DIFFERENCES: dict[tuple[str, str], tuple[set[str], str]] = {
    ("claude-code", "command"): ({"type"}, TYPED),
    ("vscode", "command"): ({"type"}, TYPED),
    ("codex", "url"): ({"type"}, "Codex tells the kinds apart by `url`, and has no key `type`"),
    ("gemini", "url"): ({"httpUrl", "type", "url"}, "two spellings of Streamable HTTP in Gemini"),
    ("zed", "url"): ({"headers", "type"}, "Zed has no key `type`, and needs no empty headers"),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if not ADD_MCP.is_file():
        if os.environ.get("CI") == "true":
            pytest.fail("add-mcp is not installed")
        pytest.skip("add-mcp is not installed, since npm is missing")
    for name in ("XDG_STATE_HOME", "CODEX_HOME", "COPILOT_HOME", "GROK_HOME", "KIMI_CODE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run_in(folder: Path, *command: str) -> None:
    folder.mkdir()
    environment = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def read_entry(
    client: InstallClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, JsonValue]:
    monkeypatch.setenv("HOME", str(folder))
    path = client.find_file("user", "foo", folder)
    assert path is not None
    config = ConfigText(path.read_bytes(), client.format, client.keys, is_list=client.is_list)
    entry = config.read_servers()["foo"]
    assert isinstance(entry, dict)
    return entry


def add_ours(client: InstallClient, folder: Path, words: list[str]) -> None:
    mcpgen = [sys.executable, "-m", "mcpgen", "add"]
    run_in(folder, *mcpgen, "--client", client.id, "--name", "foo", *words)


@pytest.mark.parametrize("kind", ["command", "url"])
@pytest.mark.parametrize("name", ADD_MCP_NAMES)
def test_entries_are_those_of_add_mcp(
    name: str, kind: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = read_install_clients()[name]
    if kind == "url" and client.http is None:
        assert name == "claude-desktop"  # add-mcp rejects it, too
        return
    theirs = [URL] if kind == "url" else [" ".join(COMMAND), "--env", "A=b"]
    ours = [URL] if kind == "url" else ["--env", "A=b", "--", *COMMAND]
    run_in(
        home / "theirs", str(NODE), str(ADD_MCP), *theirs,
        *("--agent", ADD_MCP_NAMES[name], "--global", "--yes", "--name", "foo"),
    )  # fmt: skip
    add_ours(client, home / "ours", ours)

    found = read_entry(client, home / "ours", monkeypatch)
    other = read_entry(client, home / "theirs", monkeypatch)
    differing = {key for key in {*found, *other} if found.get(key) != other.get(key)}
    differing |= found.keys() ^ other.keys()
    assert differing == DIFFERENCES.get((name, kind), (set(), ""))[0]


@pytest.mark.parametrize("name", INSTALL_MCP_NAMES)
def test_entries_of_commands_are_those_of_install_mcp(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """install-mcp starts `mcp-remote` for each URL, so only commands can be compared."""
    client = read_install_clients()[name]
    words = ["--client", INSTALL_MCP_NAMES[name], "--name", "foo", "--yes", "--oauth", "no"]
    run_in(home / "theirs", str(NODE), str(INSTALL_MCP), " ".join(COMMAND), *words)
    add_ours(client, home / "ours", ["--", *COMMAND])
    found = read_entry(client, home / "ours", monkeypatch)
    other = read_entry(client, home / "theirs", monkeypatch)
    allowed = {"disabled"} if name == "cline" else {"type"} if name == "claude-code" else set()
    assert {key for key in {*found, *other} if found.get(key) != other.get(key)} == allowed
