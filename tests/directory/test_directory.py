"""Tests of `make directory` and `make histories` on a directory of one small API."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

from mcpgen.factory.test.run import run_suite
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options
from tests.corpus.in_children import in_children
from tests.corpus.profile import departures
from tests.directory.__main__ import describe_extent
from tests.directory.histories import Step, Work, find_changed_names, follow
from tests.directory.history_table import make_table as make_history_table
from tests.directory.judges import sample_documents
from tests.directory.planning import make_table as make_planning_table
from tests.directory.planning import plan_document
from tests.directory.source import (
    choose_newest,
    count_operations,
    group_versions,
    list_documents,
    make_version_key,
    read_document,
)
from tests.directory.suite import run_generated_tests
from tests.directory.table import make_table
from tests.directory.verdict import Directory, Verdict, examine
from tests.support.paths import EXAMPLES

FAULTS = Path(__file__).with_name("faults.yaml")
PET = """\
openapi: 3.0.0
info: {title: Pets, version: VERSION}
servers: [{url: https://pets.example}]
paths:
  /pets:
    get:
      operationId: listPets
      parameters: [{name: small, in: query, schema: {type: boolean}}]
      responses: {"200": {description: Pets., content: {application/json: {schema: {type: array, items: {type: string}}}}}}
    post:
      operationId: addPet
      responses: {"201": {description: Added.}}
  /pets/{id}:
    get:
      operationId: getPet
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: A pet.}}
    delete:
      operationId: deletePet
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"204": {description: Removed.}}
"""  # noqa: E501  (a response is one line, so that the rest can be read)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a directory with two versions of one API; the second has one more argument."""
    documents = {
        "1.9.0": PET.replace("VERSION", '"1.9.0"'),
        "1.10.0": PET.replace("VERSION", '"1.10.0"').replace(
            "[{name: small,", "[{name: old, in: query, schema: {type: boolean}}, {name: small,"
        ),
    }
    for version, text in documents.items():
        path = tmp_path / "repository" / "APIs" / "pets.example" / version / "openapi.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    folder = tmp_path / "repository"
    identity = ("-c", "user.name=Tests", "-c", "user.email=tests@localhost")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "Two versions")):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.9.0", "1.10.0"),
        ("v1beta1", "v1"),
        ("v1", "v2alpha"),
        ("2019-06-01-preview", "2019-06-01"),
        ("unversioned", "v1.10.0"),
        ("v1alpha2", "v1beta1"),
    ],
)
def test_versions_are_sorted_by_their_numbers(older: str, newer: str) -> None:
    assert make_version_key(older) < make_version_key(newer)


def test_operations_are_counted_without_parsing(repository: Path) -> None:
    newest, *_ = choose_newest(list_documents(repository, "HEAD"))
    assert newest.version == "1.10.0"
    text = read_document(repository, "HEAD", newest)
    assert count_operations(text) == 4
    assert count_operations(b"openapi: 3.0.0\ncomponents:\n  x:\n    get:\n") == 0


@pytest.mark.slow
def test_a_document_becomes_a_server_that_passes_its_tests(repository: Path) -> None:
    [document] = choose_newest(list_documents(repository, "HEAD"))
    work = (Directory(repository, "HEAD"), document)
    # In a child, since the limit of CPU time stays.
    [(_, verdict)] = in_children(examine, [work], at_once=1, seconds=600)
    assert isinstance(verdict, Verdict)
    assert (verdict.outcome, verdict.operations, verdict.served) == ("served", 4, 4)
    assert (verdict.listed, verdict.failed, verdict.faults) == (4, 0, [])
    assert verdict.passed > 20


def test_generated_tests_are_counted_without_pytest(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLES / "petstore-mcp", project)
    tests = project / "tests" / "generated"
    counts = run_generated_tests(project)
    assert counts is not None
    assert counts[0] > 20
    module = "import pytest\n\n\n@pytest.mark.parametrize('case', [1, 2])\ndef test_one(case):\n"
    (tests / "test_further.py").write_text(
        f"{module}    case == 1 or pytest.skip('no')\n", encoding="utf-8"
    )
    assert run_generated_tests(project) == (counts[0] + 1, counts[1] + 1)
    (tests / "test_further.py").write_text(f"{module}    assert case == 1\n", encoding="utf-8")
    assert run_generated_tests(project) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    "projects games channels addons languages aliases pages streams committees nodes disks rules"
    " items".split(),
)
def test_what_documents_of_the_directory_have(name: str, tmp_path: Path) -> None:
    document = yaml.safe_load(FAULTS.read_text("utf-8"))
    document["paths"] = {
        path: item for path, item in document["paths"].items() if path.split("/")[1] == name
    }
    source = tmp_path / "openapi.json"
    source.write_text(json.dumps(document), encoding="utf-8")
    report = new(
        str(source), tmp_path / "server", Options(cache=tmp_path / "cache"), lambda _: None
    )
    assert report.outcome == "done"
    counts = run_generated_tests(tmp_path / "server")
    assert counts is not None, run_suite(tmp_path / "server").output
    listed = (tmp_path / "server/src/faults_mcp/_generated/listing.json").read_bytes()
    assert [text for tool in json.loads(listed) for text in departures(tool)] == []


@pytest.mark.slow
def test_an_owner_keeps_all_edits_through_the_versions(repository: Path) -> None:
    [versions] = group_versions(list_documents(repository, "HEAD")).values()
    history = follow(Work(Directory(repository, "HEAD"), versions))
    assert [edit.split()[0] for edit in history.edits] == [
        "fixed",
        "renamed",
        "workflow",
        "override",
    ]
    [step] = history.steps
    assert (step.faults, step.decisions, step.level) == ([], [], "minor")
    assert step.is_tested
    assert step.passed > 20


def test_a_published_name_changes_only_for_an_operation_that_is_the_same() -> None:
    before = {"GET /pets/{id}": "get_pet"}
    assert find_changed_names(before, {"GET /pets/{id}": "get_pet"}) == []
    assert find_changed_names(before, {"GET /dogs/{id}": "get_dog"}) == []
    for key in ("GET /pets/{id}", "GET /pets/{petId}"):
        assert len(find_changed_names(before, {key: "read_pet"})) == 1
    alike = {"GET /{petId}": "get_pet", "GET /{shopId}": "get_shop"}
    renamed = {"GET /{dogId}": "get_dog", "GET /{storeId}": "get_store"}
    assert find_changed_names(alike, renamed) == []


def test_only_the_first_documents_of_the_random_order_are_a_sample() -> None:
    assert describe_extent("abc", {"a", "b", "c"}) == "3 of 3 documents"
    assert describe_extent("abc", {"a", "b"}) == "2 of 3 documents, a random sample"
    assert describe_extent("abc", {"a", "c"}) == "2 of 3 documents, not a random sample"


def test_the_table_misses_its_goals_where_a_suite_fails() -> None:
    result = {
        "path": "a",
        "outcome": "served",
        "operations": 10,
        "served": 10,
        "skipped": {},
        "passed": 5,
        "failed": 0,
        "untested": 0,
        "faults": [],
        "cpu": {"import": 0.4, "generate": 1.0, "test": 2.0},
        "megabytes": {"generate": 50},
    }
    assert make_table([result])[1]
    text, is_reached = make_table([{**result, "failed": 1, "faults": ["a test"]}])
    assert not is_reached
    assert "| suites green | 0 (0.00%) | 99.5% | **missed** |" in text
    assert "a: served: a test" in text
    assert not make_table([{**result, "served": 9}])[1]
    assert not make_table([{**result, "megabytes": {"generate": 700}}])[1]
    assert not make_table([result, {**result, "outcome": "crashed"}])[1]


def test_documents_are_judged_until_they_have_enough_operations(
    repository: Path, tmp_path: Path
) -> None:
    documents = list_documents(repository, "HEAD")
    directory = Directory(repository, "HEAD")
    judged = [*sample_documents(directory, documents, 5, tmp_path / "two")]
    assert [each.name for each in judged] == ["pets.example 1.9.0", "pets.example 1.10.0"]
    assert all(each.path.is_file() for each in judged)
    assert len([*sample_documents(directory, documents, 4, tmp_path / "one")]) == 1


def test_histories_are_counted_by_step_and_decision() -> None:
    step = asdict(Step("2", "major", decisions=["ack of the override"], is_tested=True, passed=7))
    history = {"api": "a", "outcome": "done", "edits": ["renamed GET /a"], "faults": []}
    faulty = {**step, "level": "minor", "faults": ["lost: a"], "is_tested": False, "passed": 0}
    table = make_history_table(
        [{**history, "steps": [step, faulty]}, {**history, "outcome": "absent", "steps": []}]
    )
    for row in (
        "| APIs absent in the copy | 1 |",
        "| APIs with a fault | 1 |",
        "| steps from one version to the next | 2 |",
        "| steps whose generated tests were run | 1 |",
        "| generated tests passed | 7 |",
        "| edits: renamed | 1 |",
        "| steps graded major | 1 |",
        "| decisions: ack of the | 2 |",
        "a: lost: a",
    ):
        assert row in table.splitlines()


def test_operations_are_planned_without_a_server(repository: Path) -> None:
    [document] = choose_newest(list_documents(repository, "HEAD"))
    planned = plan_document((Directory(repository, "HEAD"), document))
    assert (planned.outcome, planned.operations, planned.served) == ("planned", 4, 4)
    refused = {**asdict(planned), "path": "b", "outcome": "refused", "reasons": ["no: reason"]}
    text = make_planning_table([{**asdict(planned), "path": "a"}, refused])
    assert "| documents refused | 1 |" in text
    assert "b: refused, skipped {}\n    no: reason" in text
