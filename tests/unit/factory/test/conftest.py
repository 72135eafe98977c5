from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.paths import EXAMPLES


@pytest.fixture
def petstore_copy(tmp_path: Path) -> Path:
    """Copy the committed petstore-mcp."""
    ignored = shutil.ignore_patterns("__pycache__", "evidence")
    return Path(shutil.copytree(EXAMPLES / "petstore-mcp", tmp_path / "petstore", ignore=ignored))
