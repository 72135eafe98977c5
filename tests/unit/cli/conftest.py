"""A generated package that a test may change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.paths import EXAMPLES


@pytest.fixture
def petstore(tmp_path: Path) -> Path:
    """A copy of the petstore's server, as it is committed."""
    committed = EXAMPLES / "petstore-mcp"
    return Path(shutil.copytree(committed, tmp_path / "petstore-mcp"))
