"""A separate home folder without any client."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    names = ["XDG_STATE_HOME", "CODEX_HOME", "COPILOT_HOME", "CLINE_DIR", "GROK_HOME"]
    for name in [*names, "KIMI_CODE_HOME", "PI_CODING_AGENT_DIR", "PETSTORE_API_KEY"]:
        monkeypatch.delenv(name, raising=False)
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return folder
