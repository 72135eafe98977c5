"""Tests of a lock file in conflict, deleted or too new: one message each, and nothing is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.changelog import changelog
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.pull import pull
from mcpgen.pipeline.options import GenerateOptions
from tests.regeneration import projects

HAND_EDITED = f"{projects.GENERATED}/tools/pets.py"


def in_conflict(lock: str) -> str:
    """Return the lock with the conflict markers of a merge, whose other side has other hashes."""
    other = re.sub(r'"sha256": "[0-9a-f]{4}', '"sha256": "0000', lock)
    return f"<<<<<<< HEAD\n{lock}=======\n{other}>>>>>>> theirs\n"


@pytest.mark.parametrize("loss", ["deleted", "in conflict", "junk"])
def test_a_broken_lock_is_rebuilt(project: Path, cache: Path, loss: str) -> None:
    projects.edit(project)
    lock = project / "mcpgen.lock"
    text = lock.read_text()
    (project / HAND_EDITED).write_text("# an edit by hand\n")
    match loss:
        case "deleted":
            lock.unlink()
        case "in conflict":
            lock.write_text(in_conflict(text))
        case "junk":
            lock.write_text("{}")
    report = projects.generate(project, cache)
    assert report.outcome == "done", list(report.problems)
    told = "lock-unreadable" if loss == "in conflict" else "lock-lost"
    assert sorted(set(projects.codes(report))) == ["foreign-file", told, "rescued"]
    projects.assert_edits_are_there(project)
    rescued = project / f".mcpgen/rescued/{HAND_EDITED}.txt"
    assert rescued.read_text() == "# an edit by hand\n"
    assert [path.name for path in rescued.parent.iterdir()] == ["pets.py.txt"], "untouched files"
    if loss == "in conflict":
        assert lock.read_text() == text
    else:
        # Two facts are in the lock only: the origin of the document, and the first mcpgen.yaml,
        # with the entries that `new` proposes.
        before, after = (json.loads(each) for each in (text, lock.read_text()))
        assert before["documents"]["openapi.yaml"].pop("source") == "project.yaml"
        assert after["documents"]["openapi.yaml"].pop("source") == ""
        first, again = (each["files"].pop("mcpgen.yaml") for each in (before, after))
        assert first["class"] == again["class"] == "owned"
        assert after == before
    assert check(project).outcome == "done"


def test_a_lock_with_merge_conflicts_keeps_the_tool_names(project: Path, cache: Path) -> None:
    projects.replace(project / "openapi.yaml", "getPet", "fetchThePet")
    lock = project / "mcpgen.lock"
    lock.write_text(in_conflict(lock.read_text()))
    report = projects.generate(project, cache)
    assert [tool.name for tool in report.plan.tools] == ["get_pet", "list_orders"]


def test_a_deleted_lock_keeps_the_tool_names(project: Path, cache: Path) -> None:
    """The tool names are also in the surface."""
    projects.replace(project / "openapi.yaml", "getPet", "fetchThePet")
    (project / "mcpgen.lock").unlink()
    report = projects.generate(project, cache)
    assert [tool.name for tool in report.plan.tools] == ["get_pet", "list_orders"]


def test_without_lock_and_listing_tools_get_new_names(project: Path, cache: Path) -> None:
    projects.replace(project / "openapi.yaml", "getPet", "fetchThePet")
    (project / "mcpgen.lock").unlink()
    (project / "src/pet_shop_mcp/_generated/listing.json").write_text("[")
    report = projects.generate(project, cache)
    assert [tool.name for tool in report.plan.tools] == ["fetch_the_pet", "list_orders"]


def too_new(project: Path) -> None:
    projects.replace(project / "mcpgen.lock", '"lock_version": 2', '"lock_version": 3')


def too_new_in_conflict(project: Path) -> None:
    lock = project / "mcpgen.lock"
    lock.write_text(in_conflict(lock.read_text().replace('"lock_version": 2', '"lock_version": 3')))


def not_a_server(project: Path) -> None:
    (project / "mcpgen.lock").unlink()
    (project / "mcpgen.yaml").unlink()


def markers_left(project: Path) -> None:
    with (project / "README.md").open("a") as readme:
        readme.write("<<<<<<< yours\nx\n||||||| base\n=======\ny\n>>>>>>> mcpgen\n")
    # So that there is something to do, which must not be done.
    projects.replace(project / "openapi.yaml", "Fetch one", "Get a")


def offer_left(project: Path) -> None:
    (project / ".mcpgen/conflicts").mkdir()
    (project / ".mcpgen/conflicts/pyproject.toml").write_text("x")
    projects.replace(project / "openapi.yaml", "Fetch one", "Get a")


def invalid_document(project: Path) -> None:
    projects.replace(project / "openapi.yaml", "openapi: 3.1.0", "openapi: 9.9.9")


def broken_document(project: Path) -> None:
    projects.replace(project / "openapi.yaml", "paths:\n", "paths: [\n")


def no_manifest(project: Path) -> None:
    (project / "mcpgen.yaml").unlink()


def folder_in_the_way(project: Path) -> None:
    projects.replace(project / "openapi.yaml", projects.ORDERS, projects.USERS)
    (project / f"{projects.GENERATED}/tools/users.py").mkdir()


@pytest.mark.parametrize("is_dry", [True, False], ids=["dry run", "run"])
@pytest.mark.parametrize(
    ("spoil", "outcome", "rule", "said"),
    [
        (too_new, "usage", "lock-too-new", "was written by mcpgen 0."),
        (too_new_in_conflict, "usage", "lock-too-new", "on one side of a merge"),
        (not_a_server, "usage", "not-a-project", "is not an mcpgen project"),
        (
            markers_left,
            "conflict",
            "conflict",
            "README.md has the markers of an unresolved conflict",
        ),
        (
            offer_left,
            "conflict",
            "conflict",
            "pyproject.toml conflicts with mcpgen's new version of it",
        ),
        (invalid_document, "rejected", "unsupported-version", "9.9.9"),
        (broken_document, "rejected", "yaml-syntax", ""),
        (no_manifest, "rejected", "no-manifest", "mcpgen.yaml is missing"),
    ],
)
def test_invalid_input_is_reported_once_and_changes_no_file(
    project: Path,
    cache: Path,
    spoil: Callable[[Path], None],
    outcome: str,
    rule: str,
    said: str,
    is_dry: bool,
) -> None:
    spoil(project)
    before, written = projects.tree_hash(project), projects.times(project)
    report = projects.generate(project, cache, dry_run=is_dry)
    [problem] = report.problems
    assert (report.outcome, problem.code) == (outcome, rule)
    assert said in problem.message
    assert problem.help
    assert (projects.tree_hash(project), projects.times(project)) == (before, written)


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (too_new, "lock-too-new"),
        (too_new_in_conflict, "lock-too-new"),
        (not_a_server, "not-a-project"),
    ],
)
def test_check_and_changelog_reject_the_same_invalid_input_as_generate(
    project: Path, cache: Path, spoil: Callable[[Path], None], rule: str
) -> None:
    spoil(project)
    before, written = projects.tree_hash(project), projects.times(project)
    options = GenerateOptions(external_validator=False, cache=cache)
    for report in (
        check(project),
        changelog(project, None, options, projects.silent),
        pull(project, None, options, projects.silent),
    ):
        [problem] = report.problems
        assert (report.outcome, problem.code) == ("usage", rule)
    assert (projects.tree_hash(project), projects.times(project)) == (before, written)


def test_a_folder_at_the_path_of_a_new_file_is_reported_and_changes_no_file(
    project: Path, cache: Path
) -> None:
    folder_in_the_way(project)
    before = projects.tree_hash(project)
    report = projects.generate(project, cache)
    [problem] = [each for each in report.problems if each.code == "target-unwritable"]
    assert report.outcome == "usage"
    assert "users.py" in problem.message
    assert projects.tree_hash(project) == before
