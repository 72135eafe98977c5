"""Tests of an edited project that is updated from the first of three skeletons to the last.

The same holds without git, in a dirty tree, for an unpacked zip, and without the merge base, which
is then rendered again from the skeletons that mcpgen ships.
"""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpgen.ir.templates import template_root
from mcpgen.pipeline import render as stages
from mcpgen.pipeline import skeleton_run
from tests.regeneration import projects

CI = "name: ci\non: push\nsteps:\n  - lint\n  - build\n  - test\n"


def ship(release: Path, version: int) -> Path:
    """Write the templates of an mcpgen with this skeleton version, as in a wheel."""
    skeletons = [release / "skeleton"]
    skeletons += [release / "earlier_skeletons" / f"0.{earlier}" for earlier in range(1, version)]
    for number, skeleton in zip([version, *range(1, version)], skeletons, strict=True):
        shutil.copytree(template_root() / "skeleton", skeleton)
        change_skeleton(skeleton / "project", number)
    return release


def change_skeleton(project: Path, version: int) -> None:
    """Write a skeleton version: later ones add, change and remove files, sections and settings."""
    readme, pyproject = project / "README.md.jinja", project / "pyproject.toml.jinja"
    (project / "ci.yml.jinja").write_text(CI)
    (project / "OLD.md.jinja").write_text("old\n")
    if version >= 2:
        projects.replace(readme, "## Change it\n", "## Change it\n\nNew in the second.\n")
        projects.replace(pyproject, ">=0.6,<0.7", ">=0.7,<0.8")
        projects.replace(project / "ci.yml.jinja", "  - lint\n", "  - format\n  - lint\n")
        (project / "SECURITY.md.jinja").write_text("second\n")
    if version >= 3:
        projects.replace(readme, "## Test it\n", "## Test it\n\nNew in the third.\n")
        projects.replace(pyproject, ">=0.7,<0.8", ">=0.7,<0.8")
        projects.replace(pyproject, "strict = true", "strict = true\nwarn_unreachable = true")
        (project / "SECURITY.md.jinja").write_text("third\n")
        (project / "Dockerfile.jinja").write_text("FROM third\n")
        (project / "OLD.md.jinja").unlink()


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that activates the mcpgen with a given skeleton version."""

    def install(version: int) -> None:
        release = tmp_path / f"release-{version}"
        if not release.exists():
            ship(release, version)
        for module in (stages, skeleton_run):
            monkeypatch.setattr(module, "template_root", lambda: release)
        monkeypatch.setattr(skeleton_run, "code_digest", lambda: f"release {version}")

    return install


@pytest.fixture
def edited(use: Callable[[int], None], tmp_path: Path, cache: Path) -> Path:
    """Make a project of the first version, with edits of a user."""
    use(1)
    project = projects.new(tmp_path / "server", cache)
    projects.edit(project)
    projects.replace(project / "ci.yml", "  - test\n", "  - test\n  - deploy\n")
    return project


def assert_updated(project: Path) -> None:
    """Check for the content of the third version, and for all edits of the user."""
    projects.assert_edits_are_there(project)  # a deleted Dockerfile, too, which the third changed
    readme = (project / "README.md").read_text()
    assert "## Change it\n\nNew in the second.\n" in readme
    assert "## Test it\n\nNew in the third.\n" in readme
    pyproject = (project / "pyproject.toml").read_text()
    assert 'dependencies = ["mcpgen>=0.7,<0.8", "httpx>=0.28"]  # mine' in pyproject
    assert "warn_unreachable = true" in pyproject
    assert (project / "ci.yml").read_text() == CI.replace(
        "  - lint\n", "  - format\n  - lint\n"
    ).replace("  - test\n", "  - test\n  - deploy\n")
    assert (project / "SECURITY.md").read_text() == "third\n"
    assert not (project / "OLD.md").exists()
    assert not (project / "Dockerfile").exists()


def nothing(project: Path) -> Path:
    return project


def dirty_tree(project: Path) -> Path:
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for command in (["init", "-q"], ["add", "README.md"], ["commit", "-qm", "some of it"]):
        subprocess.run([*git, *command], cwd=project, check=True)
    return project


def out_of_a_zip(project: Path) -> Path:
    archive = project.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as file:
        for path, content in projects.tree(project).items():
            file.writestr(zipfile.ZipInfo(path), content)  # dated 1980, without other metadata
    target = project.with_name("unpacked")
    with zipfile.ZipFile(archive) as file:
        file.extractall(target)
    return target


def base_lost(project: Path) -> Path:
    (project / ".mcpgen/base.json").unlink()
    return project


def base_and_lock_lost(project: Path) -> Path:
    (project / "mcpgen.lock").unlink()
    return base_lost(project)


@pytest.mark.parametrize("happens", [nothing, dirty_tree, out_of_a_zip, base_lost])
def test_edits_are_merged_with_a_new_skeleton(
    edited: Path, use: Callable[[int], None], cache: Path, happens: Callable[[Path], Path]
) -> None:
    project = happens(edited)
    use(3)
    report = projects.generate(project, cache)
    assert report.outcome == "done", list(report.problems)
    assert_updated(project)
    again = projects.generate(project, cache)
    assert (again.outcome, again.written, again.deleted) == ("done", (), ())


def test_updating_over_two_versions_equals_updating_step_by_step(
    edited: Path, use: Callable[[int], None], cache: Path, tmp_path: Path
) -> None:
    steps = shutil.copytree(edited, tmp_path / "steps")
    for version in (2, 3):
        use(version)
        assert projects.generate(steps, cache).outcome == "done"
    use(3)
    assert projects.generate(edited, cache).outcome == "done"
    assert projects.tree(edited) == projects.tree(steps)


def test_a_missing_base_produces_the_same_tree(
    edited: Path, use: Callable[[int], None], cache: Path, tmp_path: Path
) -> None:
    without = base_lost(shutil.copytree(edited, tmp_path / "without"))
    use(3)
    for project in (edited, without):
        assert projects.generate(project, cache).outcome == "done"
    assert projects.tree(without) == projects.tree(edited)


def test_without_lock_and_base_all_edits_and_deletions_are_kept(
    edited: Path, use: Callable[[int], None], cache: Path
) -> None:
    project = base_and_lock_lost(edited)
    use(3)
    assert projects.generate(project, cache).outcome == "done"
    projects.assert_edits_are_there(project)
    assert "New in the third." in (project / "README.md").read_text()
    assert '"mcpgen>=0.7,<0.8", "httpx>=0.28"' in (project / "pyproject.toml").read_text()
    # A missing file may be one that the user deleted; an obsolete one may be the user's own.
    assert not (project / "SECURITY.md").exists()
    assert (project / "OLD.md").exists()


def test_every_skeleton_that_is_shipped_today_can_be_rendered(project: Path, cache: Path) -> None:
    """Otherwise a project that lost its merge base could not be updated."""
    projects.edit(base_lost(project))
    report = projects.generate(project, cache)
    assert report.outcome == "done"
    projects.assert_edits_are_there(project)
    assert (project / ".mcpgen/base.json").exists()
