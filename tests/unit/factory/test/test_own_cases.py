from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from mcpgen.cli.app import run

pytestmark = pytest.mark.slow

CASES = """\
version: 1
cases:
  - id: a sold pet
    call: {tool: get_pet, arguments: {pet_id: 42}}
    upstream:
      - operation: GET /pets/{petId}
        reply: {status: 200, body: {id: 42, name: Rex, species: dog, status: sold}}
    expect:
      is_error: false
      request: {operation: "GET /pets/{petId}", path: {petId: 42}}
      structured: {id: 42, name: Rex, species: dog, status: sold}
      text: {contains: [Rex], not_contains: [Tom]}
  - id: no pet
    call: {tool: get_pet, arguments: {pet_id: 0}}
    expect: {is_error: true, request: null}
"""


def run_cases(
    project: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, object]]:
    (project / "mcpgen.tests.yaml").write_text(text)
    code = run(["test", str(project), "--json"])
    report: dict[str, object] = json.loads(capsys.readouterr().out)
    return code, report


def own_group(report: dict[str, object]) -> dict[str, object]:
    groups: list[dict[str, object]] = report["groups"]  # type: ignore[assignment]
    return next(group for group in groups if group["group"] == "mcpgen.tests.yaml")


def test_user_cases_run_together_with_the_generated_ones(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, report = run_cases(petstore_copy, CASES, capsys)

    assert code == 0
    assert own_group(report)["passed"] == 2


@pytest.mark.parametrize(
    ("right", "wrong", "reason"),
    [
        ("path: {petId: 42}", "path: {petId: 43}", "path parameter `petId`: sent 42, expected 43"),
        ("status: sold}\n      text", "status: new}\n      text", "structured content: "),
        ("contains: [Rex]", "contains: [Tom]", "the text does not contain `Tom`"),
        ("not_contains: [Tom]", "not_contains: [Rex]", "the text contains `Rex`"),
        ("is_error: true", "is_error: false", "isError is True, expected False"),
        ("request: null", "request: {}", "0 requests were sent, expected one"),
        ('"GET /pets/{petId}", path', "GET /pets, path", "`GET /pets/{petId}` was called"),
    ],
)
def test_each_expectation_can_fail(
    petstore_copy: Path,
    capsys: pytest.CaptureFixture[str],
    right: str,
    wrong: str,
    reason: str,
) -> None:
    assert right in CASES

    code, report = run_cases(petstore_copy, CASES.replace(right, wrong, 1), capsys)

    failed: list[dict[str, str]] = own_group(report)["failed"]  # type: ignore[assignment]
    assert code == 1
    assert any(reason in failure["reason"] for failure in failed), failed


@pytest.mark.parametrize(
    ("right", "wrong", "line", "message"),
    [
        ("call: {tool", "calls: {tool", 4, "`calls`"),
        ("- operation: GET /pets/{petId}", "- operation: GET /pet/{petId}", 6, "GET /pet/{petId}"),
        ("- id: no pet", "- id: a sold pet", 13, "duplicate id `a sold pet`"),
    ],
)
def test_an_invalid_case_file_is_reported_with_its_line_and_nothing_is_run(
    petstore_copy: Path,
    capsys: pytest.CaptureFixture[str],
    right: str,
    wrong: str,
    line: int,
    message: str,
) -> None:
    code, report = run_cases(petstore_copy, CASES.replace(right, wrong, 1), capsys)

    findings: list[dict[str, object]] = report["findings"]  # type: ignore[assignment]
    assert code == 3
    told = [each for each in findings if message in str(each["message"])]
    assert [(each["file"], each["line"]) for each in told] == [("mcpgen.tests.yaml", line)]
    assert not (petstore_copy / ".mcpgen/evidence").exists()


def test_the_published_schema_rejects_a_case_without_expectations(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["schema", "tests"]) == 0
    validator = jsonschema_rs.validator_for(json.loads(capsys.readouterr().out))
    case = {"id": "a", "call": {"tool": "get_pet"}, "expect": {"is_error": False}}
    assert validator.is_valid({"version": 1, "cases": [case]})
    assert not validator.is_valid({"version": 1, "cases": [{**case, "expect": {}}]})


def test_an_mcp_jest_configuration_is_converted_to_cases(
    petstore_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "mcp-jest.json"
    tools = {
        "get_pet": {"args": {"pet_id": 42}, "expect": "content[0].text.includes('Rex')"},
        "get_pet:missing": {"args": {}, "shouldThrow": True},
        "get_inventory": {"expect": "content[0].text.length < 9"},
    }
    source.write_text(json.dumps({"server": {}, "tests": {"tools": tools, "prompts": {"p": {}}}}))

    assert run(["test", str(petstore_copy), "--import-mcp-jest", str(source), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cases"] == 3
    assert told["left_out"] == [
        "`get_inventory`: `content[0].text.length < 9`",
        "prompts: `p` is not a tool",
    ]
    text = (petstore_copy / "mcpgen.tests.yaml").read_text()
    code, report = run_cases(petstore_copy, text, capsys)
    assert (code, own_group(report)["passed"]) == (0, 3)

    again = ["test", str(petstore_copy), "--import-mcp-jest", str(source)]
    assert run(again) == 2
