"""A generated package that tests may change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.paths import EXAMPLES


@pytest.fixture
def petstore(tmp_path: Path) -> Path:
    """Copy the committed server of the petstore."""
    committed = EXAMPLES / "petstore-mcp"
    return Path(shutil.copytree(committed, tmp_path / "petstore-mcp"))
