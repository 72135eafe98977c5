"""Tests of `new`: it creates a whole project or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mcpgen.emit.lockfile import parse_lock
from mcpgen.openapi.validate import external as judging
from mcpgen.pipeline import build
from mcpgen.pipeline.commands import new as new_module
from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import GenerateOptions, Options, Report, StageNote
from mcpgen.pipeline.server_name import choose_server_name
from tests.support.projects import DOCUMENT, silent


def codes(report: Report) -> list[str]:
    return [problem.code for problem in report.problems if problem.severity.value == "error"]


def test_new_creates_a_project_and_its_lock(project: Path) -> None:
    lock = parse_lock((project / "mcpgen.lock").read_bytes())
    assert lock.operations == {
        "openapi.yaml GET /orders": "list_orders",
        "openapi.yaml GET /pets/{petId}": "get_pet",
    }
    assert [each.source for each in lock.documents] == ["petshop.yaml"]
    on_disk = {
        path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()
    }
    assert on_disk == {*lock.files, "mcpgen.lock"}


def test_the_document_is_vendored_byte_for_byte(project: Path, source: Path) -> None:
    assert (project / "openapi.yaml").read_bytes() == source.read_bytes()


def test_a_document_in_json_is_vendored_as_json(tmp_path: Path, options: Options) -> None:
    import yaml

    source = tmp_path / "no-suffix"
    source.write_text(json.dumps(yaml.safe_load(DOCUMENT)))
    new(str(source), tmp_path / "p", options, silent)
    assert (tmp_path / "p/openapi.json").read_bytes() == source.read_bytes()


def test_a_document_of_many_files_is_vendored_with_all_of_them(
    tmp_path: Path, options: Options
) -> None:
    source = tmp_path / "docs/root.yaml"
    (source.parent / "schemas").mkdir(parents=True)
    source.write_text(DOCUMENT.replace("#/components/schemas/Pet", "schemas/pet.yaml"))
    (source.parent / "schemas/pet.yaml").write_text("type: object\nproperties: {id: {}}\n")
    target = tmp_path / "p"
    report = new(str(source), target, options, silent)
    assert codes(report) == []
    assert (target / "openapi/schemas/pet.yaml").is_file()
    assert 'document: "openapi/root.yaml"' in (target / "mcpgen.yaml").read_text()
    again = generate(target, GenerateOptions(external_validator=False, cache=options.cache), silent)
    assert (again.outcome, again.written) == ("done", ())


def test_the_default_folder_is_named_after_the_api(
    source: Path, tmp_path: Path, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = new(str(source), None, options, silent)
    assert report.target == Path("pet-shop-mcp")
    assert (tmp_path / "pet-shop-mcp/src/pet_shop_mcp/__init__.py").is_file()


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("GitHub v3 REST API", "github"),
        ("Swagger Petstore - OpenAPI 3.0", "petstore"),
        ("Twilio - Lookups", "twilio-lookups"),
        ("The REST API", "the-rest-api"),
        ("2captcha", "api-2captcha"),
        ("Müller & Söhne", "muller-sohne"),
        ("", "api"),
        ("!!!", "api"),
        ("a very " * 20, "very-very-very-very-very-very"),
    ],
)
def test_choose_server_name_derives_a_name_from_the_title(title: str, name: str) -> None:
    assert choose_server_name(title) == name


def test_the_output_does_not_depend_on_the_target_folder(
    project: Path, source: Path, tmp_path: Path, options: Options
) -> None:
    elsewhere = tmp_path / "some/other place/ä"
    new(str(source), elsewhere, options, silent)
    assert tree(elsewhere) == tree(project)


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_a_folder_that_contains_files_is_rejected(
    source: Path, tmp_path: Path, options: Options
) -> None:
    target = tmp_path / "busy"
    target.mkdir()
    (target / "notes.txt").write_text("mine")
    report = new(str(source), target, options, silent)
    assert (report.outcome, codes(report)) == ("usage", ["target-not-empty"])
    assert tree(target) == {"notes.txt": b"mine"}


def test_a_new_git_repository_counts_as_an_empty_folder(
    source: Path, tmp_path: Path, options: Options
) -> None:
    target = tmp_path / "repository"
    (target / ".git").mkdir(parents=True)
    assert new(str(source), target, options, silent).outcome == "done"


def test_remains_of_a_killed_run_count_as_an_empty_folder(
    source: Path, tmp_path: Path, options: Options
) -> None:
    target = tmp_path / "killed"
    (target / ".mcpgen/stage").mkdir(parents=True)
    (target / ".mcpgen/stage/0").write_text("half a fi")
    (target / ".mcpgen/running").write_text("4711")
    assert new(str(source), target, options, silent).outcome == "done"
    assert not (target / ".mcpgen/stage").exists()
    assert not (target / ".mcpgen/running").exists()


def test_a_folder_that_is_filled_during_the_run_is_rejected(
    source: Path, tmp_path: Path, options: Options
) -> None:
    target = tmp_path / "filled"

    def fill(step: str) -> None:
        if step == "write":
            target.mkdir()
            (target / "README.md").write_text("of another run")

    report = new(str(source), target, options, fill)
    assert (report.outcome, codes(report)) == ("usage", ["target-not-empty"])
    assert tree(target) == {"README.md": b"of another run"}


def test_a_file_at_the_target_path_is_reported(
    source: Path, tmp_path: Path, options: Options
) -> None:
    (tmp_path / "file").write_text("x")
    report = new(str(source), tmp_path / "file/server", options, silent)
    assert (report.outcome, codes(report)) == ("usage", ["target-unwritable"])


def test_a_rejected_document_creates_no_folder(tmp_path: Path, options: Options) -> None:
    source = tmp_path / "bad.yaml"
    source.write_text("openapi: 3.1.0\n  oops")
    report = new(str(source), tmp_path / "server", options, silent)
    assert report.outcome == "rejected"
    assert not (tmp_path / "server").exists()


def test_a_full_disk_leaves_no_files(
    source: Path, tmp_path: Path, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mcpgen.emit.write.os.fsync", no_space)
    report = new(str(source), tmp_path / "server", options, silent)
    assert (report.outcome, codes(report)) == ("findings", ["no-space"])
    assert not (tmp_path / "server").exists()


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"name": "Not A Name"}, "server-name"),
        ({"include": ("nothing-like-it",)}, "selector-without-match"),
        ({"exclude": ("*",)}, "no-tools"),
        ({"answers": {"namespce": "x"}}, "answer"),
    ],
)
def test_invalid_options_are_rejected(
    source: Path, tmp_path: Path, options: Options, changed: dict[str, object], code: str
) -> None:
    report = new(str(source), tmp_path / "s", replace(options, **changed), silent)
    assert (report.outcome, codes(report)) == ("rejected", [code])
    assert not (tmp_path / "s").exists()


def test_a_skipped_operation_is_an_error_only_in_strict_mode(
    tmp_path: Path, options: Options
) -> None:
    source = tmp_path / "half.yaml"
    gone = 'parameters: [{$ref: "#/components/parameters/Gone"}]\n      responses: {"204"'
    source.write_text(DOCUMENT.replace('responses: {"204"', gone))
    lenient = new(str(source), tmp_path / "a", options, silent)
    assert (lenient.outcome, len(lenient.plan.skipped)) == ("done", 1)
    strict = new(str(source), tmp_path / "b", replace(options, strict=True), silent)
    assert (strict.outcome, "left-out" in codes(strict)) == ("rejected", True)


def test_failing_models_stop_the_run_and_suggest_no_models(
    source: Path, tmp_path: Path, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpgen.emit.models.models._CHILD", tmp_path / "gone.py")
    fresh = replace(options, cache=None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "gone.py").write_text("raise SystemExit(1)")
    report = new(str(source), tmp_path / "s", fresh, silent)
    assert (report.outcome, codes(report)) == ("rejected", ["models-failed"])
    [problem] = report.problems
    assert "--no-models" in problem.help


WAITS_FOR_THE_PLAN = """
import time
from pathlib import Path

while not Path(__file__).with_name("planned").exists():
    time.sleep(0.01)
print('{"findings": [{"tokens": ["info"], "message": "no contact"}]}')
"""


def test_the_validator_runs_during_planning_and_reports_before_writing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            result = function(*arguments)
            order.append(name)
            (tmp_path / name).touch()
            return result

        return run

    program = tmp_path / "program.py"
    program.write_text(WAITS_FOR_THE_PLAN)
    monkeypatch.setattr(judging, "_PROGRAM", program)
    monkeypatch.setattr(judging, "_pending", [])
    monkeypatch.setattr(judging, "_receive", noting("answered", judging._receive))
    monkeypatch.setattr(build, "plan_tools", noting("planned", build.plan_tools))
    monkeypatch.setattr(new_module, "commit", noting("written", new_module.commit))
    options = Options(external_validator=True, cache=tmp_path / "cache")

    report = new(str(source), tmp_path / "out", options, silent)

    assert order == ["planned", "answered", "written"]
    assert [problem.code for problem in report.problems] == ["external-validator"]


def test_each_stage_reports_what_it_found(source: Path, tmp_path: Path, options: Options) -> None:
    heard: list[str] = []

    new(str(source), tmp_path / "p", replace(options, models=True), heard.append)

    stages = [text for text in heard if not isinstance(text, StageNote)]
    assert stages == [
        f"load {source}",
        *("resolve", "validate", "lower", "plan", "render", "models", "format", "tests", "write"),
    ]
    assert [text for text in heard[:7] if isinstance(text, StageNote)] == [
        f"OpenAPI 3.1, {len(DOCUMENT)} bytes",
        "1 file",
        "2 operations, 2 tags",
    ]
    assert "0 of 2 operations" in heard
    assert "2 tools" in heard


@pytest.mark.parametrize(("number", "has_handles"), [(5, False), (60, True)])
def test_a_new_server_stores_long_results_where_the_tool_for_them_costs_little(
    tmp_path: Path, options: Options, number: int, has_handles: bool
) -> None:
    content = {"application/json": {"schema": {"type": "object"}}}
    operation = {"responses": {"200": {"description": "ok", "content": content}}}
    paths = {f"/things{each}": {"get": operation} for each in range(number)}
    document = {"openapi": "3.0.3", "info": {"title": "T", "version": "1"}, "paths": paths}
    document["servers"] = [{"url": "https://things.example"}]
    source = tmp_path / "openapi.json"
    source.write_text(json.dumps(document))
    new(str(source), tmp_path / "p", options, silent)

    manifest = (tmp_path / "p/mcpgen.yaml").read_text()
    assert ("\nresults:\n  handles: true\n" in manifest) == has_handles
    report = generate(tmp_path / "p", GenerateOptions(), silent)
    assert not report.written
    listing = (tmp_path / "p/src/t_mcp/_generated/listing.json").read_text()
    assert ('"read_result"' in listing) == has_handles
