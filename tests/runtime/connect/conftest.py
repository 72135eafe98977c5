"""A generated server whose users connect accounts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcpgen.runtime.package import ServerPackage
from tests.support.connecting import generate_package


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that contains the generated package."""
    return generate_package(tmp_path_factory.mktemp("animals"))


@pytest.fixture(scope="session")
def package(source: Path) -> ServerPackage:
    sys.path.insert(0, str(source))
    return ServerPackage.load("animals_mcp")
