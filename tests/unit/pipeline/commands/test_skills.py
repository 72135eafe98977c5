"""Tests of skills of a project: generated ones, the owner's, and the manifest's switch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.options import Report

pytestmark = pytest.mark.slow

Regenerate = Callable[..., Report]
PACKAGE = "src/pet_shop_mcp"
GENERATED = f"{PACKAGE}/_generated/skills"


def codes(report: Report) -> list[str]:
    return [problem.code for problem in report.problems]


def write_own(project: Path, name: str, text: str) -> Path:
    path = project / PACKAGE / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    return path


def test_a_new_project_has_skills_for_the_api_and_each_toolset(project: Path) -> None:
    index = json.loads((project / PACKAGE / "_generated" / "skills.json").read_bytes())
    names = {entry["frontmatter"]["name"] for entry in index}
    assert {path.name for path in (project / GENERATED).iterdir()} == names
    toolsets = json.loads((project / PACKAGE / "_generated" / "toolsets.json").read_bytes())
    assert len(names) == 1 + len(toolsets)


def test_an_edited_skill_is_rejected_like_other_generated_files(
    project: Path, regenerate: Regenerate
) -> None:
    path = project / GENERATED / "pet-shop" / "SKILL.md"
    edited = path.read_text("utf-8") + "\nAlso do this.\n"
    path.write_text(edited, "utf-8")
    report = regenerate()
    assert report.outcome == "conflict"
    assert "hand-edit" in codes(report)
    assert path.read_text("utf-8") == edited
    assert check(project).outcome == "conflict"


def test_skills_of_the_owner_are_never_touched(project: Path, regenerate: Regenerate) -> None:
    own = write_own(project, "rules", "---\nname: rules\ndescription: Rules.\n---\n")
    before = own.read_bytes(), own.stat().st_mtime_ns
    assert regenerate(force=True).outcome == "done"
    assert (own.read_bytes(), own.stat().st_mtime_ns) == before
    assert check(project).outcome == "done"


def test_an_invalid_skill_of_the_owner_is_reported(project: Path, regenerate: Regenerate) -> None:
    write_own(project, "rules", "---\nname: rules\ndescription: yes\n---\n")
    report = regenerate()
    (problem,) = [it for it in report.problems if it.code == "skill-invalid"]
    assert "line 3" in problem.message
    assert report.outcome == "done"
    assert check(project).outcome == "findings"


def test_skills_are_switched_off_in_the_manifest(project: Path, regenerate: Regenerate) -> None:
    manifest = project / "mcpgen.yaml"
    manifest.write_text(manifest.read_text("utf-8") + "\nskills: false\n", "utf-8")
    report = regenerate()
    assert report.outcome == "done"
    assert f"{GENERATED}/pet-shop/SKILL.md" in report.deleted
    assert not (project / PACKAGE / "_generated" / "skills.json").exists()
    contract = json.loads((project / PACKAGE / "_generated" / "contract.json").read_bytes())
    assert "skills" not in contract
