"""Tests of the cache that skips `generate`: it applies only if nothing could differ."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from mcpgen.diagnostics import Diagnostic, Problems, Severity
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.generate import generate, note_current
from mcpgen.pipeline.options import GenerateOptions, Outcome, Report
from tests.support.projects import silent


class RanError(Exception):
    """Raised if the stages run."""


def forbid_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(*_: object) -> None:
        raise RanError

    # The attribute of the package is the function, so the module is imported by its name.
    monkeypatch.setattr(import_module("mcpgen.pipeline.commands.generate"), "_build", make)


@pytest.fixture
def stages_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_stages(monkeypatch)


def run(project: Path, cache: Path, **more: bool) -> Report:
    options = GenerateOptions(external_validator=False, cache=cache, **more)
    return generate(project, options, silent)


@pytest.mark.usefixtures("stages_raise")
def test_nothing_is_generated_if_nothing_changed(project: Path, cache: Path) -> None:
    report = run(project, cache)
    assert (report.outcome, report.written, len(report.problems)) == ("done", (), 0)


def test_a_run_with_an_empty_cache_has_the_same_result(project: Path, tmp_path: Path) -> None:
    report = run(project, tmp_path / "fresh")
    assert (report.outcome, report.written, report.deleted) == ("done", (), ())
    assert report.plan is not None


@pytest.mark.usefixtures("stages_raise")
@pytest.mark.parametrize("path", ["mcpgen.yaml", "openapi.yaml", ".copier-answers.yml"])
def test_a_changed_file_invalidates_the_cache(project: Path, cache: Path, path: str) -> None:
    with (project / path).open("a") as file:
        file.write("\n# changed\n")
    with pytest.raises(RanError):
        run(project, cache)


@pytest.mark.usefixtures("stages_raise")
def test_changed_mcpgen_sources_invalidate_the_cache(
    project: Path, cache: Path, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("other_code")
    with pytest.raises(RanError):
        run(project, cache)


@pytest.mark.usefixtures("stages_raise")
def test_edits_of_user_files_do_not_invalidate_the_cache(project: Path, cache: Path) -> None:
    (project / "README.md").write_text("# Mine\n")
    (project / "Dockerfile").unlink()
    assert run(project, cache).outcome == "done"


@pytest.mark.usefixtures("stages_raise")
def test_strict_bypasses_the_cache(project: Path, cache: Path) -> None:
    with pytest.raises(RanError):
        run(project, cache, strict=True)


def test_an_edited_generated_file_is_a_conflict(project: Path, cache: Path) -> None:
    (project / "src/pet_shop_mcp/_generated/contract.json").write_text("{}")
    assert run(project, cache).outcome == "conflict"


def lose_a_body(project: Path) -> None:
    """Add a reference to an unknown schema, so that every run warns."""
    lost = "{type: object, properties: {x: {$ref: '#/components/schemas/Lost'}}}"
    text = (project / "openapi.yaml").read_text()
    body = f"      requestBody: {{content: {{application/json: {{schema: {lost}}}}}}}\n"
    text = text.replace("      operationId: listOrders\n", f"      operationId: listOrders\n{body}")
    (project / "openapi.yaml").write_text(text)


def test_skipped_operations_are_reported_by_every_run(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_a_body(project)
    changing = run(project, tmp_path / "cache")
    assert changing.written
    second = [*run(project, tmp_path / "cache").problems]
    assert "unresolved-ref" in {problem.code for problem in second}

    forbid_stages(monkeypatch)

    assert [*run(project, tmp_path / "cache").problems] == second


def test_warnings_of_a_run_that_changed_files_are_not_repeated(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_a_body(project)
    assert run(project, tmp_path / "cache").written

    forbid_stages(monkeypatch)

    with pytest.raises(RanError):
        run(project, tmp_path / "cache")


@pytest.mark.parametrize("severity", [Severity.NOTE, Severity.WARNING])
def test_what_a_slow_validator_caused_is_not_repeated(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, severity: Severity
) -> None:
    problems = Problems()
    problems.warning("unresolved-ref", "unknown reference")
    problems.add(Diagnostic("external-validator", severity, "no result"))
    note_current(Report(problems, Outcome.DONE, project), tmp_path / "cache")

    forbid_stages(monkeypatch)

    if severity is Severity.WARNING:  # a finding of the validator
        assert len(run(project, tmp_path / "cache").problems) == 2
    else:
        with pytest.raises(RanError):
            run(project, tmp_path / "cache")


def test_a_damaged_cache_is_ignored(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_a_body(project)
    for _ in range(2):
        assert run(project, tmp_path / "cache").outcome == "done"
    (entry,) = (tmp_path / "cache/current").iterdir()
    entry.write_bytes(b'[{"code": 1')

    forbid_stages(monkeypatch)

    with pytest.raises(RanError):
        run(project, tmp_path / "cache")


def test_warnings_contain_the_folder_as_the_user_spelled_it(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_a_body(project)
    monkeypatch.chdir(project)
    for folder in (project, Path()):
        for _ in range(3):
            problems = [*run(folder, tmp_path / "cache").problems]
            assert {problem.at.file for problem in problems if problem.at} == {
                str(folder / "openapi.yaml")
            }


def test_a_missing_resource_file_is_reported(project: Path, cache: Path) -> None:
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
