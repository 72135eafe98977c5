"""What all tests share: the option that rewrites expectations."""

from __future__ import annotations

import os

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update",
        action="store_true",
        help="write what was observed as what is expected; read the diff before you commit it",
    )


@pytest.fixture
def updates(request: pytest.FixtureRequest) -> bool:
    """Whether expectations are rewritten; never in CI, where that would hide every fault."""
    asked = bool(request.config.getoption("--update"))
    if asked and os.environ.get("CI", "").lower() in {"1", "true"}:
        pytest.fail("--update never runs with CI=true")
    return asked
