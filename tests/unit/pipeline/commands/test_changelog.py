"""Tests of `changelog`: current tools compared with git, folders and files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mcpgen.changelog import Level
from mcpgen.pipeline.commands.changelog import ChangelogReport, changelog
from mcpgen.pipeline.options import GenerateOptions, Report
from mcpgen.pipeline.project.project_folder import load_surface
from tests.support.projects import silent

pytestmark = pytest.mark.slow

LISTING = "src/pet_shop_mcp/_generated/listing.json"
STORED_SURFACE = ".mcpgen/surface.json"  # by an earlier mcpgen


@pytest.fixture
def compare(project: Path, cache: Path) -> Callable[..., ChangelogReport]:
    def run(against: str | None = None, **more: Level) -> ChangelogReport:
        options = GenerateOptions(external_validator=False, cache=cache)
        return changelog(project, against, options, silent, **more)

    return run


Compare = Callable[..., ChangelogReport]


def edit(project: Path, old: str, new: str) -> None:
    path = project / "openapi.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def rules(report: ChangelogReport) -> list[str]:
    assert report.changelog is not None, list(report.problems)
    return [change.rule for change in report.changelog.changes]


def commit(project: Path, message: str = "x") -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", message]):
        subprocess.run(["git", "-C", str(project), *arguments], check=True, capture_output=True)


def test_without_git_changelog_compares_with_the_last_generate(
    project: Path, compare: Compare
) -> None:
    assert rules(compare()) == []
    edit(project, "operationId: listOrders", "operationId: listOrders\n      deprecated: true")
    edit(project, "{type: integer}}]", "{type: integer, minimum: 1}}]")
    report = compare()
    assert report.since == "the last `generate`"
    assert "input-constraint-narrowed" in rules(report)


def test_changelog_compares_with_the_last_commit(
    project: Path, compare: Compare, regenerate: Callable[..., Report]
) -> None:
    commit(project)
    edit(project, "{type: integer}}]", "{type: integer, minimum: 1}}]")
    assert regenerate().outcome == "done"
    report = compare()
    assert (report.since, rules(report)) == ("HEAD", ["input-constraint-narrowed"])
    assert (report.version, report.suggested_version) == ("0.1.0", "0.2.0")
    commit(project)
    assert rules(compare()) == []
    assert rules(compare("HEAD~1")) == ["input-constraint-narrowed"]


def test_generate_and_its_dry_run_report_the_changes(
    project: Path, regenerate: Callable[..., Report]
) -> None:
    edit(project, "operationId: getPet", "operationId: fetchPet")
    for report in (regenerate(dry_run=True), regenerate()):
        assert report.changelog is not None
        (change,) = report.changelog.changes
        assert (change.rule, change.tool) == ("operation-renamed", "get_pet")
        assert "{name: fetch_pet, aliases: [get_pet]}" in change.message


def test_the_suggested_alias_entry_renames_the_tool_and_keeps_the_old_name(
    project: Path, compare: Compare
) -> None:
    edit(project, "operationId: getPet", "operationId: fetchPet")
    with (project / "mcpgen.yaml").open("a") as manifest:
        manifest.write(
            'operations:\n  "GET /pets/{petId}": {name: fetch_pet, aliases: [get_pet]}\n'
        )
    report = compare()
    assert "tool-renamed-aliased" in rules(report)
    assert report.changelog is not None
    assert report.changelog.level is Level.MINOR


def test_the_manifest_can_override_the_level_of_a_rule(project: Path, compare: Compare) -> None:
    edit(project, "{type: integer}}]", "{type: integer, minimum: 1}}]")
    with (project / "mcpgen.yaml").open("a") as manifest:
        manifest.write("changelog: {input-constraint-narrowed: patch}\n")
    report = compare()
    assert report.changelog is not None
    assert report.changelog.level is Level.PATCH


@pytest.mark.parametrize(
    ("fail_on", "outcome"),
    [
        (None, "done"),
        (Level.MAJOR, "findings"),
        (Level.MINOR, "findings"),
        (Level.PATCH, "findings"),
    ],
)
def test_a_change_at_the_fail_on_level_fails_the_run(
    project: Path, compare: Compare, fail_on: Level | None, outcome: str
) -> None:
    edit(project, "{type: integer}}]", "{type: integer, minimum: 1}}]")
    assert compare(fail_on=fail_on).outcome == outcome


def test_a_change_below_the_fail_on_level_does_not_fail_the_run(
    project: Path, compare: Compare
) -> None:
    edit(project, "summary: Fetch one pet", "summary: Fetch a pet")
    assert compare(fail_on=Level.MINOR).outcome == "done"


def store_surface(project: Path, path: Path) -> None:
    """Write the surface in the form of an earlier mcpgen, and remove the listing."""
    surface = load_surface(project)
    assert surface is not None
    path.write_bytes(msgspec.json.encode(surface))
    (project / LISTING).unlink()


def test_changelog_compares_with_a_folder_or_a_file(
    project: Path, compare: Compare, tmp_path: Path
) -> None:
    earlier = shutil.copytree(project, tmp_path / "earlier")
    store_surface(earlier, earlier / STORED_SURFACE)
    old = tmp_path / "old.json"
    old.write_bytes((earlier / STORED_SURFACE).read_bytes())
    edit(project, "operationId: listOrders", "operationId: listOrders\n      description: All.")
    for against in (str(old), str(project), str(earlier)):
        report = compare(against)
        assert (report.since, rules(report)) == (against, ["description"])


def test_changelog_compares_with_a_revision_that_has_a_stored_surface(
    project: Path, compare: Compare, regenerate: Callable[..., Report]
) -> None:
    store_surface(project, project / STORED_SURFACE)
    commit(project)
    edit(project, "operationId: listOrders", "operationId: listOrders\n      description: All.")
    report = regenerate()
    assert report.outcome == "done"
    assert report.changelog is not None
    assert [change.rule for change in report.changelog.changes] == ["description"]
    assert rules(compare("HEAD")) == ["description"]


def test_a_file_that_is_not_a_surface_is_rejected(project: Path, compare: Compare) -> None:
    report = compare(str(project / LISTING))
    assert (report.outcome, report.changelog) == ("rejected", None)
    (problem,) = report.problems
    assert problem.code == "surface-unreadable"
    assert "the folder of a server" in problem.help


@pytest.mark.parametrize("content", [b"[", b"[1]", b"[]", b"[\n<<<<<<< ours\n]\n"])
def test_a_damaged_listing_is_rejected(project: Path, compare: Compare, content: bytes) -> None:
    (project / LISTING).write_bytes(content)
    commit(project)
    report = compare("HEAD")
    assert (report.outcome, report.changelog) == ("rejected", None)
    assert [problem.code for problem in report.problems] == ["surface-unreadable"]


@pytest.mark.parametrize("revision", ["no-such-branch", "--help", "HEAD:openapi.yaml"])
def test_an_unknown_revision_is_an_error(project: Path, compare: Compare, revision: str) -> None:
    commit(project)
    report = compare(revision)
    assert (report.outcome, report.changelog) == ("usage", None)
    assert [problem.code for problem in report.problems] == ["against"]
    assert "not a file, a folder or a git revision" in next(iter(report.problems)).message


def test_a_revision_without_the_server_is_an_error(project: Path, compare: Compare) -> None:
    listing = (project / LISTING).read_bytes()
    (project / LISTING).unlink()
    commit(project)
    (project / LISTING).write_bytes(listing)
    report = compare("HEAD")
    assert (report.outcome, report.changelog) == ("usage", None)
    assert "an older mcpgen generated the server there" in next(iter(report.problems)).help


def test_an_invalid_document_is_rejected(project: Path, compare: Compare) -> None:
    (project / "openapi.yaml").write_text("openapi: [")
    report = compare()
    assert (report.outcome, report.changelog) == ("rejected", None)


def test_changelog_works_without_git_outside_of_a_repository(
    project: Path, compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert rules(compare()) == []
    report = compare("main")
    assert report.outcome == "usage"
    assert "lies in no git repository" in next(iter(report.problems)).message


def lose_the_committed_surface(project: Path) -> None:
    """Delete a git object, as in a partial or damaged clone."""
    name = ["git", "-C", str(project), "rev-parse", f"HEAD:{LISTING}"]
    digest = subprocess.run(name, check=True, capture_output=True, text=True).stdout.strip()
    (project / ".git/objects" / digest[:2] / digest[2:]).unlink()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda project, patch: patch.setenv("PATH", ""), "git is not installed"),
        (lambda project, _: (project / ".git/HEAD").write_text("x"), "git says: fatal"),
        (lambda project, _: lose_the_committed_surface(project), "git says: "),
    ],
    ids=["no git", "a repository that git refuses", "a lost content"],
)
@pytest.mark.parametrize("against", [None, "HEAD"])
def test_an_unreadable_commit_is_an_error(
    project: Path, compare: Compare, monkeypatch, spoil, said: str, against: str | None
) -> None:
    """After `generate`, the last written surface has all changes, and would hide them."""
    commit(project)
    spoil(project, monkeypatch)
    report = compare(against)
    assert (report.outcome, report.changelog) == ("usage", None)
    (problem,) = report.problems
    assert problem.code == "against"
    assert said in problem.message


def test_in_a_git_hook_changelog_uses_the_repository_of_the_server(
    project: Path, compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(project)
    monkeypatch.chdir(project.parent)
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_WORK_TREE", ".")
    assert compare().since == "HEAD"
