"""A generated package that a test may change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def petstore(tmp_path: Path) -> Path:
    """A copy of the petstore's server, as it is committed."""
    committed = REPOSITORY / "generated_examples" / "petstore-mcp"
    return Path(shutil.copytree(committed, tmp_path / "petstore-mcp"))
