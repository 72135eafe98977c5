"""Projects that tests may change: copies of a project that is made once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.regeneration import projects


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    return projects.new(tmp_path_factory.mktemp("made") / "project", cache)


@pytest.fixture
def project(made_once: Path, tmp_path: Path) -> Path:
    """Make a project with `new`."""
    return shutil.copytree(made_once, tmp_path / "project")
