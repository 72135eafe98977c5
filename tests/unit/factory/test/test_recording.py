"""Tests that `mcpgen test --update` records the owner's files, and no generated ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpgen.cli.app import run

pytestmark = pytest.mark.slow

CASES = """\
version: 1
cases:
  # what the shop answers first
  - id: a pet
    call: {tool: get_pet, arguments: {pet_id: 42}}
    upstream:
      - operation: GET /pets/{petId}
        reply: {status: 200, body: {id: 42, name: Rex, species: dog, status: sold}}
    expect:
      is_error: false
      request: {operation: "GET /pets/{petId}", path: {petId: 41}}  # its number
      structured:
        id: 41
        name: |
          Tom
      text: {contains: [Rex]}

  - id: another pet
    call: {tool: list_pets, arguments: {limit: 3}}
    expect: {is_error: false, request: {query: {limit: 2}}}
"""
RECORDED = """\
      request: {operation: "GET /pets/{petId}", path: {"petId": 42}}  # its number
      structured:
        {"id": 42, "name": "Rex", "species": "dog", "status": "sold"}
      text: {contains: [Rex]}

  - id: another pet
    call: {tool: list_pets, arguments: {limit: 3}}
    expect: {is_error: false, request: {query: {"limit": 3}}}
"""


@pytest.fixture(autouse=True)
def at_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def update(project: Path, cases: str, *options: str) -> int:
    (project / "mcpgen.tests.yaml").write_text(cases)
    return run(["test", str(project), "--update", "-k", "mcpgen.tests.yaml", *options])


def test_update_records_expectations_and_keeps_the_rest_of_the_file(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = update(petstore_copy, CASES)

    said = capsys.readouterr().out
    assert code == 0
    head, _, _ = CASES.partition("      request:")
    assert (petstore_copy / "mcpgen.tests.yaml").read_text() == head + RECORDED
    assert "-    expect: {is_error: false, request: {query: {limit: 2}}}" in said
    assert "mcpgen.tests.yaml  2 passed" in said


def test_update_records_only_selected_cases(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (petstore_copy / "mcpgen.tests.yaml").write_text(CASES)

    assert run(["test", str(petstore_copy), "--update", "-k", "another", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["updated"] == ["mcpgen.tests.yaml"]
    written = (petstore_copy / "mcpgen.tests.yaml").read_text()
    assert written == CASES.replace("{limit: 2}", '{"limit": 3}')


@pytest.mark.parametrize(
    ("right", "decided", "reason"),
    [
        ("is_error: false", "is_error: true", "isError is False, expected True"),
        ('GET /pets/{petId}", path', 'GET /pets", path', "was called, expected `GET /pets`"),
        ("contains: [Rex]", "contains: [Max]", "the text does not contain `Max`"),
    ],
)
def test_update_keeps_expectations_that_need_a_decision(
    petstore_copy: Path,
    capsys: pytest.CaptureFixture[str],
    right: str,
    decided: str,
    reason: str,
) -> None:
    assert right in CASES

    assert update(petstore_copy, CASES.replace(right, decided, 1)) == 1

    assert reason in capsys.readouterr().out
    assert decided in (petstore_copy / "mcpgen.tests.yaml").read_text()


def test_update_does_not_record_an_invalid_request(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handlers = petstore_copy / "src/petstore_mcp/_generated/tools/pets.py"
    handlers.write_text(handlers.read_text().replace('"limit": limit', '"limit": 5000'))
    cases = CASES.replace("{is_error: false, request: {query", "{is_error: true, request: {query")

    assert update(petstore_copy, cases, "--json") == 1

    assert "5000 is greater than the maximum" in capsys.readouterr().out
    assert "{limit: 2}" in (petstore_copy / "mcpgen.tests.yaml").read_text()


def test_update_reports_shared_expectations_and_keeps_them(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = CASES.replace("path: {petId: 41}", "path: &id {petId: 41}").replace(
        "query: {limit: 2}", "path: *id"
    )

    assert update(petstore_copy, shared, "--json") == 3

    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["rule"], finding["file"]) == ("not-rewritten", "mcpgen.tests.yaml")
    assert (petstore_copy / "mcpgen.tests.yaml").read_text() == shared


@pytest.mark.parametrize(("variable", "option"), [("true", ""), ("drone", ""), ("", "--ci")])
def test_update_is_rejected_in_ci(
    petstore_copy: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    option: str,
) -> None:
    monkeypatch.setenv("CI", variable)

    assert update(petstore_copy, CASES, *filter(None, [option])) == 2

    assert "--update records nothing where `CI` is set" in capsys.readouterr().err
    assert (petstore_copy / "mcpgen.tests.yaml").read_text() == CASES


def test_handler_tools_are_compared_with_their_record(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = petstore_copy / "tests/tools.json"
    by_hand = petstore_copy / "src/petstore_mcp/handlers/greeting.py"
    by_hand.write_text(
        "from mcpgen.runtime import Context, Features\n\nfeatures = Features()\n\n\n"
        "@features.tool()\ndef greet(ctx: Context, *, name: str) -> str:\n"
        '    """Greet somebody."""\n    return name\n'
    )
    only = ["-k", "tests/tools.json or test_own_handlers_are_valid"]
    assert run(["test", str(petstore_copy), *only]) == 0
    assert not record.exists()

    assert run(["test", str(petstore_copy), "--update", *only]) == 0
    assert [tool["name"] for tool in json.loads(record.read_bytes())["tools"]] == ["greet"]
    assert run(["test", str(petstore_copy), *only]) == 0

    by_hand.write_text(by_hand.read_text().replace("Greet somebody", "Greet someone"))
    capsys.readouterr()
    assert run(["test", str(petstore_copy), *only]) == 1
    assert "differs from its record: description" in capsys.readouterr().out

    by_hand.unlink()
    assert run(["test", str(petstore_copy), *only]) == 1
    assert "recorded, but not listed" in capsys.readouterr().out


def test_an_invalid_record_is_rejected(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (petstore_copy / "tests/tools.json").write_text("[]")

    assert run(["test", str(petstore_copy), "-k", "tools.json or test_own_handlers_are_valid"]) == 3
    assert "tests/tools.json is not a record of tools" in capsys.readouterr().err


def test_update_does_not_change_generated_files(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handlers = petstore_copy / "src/petstore_mcp/_generated/tools/pets.py"
    handlers.write_text(handlers.read_text().replace('"DELETE"', '"GET"'))
    before = {path: path.read_bytes() for path in (petstore_copy / "tests").rglob("*.json")}

    assert run(["test", str(petstore_copy), "--update", "-k", "delete_pet"]) == 1

    assert {path: path.read_bytes() for path in (petstore_copy / "tests").rglob("*.json")} == before
    assert "delete_pet" in capsys.readouterr().out
