"""The figures of the tests in a server's README: written by its tests, taken out by a change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from mcpgen.pipeline.project.evidence import format_figures, show_tests, write_evidence

START, END = "<!-- mcpgen:tests -->\n", "<!-- /mcpgen:tests -->\n"
FOUND = {
    "tests": {"passed": 1442, "failed": 0, "untested": 1},
    "cases": {"add": 10, "get": 31},
    "mutation": {"killed": 190, "judged": 191, "score": 0.9948},
}
SHOWN = """\
Tests: 1,442 passed, 1 untested.
Calls of each of the 2 tools: 10 to 31, 20 on average.
Faults that the tests detected: 190 of 191 (99.5%).
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with evidence and no figures yet."""
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
    assert format_figures(FOUND) == SHOWN.rstrip("\n")
    assert format_figures({"tests": {"passed": 0, "failed": 2}}) == "Tests: 0 passed, 2 failed."
    hostile = {"tests": {"passed": "<script>"}, "cases": ["x"], "mutation": {"judged": 0}}
    assert format_figures(hostile) == "Tests: ."


def test_test_figures_are_kept_until_the_project_changes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert figures(project) == ""
    assert show_tests(project) == ("README.md",)
    assert figures(project) == SHOWN
    assert show_tests(project) == ()

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
        assert show_tests(project) == ()
        assert (project / "README.md").read_bytes() == own
    (project / "README.md").unlink()
    assert show_tests(project) == ()


def test_the_test_figures_block_can_be_anywhere_in_the_readme(project: Path) -> None:
    (project / "README.md").write_text(f"mine\n{START}old\n{END}mine too\n")

    show_tests(project)

    assert (project / "README.md").read_text() == f"mine\n{START}{SHOWN}{END}mine too\n"


def test_only_the_readme_is_written_and_a_link_stays_a_link(project: Path) -> None:
    (project / "docs").mkdir()
    (project / "README.md").rename(project / "docs/README.md")
    (project / "README.md").symlink_to("docs/README.md")
    (project / "README.md.new").write_text("a draft")
    before = sorted(project.rglob("*"))

    assert show_tests(project) == ("README.md",)

    assert figures(project) == SHOWN
    assert (project / "README.md").is_symlink()
    assert (project / "README.md.new").read_text() == "a draft"
    assert sorted(project.rglob("*")) == before
