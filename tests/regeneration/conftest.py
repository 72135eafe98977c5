"""Projects that tests may change: copies of one that was made once."""

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
    """A project as `new` makes it."""
    return shutil.copytree(made_once, tmp_path / "project")
