from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.factory.packages import find_package
from mcpgen.pipeline.project.evidence import write_evidence
from mcpgen.pipeline.project.input_hashes import ProjectFiles, hash_inputs
from mcpgen.pipeline.project.workspace import read_server_facts

pytestmark = pytest.mark.slow

HANDLERS = "src/petstore_mcp/_generated/tools/pets.py"
EVIDENCE = ".mcpgen/evidence/tests.json"


def spoil(project: Path, old: str, new: str) -> None:
    handlers = project / HANDLERS
    assert old in handlers.read_text()
    handlers.write_text(handlers.read_text().replace(old, new))


def evidence(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project / EVIDENCE).read_text())
    return found


def test_a_correct_server_passes_and_writes_evidence(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["test", str(petstore_copy), "--junit", str(petstore_copy / "junit.xml")])

    said = capsys.readouterr().out
    assert code == 0
    assert {line.partition("  ")[0].rstrip() for line in said.splitlines()} >= {
        *("get_pet", "the server", "tests/test_custom.py"),
    }
    found = evidence(petstore_copy)
    assert found["outcome"] == "passed"
    assert found["inputs"] == hash_inputs(ProjectFiles(petstore_copy))
    assert str(petstore_copy) not in json.dumps(found)
    assert "<testcase" in (petstore_copy / "junit.xml").read_text()
    tools = {tool["name"] for tool in find_package(petstore_copy).read_tools()}
    assert found["cases"].keys() == tools
    assert min(found["cases"].values()) >= 5
    least, most = min(found["cases"].values()), max(found["cases"].values())
    shown = f"Calls of each of the {len(tools)} tools: {least} to {most}, "
    assert shown in (petstore_copy / "README.md").read_text()
    assert read_server_facts(petstore_copy).tests == found["result"]


def test_a_failed_test_is_reported_with_its_tool_and_reason(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(petstore_copy, '"limit": limit', '"limit": after')

    code = run(["test", str(petstore_copy), "--json"])

    report = json.loads(capsys.readouterr().out)
    assert (code, report["outcome"]) == (1, "findings")
    failed = {group["group"]: group["failed"] for group in report["groups"] if group["failed"]}
    assert list(failed) == ["list_pets"]
    assert any("limit" in failure["reason"] for failure in failed["list_pets"])
    assert evidence(petstore_copy)["outcome"] == "failed"


def test_evidence_becomes_stale_when_the_server_changes(petstore_copy: Path) -> None:
    run(["test", str(petstore_copy), "-q"])
    (petstore_copy / "README.md").write_text("mine")
    assert "passed" in read_server_facts(petstore_copy).tests

    spoil(petstore_copy, '"DELETE"', '"GET"')

    assert read_server_facts(petstore_copy).tests == "stale"


def test_evidence_becomes_stale_when_the_runtime_changes(petstore_copy: Path) -> None:
    write_evidence(petstore_copy, "tests", {"result": "9 passed"})
    installed = petstore_copy / ".venv/lib/python3.11/site-packages/mcpgen.dist-info/METADATA"
    installed.parent.mkdir(parents=True)

    installed.write_text(f"Name: mcpgen\nVersion: {version('mcpgen')}\n")
    assert read_server_facts(petstore_copy).tests == "9 passed"
    installed.write_text("Name: mcpgen\nVersion: 99.0.0\n")
    assert read_server_facts(petstore_copy).tests == "stale"


def test_a_partial_run_writes_no_evidence(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["test", str(petstore_copy), "-k", "get_pet"])

    assert code == 0
    assert "list_pets" not in capsys.readouterr().out
    assert not (petstore_copy / EVIDENCE).exists()


def test_a_selection_can_match_user_cases(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (petstore_copy / "mcpgen.tests.yaml").write_text(
        "version: 1\ncases:\n"
        "  - {id: none sold, call: {tool: get_pet}, expect: {is_error: true}}\n"
        "  - {id: another, call: {tool: get_pet}, expect: {is_error: true}}\n"
    )
    junit = petstore_copy / "reports" / "junit.xml"

    assert run(["test", str(petstore_copy), "-k", "none and sold", "--junit", str(junit)]) == 0

    assert capsys.readouterr().out == "mcpgen.tests.yaml  1 passed\n1 passed\n"
    assert '<testcase classname="mcpgen.tests.yaml" name="none sold"' in junit.read_text()


def test_an_invalid_selection_is_a_usage_error(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["test", str(petstore_copy), "-k", "get_pet and"]) == 2
    assert "-k `get_pet and`: expected a word" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ("--mutate", "-k", "get_pet"),
        ("--live", "--mutate"),
        ("--live", "--update"),
        ("--live", "--replay", "x"),
        ("--tool", "get_pet"),
        ("--live-writes",),
    ],
)
def test_contradictory_options_are_a_usage_error(
    petstore_copy: Path, options: tuple[str, ...]
) -> None:
    assert run(["test", str(petstore_copy), *options]) == 2
    assert not (petstore_copy / EVIDENCE).exists()


def test_user_cases_fail_if_the_server_does_not_start(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (petstore_copy / "src/petstore_mcp/__main__.py").write_text("raise SystemExit(3)\n")
    (petstore_copy / "mcpgen.tests.yaml").write_text(
        "version: 1\ncases: [{id: one, call: {tool: get_pet}, expect: {is_error: true}}]\n"
    )

    assert run(["test", str(petstore_copy), "-k", "one and tests.yaml"]) == 1
    assert "the server did not start" in capsys.readouterr().out


def test_a_selection_without_matches_fails(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["test", str(petstore_copy), "-k", "no_such_test"]) == 1
    assert "no test was selected" in capsys.readouterr().out


def test_the_mutation_score_is_kept_until_the_server_changes(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["test", str(petstore_copy), "--mutate", "--limit", "3", "--jobs", "1"])
    score = evidence(petstore_copy)["mutation"]
    assert code == 0
    assert "of those that are not equivalent were killed" in capsys.readouterr().out

    run(["test", str(petstore_copy), "-q"])
    assert evidence(petstore_copy)["mutation"] == score

    spoil(petstore_copy, '"""Fetch one pet:', '"""Fetch a pet:')
    run(["test", str(petstore_copy), "-q"])
    assert "mutation" not in evidence(petstore_copy)


def test_mutation_is_skipped_if_tests_fail(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(petstore_copy, '"DELETE"', '"GET"')

    assert run(["test", str(petstore_copy), "--mutate", "--json"]) == 1
    assert "mutation" not in json.loads(capsys.readouterr().out)


def test_a_folder_without_a_package_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["test", str(tmp_path)]) == 2
    assert "contains no generated package" in capsys.readouterr().err


def test_server_with_a_client_certificate_is_tested_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "openapi.yaml"
    document.write_text(
        """
openapi: 3.1.1
info: {title: Vault, version: "1"}
servers: [{url: https://vault.example}]
components: {securitySchemes: {mutual: {type: mutualTLS}}}
security: [{mutual: []}]
paths:
  /keys: {get: {operationId: keys, responses: {"204": {description: Done}}}}
"""
    )
    target = str(tmp_path / "vault-mcp")
    assert run(["new", str(document), target, "--defaults", "--no-models"]) == 0

    assert run(["test", target]) == 0

    assert " failed" not in capsys.readouterr().out
