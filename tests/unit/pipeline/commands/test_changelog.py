"""`changelog`: the tools as they would be generated now, against git, folders and files."""

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


def test_without_git_what_was_generated_last_counts(project: Path, compare: Compare) -> None:
    assert rules(compare()) == []
    edit(project, "operationId: listOrders", "operationId: listOrders\n      deprecated: true")
    edit(project, "{type: integer}}]", "{type: integer, minimum: 1}}]")
    report = compare()
    assert report.since == "the last `generate`"
    assert "input-constraint-narrowed" in rules(report)


def test_what_is_committed_counts_after_generating_too(
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


def test_generate_tells_the_changes_and_its_dry_run_too(
    project: Path, regenerate: Callable[..., Report]
) -> None:
    edit(project, "operationId: getPet", "operationId: fetchPet")
    for report in (regenerate(dry_run=True), regenerate()):
        assert report.changelog is not None
        (change,) = report.changelog.changes
        assert (change.rule, change.tool) == ("operation-renamed", "get_pet")
        assert "{name: fetch_pet, aliases: [get_pet]}" in change.message


def test_the_offered_entry_takes_the_new_name_and_keeps_the_old_one(
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


def test_the_manifest_gives_rules_other_levels(project: Path, compare: Compare) -> None:
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
def test_a_level_fails_the_run(
    project: Path, compare: Compare, fail_on: Level | None, outcome: str
) -> None:
    edit(project, "{type: integer}}]", "{type: integer, minimum: 1}}]")
    assert compare(fail_on=fail_on).outcome == outcome


def test_a_lower_level_does_not_fail_the_run(project: Path, compare: Compare) -> None:
    edit(project, "summary: Fetch one pet", "summary: Fetch a pet")
    assert compare(fail_on=Level.MINOR).outcome == "done"


def store_surface(project: Path, path: Path) -> None:
    """Write the surface as an earlier mcpgen did, and remove what it did not write."""
    surface = load_surface(project)
    assert surface is not None
    path.write_bytes(msgspec.json.encode(surface))
    (project / LISTING).unlink()


def test_a_folder_and_a_file_are_compared_with(
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


def test_a_revision_with_a_stored_surface_is_compared_with(
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


def test_a_file_that_is_no_surface_is_refused(project: Path, compare: Compare) -> None:
    report = compare(str(project / LISTING))
    assert (report.outcome, report.changelog) == ("rejected", None)
    (problem,) = report.problems
    assert problem.code == "surface-unreadable"
    assert "the folder of a server" in problem.help


@pytest.mark.parametrize("content", [b"[", b"[1]", b"[]", b"[\n<<<<<<< ours\n]\n"])
def test_a_damaged_list_of_tools_is_never_unchanged(
    project: Path, compare: Compare, content: bytes
) -> None:
    (project / LISTING).write_bytes(content)
    commit(project)
    report = compare("HEAD")
    assert (report.outcome, report.changelog) == ("rejected", None)
    assert [problem.code for problem in report.problems] == ["surface-unreadable"]


@pytest.mark.parametrize("revision", ["no-such-branch", "--help", "HEAD:openapi.yaml"])
def test_a_revision_that_is_none_is_an_error(
    project: Path, compare: Compare, revision: str
) -> None:
    commit(project)
    report = compare(revision)
    assert (report.outcome, report.changelog) == ("usage", None)
    assert [problem.code for problem in report.problems] == ["against"]
    assert "not a file, a folder or a git revision" in next(iter(report.problems)).message


def test_a_revision_before_the_server_is_an_error(project: Path, compare: Compare) -> None:
    listing = (project / LISTING).read_bytes()
    (project / LISTING).unlink()
    commit(project)
    (project / LISTING).write_bytes(listing)
    report = compare("HEAD")
    assert (report.outcome, report.changelog) == ("usage", None)
    assert "an older mcpgen generated the server there" in next(iter(report.problems)).help


def test_a_document_that_cannot_be_read_is_never_unchanged(project: Path, compare: Compare) -> None:
    (project / "openapi.yaml").write_text("openapi: [")
    report = compare()
    assert (report.outcome, report.changelog) == ("rejected", None)


def test_a_server_in_no_repository_is_compared_though_git_is_not_installed(
    project: Path, compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert rules(compare()) == []
    report = compare("main")
    assert report.outcome == "usage"
    assert "lies in no git repository" in next(iter(report.problems)).message


def lose_the_committed_surface(project: Path) -> None:
    """As in a clone without all contents, or one that is damaged."""
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
def test_what_is_committed_and_cannot_be_read_is_never_unchanged(
    project: Path, compare: Compare, monkeypatch, spoil, said: str, against: str | None
) -> None:
    """`generate` has run: what it wrote last has every change in it, and would seem the same."""
    commit(project)
    spoil(project, monkeypatch)
    report = compare(against)
    assert (report.outcome, report.changelog) == ("usage", None)
    (problem,) = report.problems
    assert problem.code == "against"
    assert said in problem.message


def test_in_a_hook_of_git_the_repository_is_the_one_around_the_server(
    project: Path, compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(project)
    monkeypatch.chdir(project.parent)
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_WORK_TREE", ".")
    assert compare().since == "HEAD"
