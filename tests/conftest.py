"""Setup shared by all tests: rewriting expectations, and no assertions about time."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import settings

# Slow examples are not failures, since the machine may be busy. Without a deadline, the health
# check of slow generation allows half a minute instead of five deadlines. `make test` generates the
# same examples each time, so that it fails only for a change; `make properties` generates others.
settings.register_profile("random", settings(), deadline=None, derandomize=False)
settings.register_profile("repeatable", settings(), deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")

# No reports of late event loops, since tests compare whole logs. Servers inherit the variable.
os.environ.setdefault("MCPGEN_WATCHDOG_MS", "0")

# Folders and modules of tests that take up to a minute. They run first, so that no worker waits for
# another one at the end.
LONG = (
    "tests/journeys/",
    "tests/regeneration/test_killed_runs.py",
    "tests/regeneration/test_story.py",
    "tests/regeneration/test_diff3_against_git.py",
    "tests/regeneration/test_second_run.py",
    "tests/conformance/test_big_api.py",
    "tests/conformance/test_real_documents.py",
    "tests/corpus/",
    "tests/docs/test_pages.py::test_page_commands",
    "tests/examples/test_installed.py",
    "tests/kills/",
    "tests/load/",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect with garbage collection disabled, since it would visit every test repeatedly."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


@pytest.fixture(autouse=True, scope="session")
def _own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Redirect the state folder of servers, so that tests do not write to the user's own."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update",
        action="store_true",
        help="write what was observed as what is expected; read the diff before you commit it",
    )


@pytest.fixture
def updates(request: pytest.FixtureRequest) -> bool:
    """Return whether to rewrite expectations; fail in CI, where that would hide every fault."""
    asked = bool(request.config.getoption("--update"))
    if asked and os.environ.get("CI", "").lower() in {"1", "true"}:
        pytest.fail("--update never runs with CI=true")
    return asked
