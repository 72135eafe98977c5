"""Tests of `generate`: the user's text is kept, everything else is brought up to date."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpgen.emit.write import lock_project
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import GenerateOptions, Options, Report
from tests.support.projects import silent

pytestmark = pytest.mark.slow

Regenerate = Callable[..., Report]
HANDLERS = "src/pet_shop_mcp/_generated/tools/pets.py"


def codes(report: Report) -> list[str]:
    return [problem.code for problem in report.problems]


def times(project: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in project.rglob("*") if path.is_file()}


def change_document(project: Path, old: str, new: str) -> None:
    path = project / "openapi.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_second_run_writes_nothing(project: Path, regenerate: Regenerate) -> None:
    before = times(project)
    report = regenerate()
    assert (report.outcome, report.written, report.deleted) == ("done", (), ())
    assert times(project) == before


def test_a_new_operation_adds_one_block(project: Path, regenerate: Regenerate) -> None:
    old = (project / HANDLERS).read_text()
    change_document(
        project,
        "    get:\n      operationId: listOrders",
        """\
    post:
      operationId: addPet
      tags: [pets]
      responses: {"204": {description: Fine.}}
    get:
      operationId: listOrders""",
    )
    report = regenerate()
    new = (project / HANDLERS).read_text()
    assert HANDLERS in report.written
    assert old.partition("@tools.handler")[2] in new
    assert "src/pet_shop_mcp/_generated/tools/orders.py" not in report.written


def test_the_files_of_a_removed_tag_are_deleted(project: Path, regenerate: Regenerate) -> None:
    change_document(project, "tags: [orders]", "tags: [pets]")
    report = regenerate()
    assert "src/pet_shop_mcp/_generated/tools/orders.py" in report.deleted
    assert not (project / "src/pet_shop_mcp/_generated/tools/orders.py").exists()


def test_existing_argument_names_are_kept_when_the_naming_rule_changes(
    project: Path, regenerate: Regenerate, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = project / "src/pet_shop_mcp/_generated/listing.json"
    parameter = "parameters: [{name: floatingIPs, in: query, schema: {type: string}}]"
    change_document(
        project, "operationId: listOrders", f"operationId: listOrders\n      {parameter}"
    )
    with monkeypatch.context() as earlier:
        earlier.setattr("mcpgen.plan.naming.names.snake_case", lambda _: "floating_i_ps")
        assert regenerate().outcome == "done"
    assert "floating_i_ps" in listed.read_text()
    change_document(project, "name: floatingIPs,", "name: floatingIPs, description: Some of them.,")
    assert regenerate().outcome == "done"
    assert "Some of them." in listed.read_text()
    assert "floating_i_ps" in listed.read_text()


def test_a_tool_keeps_its_name_when_the_operation_id_changes(
    project: Path, regenerate: Regenerate
) -> None:
    change_document(project, "operationId: getPet", "operationId: fetchThePet")
    assert [tool.name for tool in regenerate().plan.tools] == ["get_pet", "list_orders"]


def test_a_hand_edit_is_reported_with_a_diff_and_kept(
    project: Path, regenerate: Regenerate
) -> None:
    path = project / HANDLERS
    path.write_text(path.read_text().replace("pet_id", "my_id"))
    before = times(project)
    report = regenerate()
    assert (report.outcome, codes(report)) == ("conflict", ["hand-edit"])
    assert "+async def get_pet(ctx: Context, *, my_id: int)" in report.diffs[0].diff
    assert times(project) == before


def test_force_overwrites_a_hand_edit_and_keeps_a_copy(
    project: Path, regenerate: Regenerate
) -> None:
    path = project / HANDLERS
    original = path.read_text()
    path.write_text("# mine\n")
    assert regenerate(force=True).outcome == "done"
    assert path.read_text() == original
    assert (project / f".mcpgen/rescued/{HANDLERS}.txt").read_text() == "# mine\n"


def test_files_owned_by_the_user_are_not_changed(project: Path, regenerate: Regenerate) -> None:
    handlers = project / "src/pet_shop_mcp/handlers/__init__.py"
    handlers.write_text("mine = 1\n")
    (project / "tests/test_custom.py").unlink()
    stranger = project / "src/pet_shop_mcp/_generated/notes.txt"
    stranger.write_text("found in a generated folder\n")
    change_document(project, "Fetch one pet", "Get a pet")
    assert regenerate().outcome == "done"
    assert handlers.read_text() == "mine = 1\n"
    assert not (project / "tests/test_custom.py").exists()
    assert stranger.exists()


def test_edits_of_a_merged_file_are_merged_with_its_new_version(
    project: Path, regenerate: Regenerate
) -> None:
    readme = project / "README.md"
    readme.write_text(readme.read_text() + "\nMore of mine.\n")
    change_document(project, "Fetch one pet", "Get a pet")
    report = regenerate()
    assert (report.outcome, codes(report)) == ("done", [])
    assert readme.read_text().endswith("More of mine.\n")
    assert "| Get a pet |" in readme.read_text()


def test_text_inside_a_marked_block_is_copied_before_it_is_overwritten(
    project: Path, regenerate: Regenerate
) -> None:
    readme = project / "README.md"
    original = readme.read_text()
    mine = original.replace("| Fetch one pet |", "| My own words |")
    readme.write_text(mine)
    change_document(project, "description: Pets.", "description: Animals.")
    report = regenerate()
    [problem] = report.problems
    assert (report.outcome, problem.code) == ("done", "rescued")
    assert problem.message.startswith("a marked block of README.md contained text")
    assert readme.read_text() == original.replace("Pets.", "Animals.")
    assert (project / ".mcpgen/rescued/README.md.txt").read_text() == mine


def test_an_unresolved_conflict_blocks_the_next_run(project: Path, regenerate: Regenerate) -> None:
    pyproject = project / "pyproject.toml"
    offered = project / ".mcpgen/conflicts/pyproject.toml"
    mine = pyproject.read_text().replace('description = "Pets"', 'description = "Mine"')
    pyproject.write_text(mine)
    change_document(project, "description: Pets.", "description: Animals.")
    report = regenerate()
    assert (report.outcome, codes(report)) == ("conflict", ["conflict"])
    [problem] = report.problems
    assert "`project.description`" in problem.message
    assert pyproject.read_text() == mine
    assert 'description = "Animals"' in offered.read_text()

    before = times(project)
    assert {regenerate().outcome, check(project).outcome} == {"conflict"}
    assert times(project) == before

    offered.unlink()
    report = regenerate()
    assert (report.outcome, report.written, pyproject.read_text()) == ("done", (), mine)


def test_select_in_the_manifest_filters_the_operations(
    project: Path, regenerate: Regenerate
) -> None:
    manifest = project / "mcpgen.yaml"
    manifest.write_text(manifest.read_text() + '\nselect:\n  - exclude: "orders"\nmodels: false\n')
    report = regenerate()
    assert [tool.name for tool in report.plan.tools] == ["get_pet"]
    assert not (project / "src/pet_shop_mcp/_generated/models.py").exists()


def test_a_dry_run_reports_its_changes_and_writes_nothing(
    project: Path, regenerate: Regenerate
) -> None:
    change_document(project, "Fetch one pet", "Get a pet")
    before = times(project)
    report = regenerate(dry_run=True, diff=True)
    assert HANDLERS in report.written
    [diff] = [each.diff for each in report.diffs if each.path == HANDLERS]
    assert "+" in diff
    assert "Get a pet" in diff
    assert times(project) == before


def test_a_rejected_document_changes_nothing(project: Path, regenerate: Regenerate) -> None:
    change_document(project, "openapi: 3.1.0", "openapi: 9.9.9")
    before = times(project)
    assert regenerate().outcome == "rejected"
    assert times(project) == before


def test_an_interrupted_run_is_completed_first(
    project: Path, regenerate: Regenerate, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CutError(BaseException):
        pass

    change_document(project, "Fetch one pet", "Get a pet")
    real = Path.replace
    moves: list[object] = []

    def cut_at_the_fourth(self: Path, target: object) -> Path:
        moves.append(target)
        if len(moves) == 4:
            raise CutError
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", cut_at_the_fourth)
        with pytest.raises(CutError):
            regenerate()
    assert check(project).outcome == "interrupted"
    assert regenerate(dry_run=True).outcome == "interrupted"
    report = regenerate()
    assert (report.outcome, report.written) == ("done", ())
    assert "Get a pet" in (project / HANDLERS).read_text()


def test_a_concurrent_run_is_reported_as_busy(project: Path, regenerate: Regenerate) -> None:
    with lock_project(project):
        report = regenerate()
    assert (report.outcome, codes(report)) == ("interrupted", ["busy"])


def test_a_journal_with_a_path_outside_the_project_is_rejected(
    project: Path, regenerate: Regenerate
) -> None:
    victim = project.parent / "victim.txt"
    (project / ".mcpgen/stage").mkdir()
    (project / ".mcpgen/stage/0").write_text("from elsewhere")
    journal = '{"writes": ["../victim.txt"], "deletes": [], "before": {}}'
    (project / ".mcpgen/journal.json").write_text(journal)
    report = regenerate()
    assert (report.outcome, codes(report)) == ("interrupted", ["journal-damaged"])
    assert not victim.exists()


def test_a_lock_with_a_path_outside_the_project_is_rejected(
    project: Path, regenerate: Regenerate
) -> None:
    victim = project.parent / "victim.txt"
    victim.write_text("mine")
    digest = hashlib.sha256(b"mine").hexdigest()
    lock = json.loads((project / "mcpgen.lock").read_text())
    lock["files"]["../victim.txt"] = {"class": "generated", "sha256": digest}
    (project / "mcpgen.lock").write_text(json.dumps(lock))
    report = regenerate()
    assert (report.outcome, codes(report)) == ("usage", ["outside-target"])
    assert victim.read_text() == "mine"


def test_a_write_that_fails_midway_is_reported_as_interrupted(
    project: Path, regenerate: Regenerate, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_document(project, "Fetch one pet", "Get a pet")
    real = Path.replace
    moves: list[Path] = []

    def refuse_the_second(self: Path, target: Path) -> Path:
        if target.is_relative_to(project):
            moves.append(target)
        if len(moves) == 2:
            raise PermissionError(13, "Permission denied", str(target))
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse_the_second)
        report = regenerate()
    assert (report.outcome, codes(report)) == ("interrupted", ["interrupted"])
    assert check(project).outcome == "interrupted"
    assert regenerate().outcome == "done"
    assert check(project).outcome == "done"


def test_a_folder_that_is_not_a_project_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    report = generate(tmp_path, GenerateOptions(), silent)
    assert (report.outcome, codes(report)) == ("usage", ["not-a-project"])
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("server: {nam: x}\nsources: [{document: openapi.yaml}]", "did you mean `name`"),
        ("server: {name: Bad Name}\nsources: [{document: openapi.yaml}]", "lower-case words"),
        ("server: {name: a}", "add `sources`"),
    ],
)
def test_an_invalid_manifest_is_rejected(
    project: Path, regenerate: Regenerate, manifest: str, said: str
) -> None:
    (project / "mcpgen.yaml").write_text(manifest)
    report = regenerate()
    assert report.outcome == "rejected"
    assert any(said in problem.help for problem in report.problems)


@pytest.mark.parametrize("content", [None, "name: [", ""])
def test_missing_answers_that_were_not_the_defaults_are_an_error(
    project: Path, source: Path, cache: Path, content: str | None
) -> None:
    answered = {"python_version": "3.12", "github_workflow": "yes"}
    target = project.with_name("answered")
    options = Options(external_validator=False, cache=cache, answers=answered)
    assert new(str(source), target, options, silent).outcome == "done"
    (target / ".copier-answers.yml").unlink()
    if content is not None:
        (target / ".copier-answers.yml").write_text(content)
    before = times(target)

    report = generate(target, GenerateOptions(cache=cache, force=True), silent)

    assert (report.outcome, codes(report)) == ("rejected", ["answers-lost"])
    assert times(target) == before


def test_missing_answers_that_were_the_defaults_are_restored(
    project: Path, regenerate: Regenerate
) -> None:
    (project / ".copier-answers.yml").unlink()
    report = regenerate()
    assert (report.outcome, report.written) == ("done", (".copier-answers.yml",))


def test_a_merge_conflict_in_the_answers_is_reported_and_kept(
    project: Path, regenerate: Regenerate
) -> None:
    answers = project / ".copier-answers.yml"
    answers.write_text(f"<<<<<<< ours\n{answers.read_text()}=======\n>>>>>>> theirs\n")
    before = answers.read_bytes()
    for report in (regenerate(force=True), check(project)):
        assert report.outcome == "conflict"
        assert "conflict" in codes(report)
    assert answers.read_bytes() == before


def test_a_diff_shows_the_changes_and_writes_nothing(
    project: Path, regenerate: Callable[..., Report]
) -> None:
    document = project / "openapi.yaml"
    document.write_text(document.read_text().replace("List orders", "List all orders"))
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    report = regenerate(diff=True)
    assert report.outcome == "done"
    assert report.written
    assert any("List all orders" in change.diff for change in report.diffs)
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
