"""Tests of results in a server's README: written by checks, removed after a change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from mcpgen.pipeline.project.evidence import (
    format_scores,
    format_tests,
    read_results,
    show_figures,
    write_evidence,
)

START, END = "<!-- mcpgen:tests -->\n", "<!-- /mcpgen:tests -->\n"
FOUND = {
    "result": "2 passed",
    "tests": {"passed": 1442, "failed": 0, "untested": 1},
    "cases": {"add": 10, "get": 31},
    "mutation": {"killed": 190, "judged": 191, "score": 0.9948},
}
SCORED = {
    "result": "99 to 100",
    "revisions": {
        "2025-11-25": {"score": 99, "coverage": 0.957},
        "2026-07-28": {"score": 100, "coverage": 1},
    },
}
SCORE = "Score of `mcpgen validate`: 99 to 100 in 2 revisions, at least 95 % exercised.\n"
SHOWN = """\
Tests: 1,442 passed, 1 untested.
Calls of each of the 2 tools: 10 to 31, 20 on average.
Faults that the tests detected: 190 of 191 (99.5%).
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project with evidence and no figures yet."""
    document = tmp_path / "shop.json"
    operations = {
        f"/{name}": {"get": {"operationId": name, "responses": {"204": {"description": "done"}}}}
        for name in ("first", "second")
    }
    info = {"title": "Shop", "version": "1"}
    document.write_text(json.dumps({"openapi": "3.1.0", "info": info, "paths": operations}))
    target = tmp_path / "shop-mcp"
    assert run(["new", str(document), str(target), "--defaults", "-q"]) == 0
    write_evidence(target, "tests", FOUND)
    return target


def figures(project: Path) -> str:
    readme = (project / "README.md").read_text()
    return readme.partition(START)[2].partition(END)[0]


def test_only_existing_test_figures_are_formatted() -> None:
    assert format_tests(FOUND) == SHOWN.rstrip("\n")
    assert format_tests({"tests": {"passed": 0, "failed": 2}}) == "Tests: 0 passed, 2 failed."
    hostile = {"tests": {"passed": "<script>"}, "cases": ["x"], "mutation": {"judged": 0}}
    assert format_tests(hostile) == "Tests: ."


def test_only_existing_scores_are_formatted() -> None:
    assert format_scores(SCORED) == SCORE.rstrip("\n")
    hostile = {"a": {"score": "<b>", "coverage": 1.0}, "b": ["x"], "c": {"score": 100}}
    for revisions in ({}, [], None, hostile):
        assert format_scores({"revisions": revisions}) == ""


def test_scores_stand_beside_the_tests_until_the_project_changes(project: Path) -> None:
    checks = ("tests", "validate")
    assert read_results(project, checks) == {"tests": "2 passed", "validate": "unknown"}
    write_evidence(project, "validate", SCORED)
    assert show_figures(project) == ("README.md",)
    assert figures(project) == SHOWN + SCORE
    assert read_results(project, checks) == {"tests": "2 passed", "validate": "99 to 100"}
    (project / "src/shop_mcp/handlers/own.py").write_text("")
    assert read_results(project, checks) == dict.fromkeys(checks, "stale")
    assert show_figures(project) == ("README.md",)
    assert figures(project) == ""


def test_test_figures_are_kept_until_the_project_changes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert figures(project) == ""
    assert show_figures(project) == ("README.md",)
    assert figures(project) == SHOWN
    assert show_figures(project) == ()

    assert run(["check", str(project)]) == 0
    capsys.readouterr()
    assert run(["generate", str(project), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] == []
    assert figures(project) == SHOWN

    manifest = project / "mcpgen.yaml"
    manifest.write_text(f"{manifest.read_text()}\nselect: [{{exclude: {{path: /second}}}}]\n")
    capsys.readouterr()
    assert run(["generate", str(project), "--json"]) == 0
    assert "README.md" in json.loads(capsys.readouterr().out)["written"]
    assert figures(project) == ""
    assert run(["check", str(project)]) == 0


def test_a_readme_without_the_block_is_not_changed(project: Path) -> None:
    for own in (b"mine\n", f"{START}no end\n".encode(), b"\xff<!-- mcpgen:tests -->"):
        (project / "README.md").write_bytes(own)
        assert show_figures(project) == ()
        assert (project / "README.md").read_bytes() == own
    (project / "README.md").unlink()
    assert show_figures(project) == ()


def test_the_test_figures_block_can_be_anywhere_in_the_readme(project: Path) -> None:
    (project / "README.md").write_text(f"mine\n{START}old\n{END}mine too\n")

    show_figures(project)

    assert (project / "README.md").read_text() == f"mine\n{START}{SHOWN}{END}mine too\n"


def test_only_the_readme_is_written_and_a_link_stays_a_link(project: Path) -> None:
    (project / "docs").mkdir()
    (project / "README.md").rename(project / "docs/README.md")
    (project / "README.md").symlink_to("docs/README.md")
    (project / "README.md.new").write_text("a draft")
    before = sorted(project.rglob("*"))

    assert show_figures(project) == ("README.md",)

    assert figures(project) == SHOWN
    assert (project / "README.md").is_symlink()
    assert (project / "README.md.new").read_text() == "a draft"
    assert sorted(project.rglob("*")) == before
