"""Tests of merged branches that add different operations: `generate` yields the combined tree."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.check import check
from tests.regeneration import projects
from tests.regeneration.projects import git, needs_git

pytestmark = needs_git

SHOPS = projects.ORDERS.replace("rder", "hop").replace("/ohops", "/shops")
PETS_MORE = (
    projects.PETS
    + """\
    delete:
      operationId: removePet
      tags: [pets]
      summary: Remove a pet
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses: {"204": {description: Gone.}}
"""
)


def branch(project: Path, cache: Path, name: str, document: str) -> None:
    git(project, "checkout", "-q", "-b", name, "main")
    (project / "openapi.yaml").write_text(document)
    assert projects.generate(project, cache).outcome == "done"
    git(project, "commit", "-qam", name)


@pytest.mark.parametrize("is_committed", [False, True], ids=["in the merge", "markers committed"])
def test_merging_two_branches_produces_the_output_of_the_merged_document(
    project: Path, cache: Path, tmp_path: Path, is_committed: bool
) -> None:
    both = projects.HEAD + PETS_MORE + projects.ORDERS + projects.USERS + projects.SCHEMAS
    reference = shutil.copytree(project, tmp_path / "reference")
    (reference / "openapi.yaml").write_text(both)
    assert projects.generate(reference, cache).outcome == "done"

    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "new")
    more_pets = projects.HEAD + PETS_MORE + projects.ORDERS + projects.SCHEMAS
    users = projects.HEAD + projects.PETS + projects.ORDERS + projects.USERS + projects.SCHEMAS
    branch(project, cache, "pets", more_pets)
    branch(project, cache, "users", users)
    git(project, "merge", "-q", "pets", code=1)
    assert (project / "openapi.yaml").read_text() == both, "git merged the document by itself"
    assert "<<<<<<< " in (project / "mcpgen.lock").read_text()
    if is_committed:
        git(project, "commit", "-qam", "merged, with markers")
    assert check(project).outcome == "conflict"

    report = projects.generate(project, cache)
    assert report.outcome == "done", list(report.problems)
    assert projects.tree(project) == projects.tree(reference)
    assert check(project).outcome == "done"


def test_a_merge_conflict_in_the_document_is_reported_first(project: Path, cache: Path) -> None:
    document = project / "openapi.yaml"
    document.write_text(f"<<<<<<< HEAD\n{document.read_text()}=======\n>>>>>>> theirs\n")
    before = projects.tree_hash(project)
    report = projects.generate(project, cache)
    [problem] = report.problems
    assert (report.outcome, problem.code) == ("conflict", "conflict")
    assert str(problem.at) == "openapi.yaml:1:1"
    assert projects.tree_hash(project) == before
