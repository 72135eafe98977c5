"""Tests that each example scores 100 in each revision and transport, at nearly full coverage."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from mcpgen.factory.wire.session import REVISIONS
from tests.examples.test_current import LEFT_BY_TOOLS
from tests.support.examples import BY_HAND, NAMES
from tests.support.paths import EXAMPLES

LEAST_COVERAGE = 0.9
SSE_REVISION = "2024-11-05"  # has no Streamable HTTP


@pytest.mark.parametrize("name", [*NAMES, *BY_HAND])
def test_an_example_gets_100_and_nearly_everything_is_exercised(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / f"{name}-mcp"
    ignored = shutil.ignore_patterns(*LEFT_BY_TOOLS, "evidence")
    shutil.copytree(EXAMPLES / project.name, project, ignore=ignored)

    assert run(["validate", str(project), "--min-score", "100", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["findings"] == []

    evidence = json.loads((project / ".mcpgen/evidence/validate.json").read_text())
    assert evidence["outcome"] == "passed"
    assert tuple(evidence["revisions"]) == REVISIONS
    for revision, found in evidence["revisions"].items():
        transports = found["transports"]
        assert list(transports) == (["stdio"] if revision == SSE_REVISION else ["http", "stdio"])
        for score in (found, *transports.values()):
            assert (score["score"], score["verdict"]) == (100, "PASS")
            assert score["coverage"] >= LEAST_COVERAGE
    assert f"`mcpgen validate`: {evidence['result']}." in (project / "README.md").read_text()
