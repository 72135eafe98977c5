"""Tests of `check`: current, stale, edited or interrupted, by hashes and without writing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.project.evidence import describe_tools, write_evidence
from tests.support.paths import REPOSITORY

HANDLERS = "src/pet_shop_mcp/_generated/tools/pets.py"


def test_a_fresh_project_is_current(project: Path) -> None:
    report = check(project)
    assert (report.outcome, list(report.problems)) == ("done", [])


@pytest.mark.parametrize("path", ["openapi.yaml", "mcpgen.yaml", ".copier-answers.yml"])
def test_a_changed_input_is_stale(project: Path, path: str) -> None:
    with (project / path).open("a") as file:
        file.write("# changed\n")
    report = check(project)
    assert (report.outcome, report.stale, report.edited) == ("findings", (path,), ())


def test_a_missing_generated_file_is_stale(project: Path) -> None:
    (project / HANDLERS).unlink()
    report = check(project)
    assert (report.outcome, report.stale) == ("findings", (HANDLERS,))


def test_an_edited_generated_file_takes_precedence_over_a_stale_input(project: Path) -> None:
    (project / HANDLERS).write_text("# mine\n")
    (project / "openapi.yaml").unlink()
    report = check(project)
    assert report.outcome == "conflict"
    assert (report.edited, report.stale) == ((HANDLERS,), ("openapi.yaml",))


def test_another_version_of_a_tool_is_reported_as_stale(project: Path) -> None:
    lock = project / "mcpgen.lock"
    lock.write_text(lock.read_text().replace('"ruff": "', '"ruff": "0.'))
    report = check(project)
    [problem] = report.problems
    assert (report.outcome, report.stale) == ("findings", ("ruff",))
    assert problem.message.startswith("stale only because ruff 0.")
    assert "`--ignore-toolchain`" in problem.help
    assert check(project, ignore_toolchain=True).outcome == "done"


def test_another_mcpgen_version_is_not_ignored_by_ignore_toolchain(project: Path) -> None:
    lock = project / "mcpgen.lock"
    lock.write_text(lock.read_text().replace('"mcpgen": "', '"mcpgen": "0.'))
    assert check(project, ignore_toolchain=True).stale == ("mcpgen",)


def test_a_tool_version_is_not_the_only_reason_if_an_input_changed(project: Path) -> None:
    lock = project / "mcpgen.lock"
    lock.write_text(lock.read_text().replace('"ruff": "', '"ruff": "0.'))
    with (project / "openapi.yaml").open("a") as file:
        file.write("# changed\n")
    messages = [problem.message for problem in check(project).problems]
    assert [message.startswith("stale because ruff 0.") for message in messages] == [True, False]


def test_an_unresolved_conflict_is_reported(project: Path) -> None:
    (project / ".mcpgen/conflicts").mkdir()
    (project / ".mcpgen/conflicts/pyproject.toml").write_text("x")
    assert check(project).edited == (".mcpgen/conflicts/pyproject.toml",)


def test_edits_of_merged_and_owned_files_are_ignored(project: Path) -> None:
    (project / "README.md").write_text("mine")
    (project / "src/pet_shop_mcp/handlers/__init__.py").unlink()
    (project / "Dockerfile").unlink()
    assert check(project).outcome == "done"


def test_a_lock_with_merge_conflicts_is_reported(project: Path) -> None:
    lock = project / "mcpgen.lock"
    lock.write_text("<<<<<<< ours\n" + lock.read_text())
    report = check(project)
    assert [problem.code for problem in report.problems] == ["lock-unreadable"]
    assert (report.outcome, report.stale) == ("conflict", ("mcpgen.lock",))


def test_a_missing_lock_is_reported(project: Path) -> None:
    (project / "mcpgen.lock").unlink()
    report = check(project)
    assert [problem.code for problem in report.problems] == ["lock-lost"]
    assert (report.outcome, report.stale) == ("findings", ("mcpgen.lock",))


def test_remaining_conflict_markers_are_reported(project: Path) -> None:
    readme = project / "README.md"
    readme.write_text("# Mine\n<<<<<<< yours\na\n=======\nb\n>>>>>>> mcpgen\n")
    report = check(project)
    [problem] = report.problems
    assert (report.outcome, problem.code) == ("conflict", "conflict")
    assert str(problem.at) == "README.md:2:1"


def test_a_foreign_file_among_generated_files_is_reported(project: Path) -> None:
    (project / "src/pet_shop_mcp/_generated/notes.txt").write_text("x")
    cache = project / "src/pet_shop_mcp/_generated/__pycache__"
    cache.mkdir()
    (cache / "x.pyc").write_text("x")
    report = check(project)
    assert [problem.code for problem in report.problems] == ["foreign-file"]
    assert report.outcome == "done"


def test_check_writes_nothing(project: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    check(project)
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before


def test_check_imports_neither_stages_nor_their_dependencies(project: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from mcpgen.pipeline.commands.check import check;"
        f"assert check(Path({str(project)!r})).outcome == 'done';"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    heavy = {"copier", "datamodel_code_generator", "jinja2", "jsonschema_rs", "yaml", "aiohttp"}
    assert loaded & heavy == set()
    assert "mcpgen.pipeline.build" not in loaded


def install_checkout(project: Path, checkout: Path) -> Path:
    """Simulate a runtime installed from a checkout; return a source file of the checkout."""
    source = checkout / "mcpgen/runtime/tools/registry.py"
    source.parent.mkdir(parents=True)
    source.write_text("A = 1\n")
    installed = project / ".venv/lib/python3.11/site-packages/mcpgen.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Name: mcpgen\nVersion: 0.5.0\n")
    origin = {"url": checkout.as_uri(), "dir_info": {"editable": True}}
    (installed / "direct_url.json").write_text(json.dumps(origin))
    return source


def notes(project: Path) -> list[str]:
    report = check(project)
    assert report.outcome == "done"
    return [problem.code for problem in report.problems]


def test_tests_that_ran_with_another_state_of_a_checkout_are_noted(
    project: Path, tmp_path: Path
) -> None:
    source = install_checkout(project, tmp_path / "check out")
    write_evidence(project, "tests", {"mutation": describe_tools(project)})
    assert notes(project) == []
    source.write_text("A = 2\n")
    assert notes(project) == ["proven-with-other-runtime"]
    evidence = json.loads((project / ".mcpgen/evidence/tests.json").read_text())
    write_evidence(project, "tests", {"mutation": evidence["mutation"]})
    assert notes(project) == ["proven-with-other-runtime"]
    write_evidence(project, "tests", {})
    assert notes(project) == []


def test_a_validation_with_another_state_of_a_checkout_is_noted(
    project: Path, tmp_path: Path
) -> None:
    source = install_checkout(project, tmp_path / "checkout")
    write_evidence(project, "validate", {})
    assert notes(project) == []
    source.write_text("A = 2\n")
    assert notes(project) == ["proven-with-other-runtime"]


def test_stale_evidence_is_not_compared_with_the_runtime(project: Path, tmp_path: Path) -> None:
    source = install_checkout(project, tmp_path / "checkout")
    write_evidence(project, "tests", {})
    source.write_text("A = 2\n")
    (project / "tests/test_more.py").write_text("")
    assert notes(project) == []


def test_evidence_with_a_released_mcpgen_records_only_the_version(
    project: Path, tmp_path: Path
) -> None:
    install_checkout(project, tmp_path / "checkout")
    (project / ".venv/lib/python3.11/site-packages/mcpgen.dist-info/direct_url.json").unlink()
    write_evidence(project, "tests", {})
    assert "runtime_sources" not in (project / ".mcpgen/evidence/tests.json").read_text()


TOOLS, NO_TOOLS = "<!-- mcpgen:tools -->", "<!-- /mcpgen:tools -->"


@pytest.mark.parametrize(
    ("old", "new", "is_told"),
    [
        (TOOLS, f"{TOOLS}\n{TOOLS}", True),
        (NO_TOOLS, "", True),
        (TOOLS, "", True),
        (NO_TOOLS, f"{NO_TOOLS}\n{TOOLS}\n{NO_TOOLS}", True),
        (TOOLS, f"As `{TOOLS}` says:\n{TOOLS}", False),
        ("\n", "\r\n", False),
    ],
)
def test_misplaced_markers_in_the_readme_are_reported(
    project: Path, old: str, new: str, is_told: bool
) -> None:
    readme = project / "README.md"
    text = readme.read_text()
    assert old in text
    readme.write_text(text.replace(old, new), newline="")
    report = check(project)
    assert report.outcome == "done"
    assert [problem.code for problem in report.problems] == ["stray-marker"] * is_told


def test_a_removed_block_in_the_readme_is_not_reported(project: Path) -> None:
    readme = project / "README.md"
    readme.write_text(readme.read_text().replace(TOOLS, "").replace(NO_TOOLS, ""))
    assert list(check(project).problems) == []
