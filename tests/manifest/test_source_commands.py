"""Tests of a second document in a package: added, pulled, renamed and removed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.diagnostics import Problems
from mcpgen.emit.manifest_sources import add_source
from mcpgen.pipeline.build import plan_project
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.project.project_folder import find_lock
from mcpgen.pipeline.project.read_inputs import read_inputs, read_intent
from tests.support.generated_files import tool_contracts

IBAN: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "IBAN", "version": "1"},
    "servers": [{"url": "https://iban.example/v1"}],
    "components": {
        "securitySchemes": {"ApiKey": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    },
    "security": [{"ApiKey": []}],
    "paths": {
        "/validate/{iban}": {
            "get": {
                "operationId": "validateIban",
                "tags": ["rail trips"],
                "parameters": [
                    {"name": "iban", "in": "path", "required": True, "schema": {"type": "string"}}
                ],
                "responses": {"204": {"description": "It is valid."}},
            }
        },
        "/trips": {
            "get": {
                "operationId": "listTrips",
                "tags": ["banks"],
                "responses": {"204": {"description": "Business trips of the bank."}},
            }
        },
    },
}
RAIL = """\
openapi: 3.1.0
info: {title: Rail, version: "1"}
servers: [{url: "https://rail.example/v1"}]
components: {securitySchemes: {ApiKey: {type: apiKey, in: header, name: X-Rail}}}
security: [{ApiKey: []}]
paths:
  /trips:
    get:
      operationId: listTrips
      tags: [trips]
      responses: {"204": {description: Trips.}}
  /stations:
    get:
      operationId: listStations
      tags: [stations]
      responses: {"204": {description: Stations.}}
"""
COMMENTED = """\
# What this server exposes.
server: {name: iban}

sources:
  # The bank's own description.
  - document: 'openapi.json'   # vendored

# Nothing is selected.
select: []
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a package of the first document with an override, next to both documents."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / ".git").mkdir()  # holds the package and the documents together
    (folder / "iban.json").write_text(json.dumps(IBAN))
    (folder / "rail.yaml").write_text(RAIL)
    target = str(folder / "iban-mcp")
    assert run(["new", str(folder / "iban.json"), target, "--defaults", "-q"]) == 0
    assert run(["override", "GET /trips", target, "-q"]) == 0
    assert run(["generate", target, "-q"]) == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    def read() -> str:
        captured = capsys.readouterr()
        return captured.out + captured.err

    return read


def tree(project: Path) -> dict[str, bytes]:
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in project.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def locked(project: Path) -> dict[str, Any]:
    lock: dict[str, Any] = json.loads((project / "mcpgen.lock").read_bytes())
    return lock


def tools(project: Path) -> dict[str, str]:
    return {key: entry["tool"] for key, entry in locked(project)["operations"].items()}


def settings(project: Path) -> list[str]:
    contract = json.loads((project / "src/iban_mcp/_generated/contract.json").read_bytes())
    return [entry["name"] for entry in contract["environment"]]


def modules(project: Path) -> set[str]:
    return {path.stem for path in (project / "src/iban_mcp/_generated/tools").glob("*.py")}


def call_types(project: Path) -> set[str]:
    problems = Problems()
    found = find_lock(project, problems)
    assert found is not None
    manifest = read_intent(project, problems)
    inputs = read_inputs(project, manifest, BuildOptions(external_validator=False), lock=found.lock)
    plan = plan_project(inputs, problems, lambda _: None).plan
    return {str(tool.call_type) for tool in plan.tools}


def list_by_hand(project: Path, *entries: str) -> None:
    manifest = project / "mcpgen.yaml"
    head = manifest.read_text().partition("sources:")[0]
    lines = "".join(f"  - {{{entry}}}\n" for entry in entries)
    manifest.write_text(f"{head}sources:\n{lines}")


BOTH_NAMED = ("document: openapi.json, name: iban", "document: rail.yaml, name: rail")


@pytest.mark.parametrize(
    "entries",
    [BOTH_NAMED, BOTH_NAMED[::-1], ("document: openapi.json", BOTH_NAMED[1])],
    ids=["both-named", "new-one-first", "first-unnamed"],
)
def test_a_manually_listed_second_document_renames_nothing(
    folder: Path, entries: tuple[str, ...], said: Callable[[], str]
) -> None:
    project = folder / "iban-mcp"
    before = tools(project), settings(project), modules(project), call_types(project)
    shutil.copy(folder / "rail.yaml", project)
    list_by_hand(project, *entries)
    assert run(["generate", "iban-mcp"]) == 0
    output = said()
    assert "removed" not in output  # of tools and of overridden operations
    assert before[0].items() <= tools(project).items()
    assert set(before[1]) <= set(settings(project))
    assert before[2] <= modules(project)
    assert before[3] <= call_types(project)
    assert locked(project)["documents"]["rail.yaml"]["source"] == ""


def test_adding_and_removing_a_source_restores_the_project(
    folder: Path, said: Callable[[], str]
) -> None:
    project = folder / "iban-mcp"
    (project / "mcpgen.yaml").write_text(COMMENTED)
    assert run(["generate", "iban-mcp", "-q"]) == 0
    before = tree(project)

    assert run(["source", "add", "rail.yaml", "iban-mcp"]) == 0

    assert (project / "rail.yaml").read_text() == RAIL
    assert (project / "mcpgen.yaml").read_text() == COMMENTED.replace(
        "# vendored\n",
        "# vendored\n  - document: 'rail.yaml'\n    name: 'rail'\n    prefix: 'rail'\n",
    )
    assert locked(project)["documents"]["rail.yaml"]["source"] == "rail.yaml"
    assert tools(project)["rail.yaml GET /trips"] == "rail_list_trips"
    assert {"IBAN_RAIL_BASE_URL", "IBAN_RAIL_API_KEY"} <= set(settings(project))
    assert run(["check", "iban-mcp"]) == 0
    assert run(["pull", "iban-mcp", "--yes"]) == 0
    assert "IBAN_RAIL_BASE_URL  Base URL of the API `rail`" in said()

    assert run(["source", "remove", "rail", "iban-mcp"]) == 0
    (project / ".mcpgen/evidence/source.json").unlink()  # of the pull
    assert tree(project) == before


def test_a_dry_run_of_both_commands_writes_nothing(folder: Path, said: Callable[[], str]) -> None:
    project = folder / "iban-mcp"
    before = tree(project)
    assert run(["source", "add", "rail.yaml", "iban-mcp", "--dry-run", "--json"]) == 0
    found = json.loads(said())
    assert found["source"] == "rail"
    assert found["settings"]["added"] == ["IBAN_RAIL_BASE_URL", "IBAN_RAIL_API_KEY"]
    assert {"mcpgen.yaml", "rail.yaml"} <= set(found["written"])
    assert tree(project) == before
    assert run(["source", "remove", "openapi.json", "iban-mcp", "--dry-run"]) == 1
    assert tree(project) == before


def test_removing_the_first_source_keeps_the_names_of_the_second(
    folder: Path, said: Callable[[], str]
) -> None:
    project = folder / "iban-mcp"
    assert run(["source", "add", "rail.yaml", "iban-mcp", "--name", "trains", "-q"]) == 0
    assert run(["override", "trains:GET /stations", "iban-mcp", "-q"]) == 0
    assert run(["generate", "iban-mcp", "-q"]) == 0
    own = {key: tool for key, tool in tools(project).items() if key.startswith("trains.yaml ")}
    variables = [name for name in settings(project) if name.startswith("IBAN_TRAINS_")]
    types = {line for line in call_types(project) if "Trains" in line}
    said()

    # The override of the document that goes is the owner's to remove.
    assert run(["source", "remove", "openapi.json", "iban-mcp"]) == 1
    output = said()
    assert "override of removed operation `GET /trips`" in output
    assert "src/iban_mcp/handlers/banks.py" in output
    assert "list_trips: was removed" in output

    (project / "src/iban_mcp/handlers/banks.py").unlink()
    assert run(["generate", "iban-mcp"]) == 0
    assert tools(project) == own
    assert [name for name in settings(project) if name.startswith("IBAN_TRAINS_")] == variables
    assert call_types(project) == types
    assert not (project / "openapi.json").exists()


def test_a_source_that_the_manifest_needs_is_not_removed(
    folder: Path, said: Callable[[], str]
) -> None:
    project = folder / "iban-mcp"
    assert run(["source", "add", "rail.yaml", "iban-mcp", "-q"]) == 0
    with (project / "mcpgen.yaml").open("a") as manifest:
        manifest.write('operations: {"rail:GET /trips": {title: Trips}}\n')
    assert run(["generate", "iban-mcp", "-q"]) == 0
    before = tree(project)
    said()
    assert run(["source", "remove", "rail", "iban-mcp", "--yes"]) == 3
    output = said()
    assert "`rail:GET /trips` is not an operation" in output
    assert "the project cannot be generated without `rail`; nothing was written" in output
    assert tree(project) == before


def test_a_renamed_source_keeps_its_tools_and_settings(
    folder: Path, said: Callable[[], str]
) -> None:
    project = folder / "iban-mcp"
    assert run(["source", "add", "rail.yaml", "iban-mcp", "-q"]) == 0
    assert run(["override", "rail:GET /stations", "iban-mcp", "-q"]) == 0
    assert run(["generate", "iban-mcp", "-q"]) == 0
    before, variables = tools(project), settings(project)
    manifest = project / "mcpgen.yaml"
    manifest.write_text(manifest.read_text().replace('name: "rail"', 'name: "railway"'))
    said()
    assert run(["generate", "iban-mcp"]) == 1
    assert "if it is `railway:GET /stations` now, name that" in said()
    assert tools(project) == before
    assert settings(project) == variables
    assert tool_contracts(project)["rail_list_trips"]["operation"] == "railway:GET /trips"


def test_the_name_of_a_source_is_not_repeated_if_the_server_has_the_same_name(folder: Path) -> None:
    (folder / "trains.yaml").write_text(
        "server: {name: trains}\n"
        "sources:\n"
        "  - {document: rail.yaml, name: trains}\n"
        "  - {document: iban.json, name: iban}\n"
    )
    assert run(["new", "trains.yaml", "--defaults", "-q"]) == 0
    contract = json.loads(
        (folder / "trains-mcp/src/trains_mcp/_generated/contract.json").read_bytes()
    )
    names = {entry["name"] for entry in contract["environment"]}
    assert {"TRAINS_BASE_URL", "TRAINS_API_KEY", "TRAINS_IBAN_BASE_URL"} <= names
    assert not [name for name in names if name.startswith("TRAINS_TRAINS")]


@pytest.mark.parametrize("name", ["iban", "Rail", "tool"])
def test_an_invalid_source_name_is_rejected(
    folder: Path, name: str, said: Callable[[], str]
) -> None:
    before = tree(folder / "iban-mcp")
    assert run(["source", "add", "rail.yaml", "iban-mcp", "--name", name]) == 2
    assert f"a new source cannot be called `{name}`" in said()
    assert tree(folder / "iban-mcp") == before


def test_a_document_that_is_already_a_source_is_rejected(
    folder: Path, said: Callable[[], str]
) -> None:
    assert run(["source", "add", "iban.json", "iban-mcp"]) == 2
    assert "`iban.json` is already the source `openapi.json`" in said()


def test_a_document_inside_the_project_is_used_in_place(
    folder: Path, said: Callable[[], str]
) -> None:
    project = folder / "iban-mcp"
    (project / "apis").mkdir()
    shutil.move(folder / "rail.yaml", project / "apis/rail.yaml")
    assert run(["source", "add", "iban-mcp/apis/rail.yaml", "iban-mcp"]) == 0
    assert 'document: "apis/rail.yaml"' in (project / "mcpgen.yaml").read_text()
    said()
    assert run(["pull", "iban-mcp"]) == 0
    assert "warning[no-origin]: apis/rail.yaml was skipped" in said()
    assert run(["source", "remove", "rail", "iban-mcp"]) == 0
    assert (project / "apis/rail.yaml").read_text() == RAIL  # there may be no other copy
    assert "apis/rail.yaml stays" in said()


def test_a_secret_parameter_of_an_added_document_is_not_an_argument(
    folder: Path, said: Callable[[], str]
) -> None:
    head, _, body = RAIL.partition("components:")
    (folder / "rail.yaml").write_text(
        head
        + body[body.index("paths:") :].replace(
            "tags:",
            "parameters: [{name: api_key, in: query, required: true, schema: {type: string}}]\n"
            "      tags:",
        )
    )
    assert run(["source", "add", "rail.yaml", "iban-mcp", "--yes"]) == 0
    assert "2 tools read a credential from the environment" in said()
    project = folder / "iban-mcp"
    scheme = "security_schemes: {api_key: {type: apiKey, in: query, name: api_key}}"
    assert scheme in (project / "mcpgen.yaml").read_text()
    assert "IBAN_RAIL_API_KEY" in settings(project)
    arguments = {
        name: tool["arguments"]
        for path in (project / "src/iban_mcp/_generated/tools").glob("*.json")
        for name, tool in json.loads(path.read_text())["tools"].items()
    }
    assert arguments["rail_list_trips"] == arguments["rail_list_stations"] == {}
    assert run(["check", "iban-mcp"]) == 0


def test_the_first_document_is_added_to_a_server_without_one(folder: Path) -> None:
    assert run(["new", "--empty", "bare", "--defaults", "-q"]) == 0
    assert run(["source", "add", "rail.yaml", "bare-mcp", "-q"]) == 0
    operations = set(tools(folder / "bare-mcp"))
    assert operations == {"rail.yaml GET /stations", "rail.yaml GET /trips"}
    documents = locked(folder / "bare-mcp")["documents"]
    assert (documents["rail.yaml"]["name"], documents["rail.yaml"]["settings"]) == ("", "")
    assert run(["check", "bare-mcp"]) == 0


def test_pull_skips_a_document_without_an_origin(folder: Path, said: Callable[[], str]) -> None:
    project = folder / "iban-mcp"
    shutil.copy(folder / "rail.yaml", project)
    list_by_hand(project, *BOTH_NAMED)
    assert run(["generate", "iban-mcp", "-q"]) == 0
    said()
    assert run(["pull", "iban-mcp", "--yes"]) == 0
    output = said()
    assert "warning[no-origin]: rail.yaml was skipped" in output
    assert "`mcpgen pull iban-mcp rail=SOURCE`" in output
    assert (project / "rail.yaml").read_text() == RAIL

    assert run(["pull", "iban-mcp", "rail=rail.yaml"]) == 0
    assert locked(project)["documents"]["rail.yaml"]["source"] == "rail.yaml"
    said()
    assert run(["pull", "iban-mcp", "--yes"]) == 0
    assert "skipped" not in said()


def test_pull_never_replaces_a_document_by_another_one(
    folder: Path, said: Callable[[], str]
) -> None:
    project = folder / "iban-mcp"
    assert run(["source", "add", "rail.yaml", "iban-mcp", "-q"]) == 0
    before = tree(project)
    said()
    for source in ("rail=iban.json", "rail.yaml=iban.json"):
        assert run(["pull", "iban-mcp", source, "--yes"]) == 3
        output = said()
        assert "error[other-document]: refused to replace rail.yaml" in output
        assert "rail.yaml is `Rail`, but iban.json is `IBAN`" in output
        assert "`--accept-other`" in output
        assert tree(project) == before
    assert run(["pull", "iban-mcp", "rail=iban.json", "--yes", "--accept-other"]) == 0
    assert json.loads((project / "rail.yaml").read_bytes()) == IBAN


def test_pull_skips_an_origin_that_a_version_1_lock_recorded_wrongly(
    folder: Path, said: Callable[[], str]
) -> None:
    """A version 1 lock gave a document listed by hand the origin of the first document."""
    project = folder / "iban-mcp"
    shutil.copy(folder / "rail.yaml", project)
    list_by_hand(project, *BOTH_NAMED)
    assert run(["generate", "iban-mcp", "-q"]) == 0
    write_version_1(project, {"openapi.json": "iban.json", "rail.yaml": "iban.json"})
    said()
    assert run(["pull", "iban-mcp", "--yes"]) == 0
    assert "rail.yaml was skipped" in said()
    assert (project / "rail.yaml").read_text() == RAIL


def write_version_1(project: Path, origins: dict[str, str]) -> None:
    """Rewrite the lock in the layout of version 1, with the operation keys of that version."""
    lock = locked(project)
    documents = lock.pop("documents")
    old = [
        {"root": root, "sha256": documents[root]["sha256"], "source": source}
        for root, source in origins.items()
    ]
    lock["inputs"] |= {"document": old[0]} | ({"other_documents": old[1:]} if old[1:] else {})
    names = {root: f"{documents[root]['name']}:".lstrip(":") for root in origins}
    lock["operations"] = {
        f"{names[key.partition(' ')[0]]}{key.partition(' ')[2]}": entry
        for key, entry in lock["operations"].items()
    }
    lock["lock_version"] = 1
    lines = (f"{json.dumps(key)}: {section(lock[key])}" for key in sorted(lock))
    (project / "mcpgen.lock").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def section(value: Any) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    lines = (f"    {json.dumps(key)}: {json.dumps(value[key])}" for key in sorted(value))
    return "{\n" + ",\n".join(lines) + "\n  }"


@pytest.fixture
def two(folder: Path) -> Path:
    """Make a package of two named documents, with `new` from a manifest."""
    (folder / "two.yaml").write_text(
        "server: {name: two}\n"
        "sources:\n"
        "  - {document: iban.json, name: iban, prefix: iban}\n"
        "  - {document: rail.yaml, name: rail, prefix: rail}\n"
    )
    assert run(["new", "two.yaml", "--defaults", "-q"]) == 0
    assert run(["override", "rail:GET /trips", "two-mcp", "-q"]) == 0
    assert run(["generate", "two-mcp", "-q"]) == 0
    return folder / "two-mcp"


def test_a_lock_of_version_1_keeps_all_names(two: Path, said: Callable[[], str]) -> None:
    before = tree(two)
    write_version_1(two, {"iban.json": "iban.json", "rail.yaml": "rail.yaml"})
    said()
    assert run(["check", "two-mcp"]) == 0
    assert run(["generate", "two-mcp"]) == 0
    assert tree(two) == before


def test_removing_a_source_of_a_version_1_lock_keeps_the_source_name(two: Path) -> None:
    own = {key: tool for key, tool in tools(two).items() if key.startswith("rail.yaml ")}
    write_version_1(two, {"iban.json": "iban.json", "rail.yaml": "rail.yaml"})
    manifest = two / "mcpgen.yaml"
    manifest.write_text(
        "server: {name: two}\nsources:\n  - {document: rail.yaml, name: rail, prefix: rail}\n"
    )
    assert run(["generate", "two-mcp"]) == 0
    assert tools(two) == own
    contract = json.loads((two / "src/two_mcp/_generated/contract.json").read_bytes())
    assert contract["environment"][0]["name"] == "TWO_RAIL_BASE_URL"


def test_deleting_the_lock_keeps_all_names(folder: Path, said: Callable[[], str]) -> None:
    project = folder / "iban-mcp"
    shutil.copy(folder / "rail.yaml", project)
    list_by_hand(project, *BOTH_NAMED)
    assert run(["generate", "iban-mcp", "-q"]) == 0
    before = tools(project), settings(project)
    (project / "mcpgen.lock").unlink()
    assert run(["generate", "iban-mcp", "-q"]) == 0
    assert (tools(project), settings(project)) == before


def test_a_deleted_lock_with_ambiguous_source_names_is_an_error(
    folder: Path, said: Callable[[], str]
) -> None:
    project = folder / "iban-mcp"
    shutil.copy(folder / "rail.yaml", project)
    list_by_hand(project, *BOTH_NAMED)
    (project / "mcpgen.lock").unlink()  # before the second document was generated
    before = tree(project)
    said()
    assert run(["generate", "iban-mcp"]) == 3
    assert "unknown which source has the operation keys without a name" in said()
    assert tree(project) == before


def test_a_source_name_that_causes_a_name_collision_is_rejected(
    folder: Path, said: Callable[[], str]
) -> None:
    project = folder / "iban-mcp"
    document = json.loads((project / "openapi.json").read_bytes())
    schemes = document["components"]["securitySchemes"]
    schemes["rail.ApiKey"] = schemes["ApiKey"]
    (project / "openapi.json").write_text(json.dumps(document))
    before = tree(project)
    assert run(["source", "add", "rail.yaml", "iban-mcp"]) == 3
    assert "the name `rail` makes two different things `rail.ApiKey`" in said()
    assert tree(project) == before


def test_the_credentials_of_two_sources_never_share_a_setting(folder: Path) -> None:
    """The setting of `rail_api_key` has the name that `ApiKey` of `rail.yaml` would get."""
    document = json.loads(json.dumps(IBAN).replace("ApiKey", "rail_api_key"))
    (folder / "bank.json").write_text(json.dumps(document))
    assert run(["new", "bank.json", "bank-mcp", "--name", "iban", "--defaults", "-q"]) == 0
    before = settings(folder / "bank-mcp")
    assert "IBAN_RAIL_API_KEY" in before
    assert run(["source", "add", "rail.yaml", "bank-mcp", "-q"]) == 0
    after = settings(folder / "bank-mcp")
    assert set(before) <= set(after)
    assert len(after) == len(set(after))
    assert run(["source", "remove", "bank-mcp/openapi.json", "bank-mcp"]) == 2
    assert run(["source", "remove", "openapi.json", "bank-mcp", "-q"]) == 0
    kept = {name for name in after if name.startswith("IBAN_RAIL_") and name not in before}
    assert kept <= set(settings(folder / "bank-mcp"))


def test_duplicated_setting_prefixes_from_version_1_are_kept(folder: Path) -> None:
    project = folder / "iban-mcp"
    shutil.copy(folder / "rail.yaml", project)
    list_by_hand(project, *BOTH_NAMED)
    # As an earlier mcpgen left it: both documents named, and the lock in conflict since.
    lock = locked(project)
    documents = [
        {"root": root, "sha256": {}, "source": source}
        for root, source in (("openapi.json", "iban.json"), ("rail.yaml", ""))
    ]
    operations = {"iban:GET /trips": "list_trips_ab12cd", "rail:GET /trips": "list_trips"}
    lines = [
        '"document": ' + json.dumps(documents[0]),
        '"other_documents": ' + json.dumps(documents[1:]),
        *(f"{json.dumps(key)}: {json.dumps({'tool': tool})}" for key, tool in operations.items()),
        *(f"{json.dumps(key)}: {json.dumps(file)}" for key, file in lock["files"].items()),
    ]
    (project / "mcpgen.lock").write_text("<<<<<<< HEAD\n" + ",\n".join(lines) + "\n>>>>>>> other\n")
    (project / "src/iban_mcp/handlers/banks.py").unlink()
    assert run(["generate", "iban-mcp", "-q"]) == 0
    assert {"IBAN_IBAN_BASE_URL", "IBAN_RAIL_BASE_URL"} <= set(settings(project))
    assert tools(project)["openapi.json GET /trips"] == "list_trips_ab12cd"


def test_two_branches_that_add_a_source_each_keep_all_names(folder: Path) -> None:
    """The merged lock has a conflict; names of both sides must be kept."""
    project = folder / "iban-mcp"
    (folder / "ferry.yaml").write_text(RAIL.replace("Rail", "Ferry").replace("rail.", "ferry."))
    other = shutil.copytree(project, folder / "other-mcp")
    assert run(["source", "add", "rail.yaml", "iban-mcp", "-q"]) == 0
    assert run(["source", "add", "ferry.yaml", "other-mcp", "-q"]) == 0
    names = tools(project) | tools(other)
    variables = {*settings(project), *settings(other)}

    ours, theirs = ((each / "mcpgen.lock").read_text() for each in (project, other))
    (project / "mcpgen.lock").write_text(f"<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> other\n")
    shutil.copy(other / "ferry.yaml", project)
    manifest = project / "mcpgen.yaml"
    ferry = {"document": "ferry.yaml", "name": "ferry", "prefix": "ferry"}
    manifest.write_bytes(add_source(manifest.read_bytes(), ferry))
    assert run(["generate", "iban-mcp", "-q"]) == 0
    assert tools(project) == names
    assert set(settings(project)) == variables
    assert locked(project)["documents"]["ferry.yaml"]["source"] == "ferry.yaml"


@pytest.mark.parametrize("answer", [True, False])
def test_pull_asks_in_a_terminal_before_accepting_a_different_api(
    folder: Path, answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    questionary = pytest.importorskip("questionary")
    asked: list[tuple[str, bool]] = []

    class Answer:
        def unsafe_ask(self) -> bool:
            return answer

    def confirm(question: str, *, default: bool) -> Answer:
        asked.append((question, default))
        return Answer()

    monkeypatch.setattr(questionary, "confirm", confirm)
    monkeypatch.setattr("mcpgen.cli.output.report.Printer.can_ask", True)
    project = folder / "iban-mcp"
    before = tree(project)
    code = run(["pull", "iban-mcp", "rail.yaml", "--yes"])
    [(question, default)] = asked
    assert "openapi.json is `IBAN`, but rail.yaml is `Rail`" in question
    assert default is False
    assert code == (0 if answer else 3)
    assert (tree(project) != before) is answer


def test_colliding_call_types_of_two_sources_keep_their_names(folder: Path) -> None:
    """`GET /rail/trips` of one source and `GET /trips` of the source `rail` get one type name."""
    (folder / "bank.json").write_text(json.dumps(IBAN).replace("/trips", "/rail/trips"))
    assert run(["new", "bank.json", "bank-mcp", "--name", "iban", "--defaults", "-q"]) == 0
    project = folder / "bank-mcp"
    first = call_types(project)
    assert "GetRailTripsCall" in first
    assert run(["source", "add", "rail.yaml", "bank-mcp", "-q"]) == 0
    both = call_types(project)
    assert first < both
    assert run(["source", "remove", "openapi.json", "bank-mcp", "-q"]) == 0
    assert call_types(project) == both - first
    assert run(["source", "add", "bank.json", "bank-mcp", "--name", "a", "-q"]) == 0
    assert both - first < call_types(project)


def test_a_secret_setting_is_not_shared_with_an_added_source(
    folder: Path, said: Callable[[], str]
) -> None:
    """The `token` of the first document comes from a setting; the second one also has a `token`."""
    token = "{name: token, in: query, required: true, schema: {type: string}}"
    taking = RAIL.replace("tags: [trips]", f"tags: [trips]\n      parameters: [{token}]")
    (folder / "ferry.yaml").write_text(taking.replace("Rail", "Ferry").replace("rail.", "ferry."))
    (folder / "rail.yaml").write_text(taking)
    assert run(["new", "ferry.yaml", "ferry-mcp", "--defaults", "-q"]) == 0
    project = folder / "ferry-mcp"
    text = (project / "mcpgen.yaml").read_text().partition("\noperations:")[0]
    entry = "{token: {from_environment: FERRY_TOKEN, secret: true}}"
    (project / "mcpgen.yaml").write_text(f'{text}\noperations: {{"*": {{parameters: {entry}}}}}\n')
    assert run(["generate", "ferry-mcp", "-q"]) == 0
    before = tree(project)
    said()
    assert run(["source", "add", "rail.yaml", "ferry-mcp"]) == 3
    assert "error[secret-shared]: `FERRY_TOKEN` would send a secret to several APIs" in said()
    assert tree(project) == before
