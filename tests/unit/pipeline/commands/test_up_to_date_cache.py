"""`generate` with nothing to do: told from a note, and never when anything could differ."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from mcpgen.pipeline import user_cache
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.options import GenerateOptions, Report
from tests.support.projects import silent


class RanError(Exception):
    """The stages were run."""


@pytest.fixture
def stages_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(*_: object) -> None:
        raise RanError

    # By name the package has the function, not the module.
    monkeypatch.setattr(import_module("mcpgen.pipeline.commands.generate"), "_build", make)


def run(project: Path, cache: Path, **more: bool) -> Report:
    options = GenerateOptions(external_validator=False, cache=cache, **more)
    return generate(project, options, silent)


@pytest.mark.usefixtures("stages_raise")
def test_nothing_is_made_again_where_nothing_changed(project: Path, cache: Path) -> None:
    report = run(project, cache)
    assert (report.outcome, report.written, len(report.problems)) == ("done", (), 0)


def test_a_run_that_knows_nothing_comes_to_the_same(project: Path, tmp_path: Path) -> None:
    report = run(project, tmp_path / "fresh")
    assert (report.outcome, report.written, report.deleted) == ("done", (), ())
    assert report.plan is not None


@pytest.mark.usefixtures("stages_raise")
@pytest.mark.parametrize("path", ["mcpgen.yaml", "openapi.yaml", ".copier-answers.yml"])
def test_a_changed_file_is_looked_into(project: Path, cache: Path, path: str) -> None:
    with (project / path).open("a") as file:
        file.write("\n# changed\n")
    with pytest.raises(RanError):
        run(project, cache)


@pytest.mark.usefixtures("stages_raise")
def test_other_code_of_mcpgen_is_looked_into(
    project: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = tmp_path / "changed.py"
    changed.write_text("# other code\n")
    sources = user_cache._sources()
    monkeypatch.setattr(user_cache, "_sources", lambda: [*sources, changed])
    with pytest.raises(RanError):
        run(project, cache)


@pytest.mark.usefixtures("stages_raise")
def test_what_the_user_may_edit_needs_no_look(project: Path, cache: Path) -> None:
    (project / "README.md").write_text("# Mine\n")
    (project / "Dockerfile").unlink()
    assert run(project, cache).outcome == "done"


@pytest.mark.usefixtures("stages_raise")
def test_what_was_asked_for_specially_is_done(project: Path, cache: Path) -> None:
    with pytest.raises(RanError):
        run(project, cache, strict=True)


def test_an_edited_file_is_refused_as_ever(project: Path, cache: Path) -> None:
    (project / "src/pet_shop_mcp/_generated/contract.json").write_text("{}")
    assert run(project, cache).outcome == "conflict"


def test_what_is_left_out_is_told_by_every_run(project: Path, cache: Path) -> None:
    lost = "{type: object, properties: {x: {$ref: '#/components/schemas/Lost'}}}"
    text = (project / "openapi.yaml").read_text()
    body = f"      requestBody: {{content: {{application/json: {{schema: {lost}}}}}}}\n"
    text = text.replace("      operationId: listOrders\n", f"      operationId: listOrders\n{body}")
    (project / "openapi.yaml").write_text(text)
    told = [[problem.code for problem in run(project, cache).problems] for _ in range(3)]
    assert told == [["unresolved-ref"]] * 3


def test_a_file_of_a_resource_that_goes_is_missed_at_once(project: Path, cache: Path) -> None:
    guide = project / "src/pet_shop_mcp/guide.md"
    guide.write_text("Read this.")
    resource = '{uri: "doc://guide", file: src/pet_shop_mcp/guide.md, title: Guide, description: G}'
    with (project / "mcpgen.yaml").open("a") as manifest:
        manifest.write(f"resources: {{guide: {resource}}}\n")
    assert run(project, cache).outcome == "done"
    assert check(project).outcome == "done"

    guide.unlink()

    report = check(project)
    assert (report.outcome, report.stale) == ("findings", ("src/pet_shop_mcp/guide.md",))
    assert run(project, cache).outcome == "rejected"
