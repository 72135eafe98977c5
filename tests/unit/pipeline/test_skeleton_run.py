"""Tests that the skeleton of the last run is used where, and only where, it would be the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpgen.emit.skeleton import render_skeleton
from mcpgen.forked import ForkedAhead
from mcpgen.ir.file_set import FileSet
from mcpgen.ir.templates import template_root
from mcpgen.pipeline import skeleton_run
from mcpgen.pipeline.folder_cache import FolderCache
from mcpgen.pipeline.skeleton_run import SkeletonRun
from mcpgen.render.skeleton_facts import skeleton_facts
from mcpgen.text.identifiers import Identifier
from mcpgen.text.invisible import SafeText
from tests.support.plans import server_plan

PACKAGE = Identifier("petstore_mcp")
ANSWERS = {"name": "petstore"}
FACTS = skeleton_facts(server_plan(), "openapi.yaml")


class Runs:
    """Runs in one folder."""

    def __init__(self, folder: Path) -> None:
        self.cache = FolderCache(folder / "cache", "skeleton", folder / "project")

    def run(
        self,
        facts: dict[str, SafeText] = FACTS,
        answers: dict[str, str] = ANSWERS,
        package: Identifier = PACKAGE,
    ) -> tuple[FileSet, bool]:
        """Return the files, and whether copier rendered them."""
        rendered: list[object] = []

        class Child(ForkedAhead[FileSet]):
            def begin(self, work: object) -> None:
                rendered.append(work)
                super().begin(work)  # type: ignore[arg-type]

        with Child(lambda: None, is_worth_it=False) as child:
            run = SkeletonRun(package, facts, answers, self.cache, child)
            return run.result(), bool(rendered)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def render(facts: dict[str, SafeText], answers: dict[str, str] = ANSWERS) -> FileSet:
    return render_skeleton(template_root() / "skeleton", PACKAGE, facts, answers)


def test_a_second_run_with_the_same_facts_renders_nothing(runs: Runs) -> None:
    assert runs.run() == (render(FACTS), True)
    assert runs.run() == (render(FACTS), False)


def test_another_table_of_tools_is_inserted_without_rendering(runs: Runs) -> None:
    runs.run()
    facts = {**FACTS, "tools_markdown": SafeText("| tool |\n|---|\n| `other` |")}
    files, is_rendered = runs.run(facts)
    assert not is_rendered
    assert files == render(facts)
    assert any(b"| `other` |" in file.content for file in files)


@pytest.mark.parametrize("fact", sorted(FACTS.keys() - {"tools_markdown"}))
def test_any_other_fact_that_changes_renders_the_skeleton(runs: Runs, fact: str) -> None:
    runs.run()
    facts = {**FACTS, fact: SafeText('"other"')}
    files, is_rendered = runs.run(facts)
    assert is_rendered
    assert files == render(facts)


def test_another_answer_renders_the_skeleton(runs: Runs) -> None:
    runs.run()
    answers = {**ANSWERS, "python_version": "3.13"}
    assert runs.run(answers=answers) == (render(FACTS, answers), True)


@pytest.mark.parametrize("part", ["code_digest", "version"])
def test_other_code_renders_the_skeleton(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    runs.run()
    if part == "code_digest":
        monkeypatch.setattr(skeleton_run, "code_digest", lambda: "other code")
    else:
        monkeypatch.setattr(skeleton_run.importlib.metadata, "version", lambda _: "99")
    assert runs.run()[1]


def test_the_owners_of_cached_files_are_those_of_rendered_files(runs: Runs) -> None:
    runs.run()
    assert [file.owner for file in runs.run()[0]] == [file.owner for file in render(FACTS)]


def test_a_damaged_entry_is_ignored(runs: Runs) -> None:
    runs.run()
    runs.cache.write(b"no msgpack")
    assert runs.run()[1]
