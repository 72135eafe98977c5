"""Tests that hostile documents have the outcome in their index, including the generated tests.

The documents are data of `../shared/adversarial`; some would create a file below the canary folder
if their text were ever executed.
"""

from __future__ import annotations

import csv
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from mcpgen.testing.suite.generated import Suite
from tests.support.paths import SHARED

HOSTILE = SHARED / "adversarial"
CANARIES = Path("/tmp/mcpgen-canary")
REJECTED = 3
TEMPLATE = "d37_template_tasks/copier.yml"  # not a document; mcpgen takes no templates


def rows() -> list[dict[str, str]]:
    """Return the documents with the expected verdict on each."""
    if not HOSTILE.exists():
        return []
    with (HOSTILE / "index.csv").open(encoding="utf-8", newline="") as index:
        return [row for row in csv.DictReader(index) if row["file"] != TEMPLATE]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(autouse=True)
def _no_canary_sings() -> Iterator[None]:
    CANARIES.mkdir(exist_ok=True)
    before = names_in(CANARIES)
    yield
    assert names_in(CANARIES) == before


@pytest.fixture(autouse=True)
def _imports_are_forgotten() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.partition(".")[0].endswith("_mcp"):
            del sys.modules[name]


@pytest.mark.skipif(not HOSTILE.exists(), reason="no ../shared/adversarial")
@pytest.mark.parametrize("row", rows(), ids=lambda row: row["file"].partition("_")[0])
def test_a_hostile_document_is_generated_or_rejected_as_expected(
    row: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "server"
    code = run(["new", str(HOSTILE / row["file"]), str(target), "--defaults", "--no-models"])
    said = capfd.readouterr()
    assert "Traceback" not in said.out + said.err
    if row["verdict"] == "reject":
        assert code == REJECTED
    elif row["verdict"] == "ok":
        assert code == 0
    assert code in (0, REJECTED)
    assert names_in(tmp_path) == (["server"] if code == 0 else [])
    if code == 0:
        assert_is_sound(target)
    else:
        assert "error[" in said.err


def assert_is_sound(project: Path) -> None:
    """Check that all modules import and the generated tests pass without running document text."""
    (package,) = (
        contract.parents[1] for contract in project.glob("src/*/_generated/contract.json")
    )
    sys.path.insert(0, str(project / "src"))
    importlib.invalidate_caches()
    suite = Suite(package.name, project / "tests" / "generated")
    suite.check_operations()
    suite.check_docstrings()
    suite.check_tool_list()
    for case in suite.cases[:200]:
        if not case.untested:
            suite.run(case)
