"""Tests of the output and exit codes of `new`, `generate` and `check`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from tests.support.paths import SPECS

TWO_OPERATIONS = """\
openapi: 3.1.0
info: {title: Pets, version: "1"}
servers: [{url: https://pets.example}]
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
security: [{key: []}]
paths:
  /pets:
    get:
      operationId: listPets
      summary: List pets
      responses: {"204": {description: None.}}
  /pets/{id}:
    get:
      operationId: getPet
      parameters: [{$ref: "#/components/parameters/Missing"}]
      responses: {"204": {description: None.}}
"""

GENERATED = "src/petstore_mcp/_generated/tools/pets.py"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with a document that has one operation which cannot be served."""
    (tmp_path / "openapi.yaml").write_text(TWO_OPERATIONS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_new_prints_a_summary_and_the_next_commands(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", "openapi.yaml", "--defaults", "--no-models"]) == 0

    shown = capsys.readouterr().out
    first, *_ = shown.splitlines()
    assert first.startswith("pets-mcp: 1 tool of 2 operations; listing them costs about ")
    assert "Left out, 1 operation:" in shown
    assert "    GET /pets/{id}: " in shown
    assert "  PETS_KEY  needed by 1 of 1 tool\n" in shown
    assert shown.endswith(
        "Next:\n"
        "  mcpgen call list_pets pets-mcp --mock\n"
        "  pip install -e ./pets-mcp\n"
        "  pets-mcp --check-env\n"
    )


def test_new_prints_the_same_report_as_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "openapi.yaml", "there", "--name", "zoo", "--no-models", "--json"]) == 0

    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert captured.err == ""
    assert report["outcome"] == "done"
    assert (report["target"], report["tools"], report["operations"]) == ("there", 1, 2)
    assert [gap["operation"] for gap in report["left_out"]] == ["GET /pets/{id}"]
    assert [setting["name"] for setting in report["environment"]] == [
        "ZOO_BASE_URL",
        "ZOO_KEY",
        "ZOO_ALLOW_PRIVATE",
        "ZOO_CA_FILE",
    ]
    assert report["next"][0] == "mcpgen call list_pets there --mock"
    assert {finding["severity"] for finding in report["findings"]} <= {"warning", "note"}


def test_strict_rejects_a_document_with_skipped_operations(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", "openapi.yaml", "there", "--defaults", "--strict"]) == 3

    assert "error[left-out]: " in capsys.readouterr().err
    assert not (here / "there").exists()


def test_excluded_operations_are_reported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = str(SPECS / "petstore.yaml")
    selection = ["--include", "users", "--exclude", "DELETE *"]

    assert run(["new", document, *selection, "--no-models", "--json"]) == 0

    report = json.loads(capsys.readouterr().out)
    assert (report["tools"], report["operations"]) == (3, 14)
    assert len(report["unselected"]) == 11
    assert {"DELETE /users/{username}", "GET /pets"} <= set(report["unselected"])
    lock = json.loads(Path(report["target"], "mcpgen.lock").read_bytes())
    assert set(lock["left_out"]) == set(report["unselected"])
    assert lock["left_out"]["GET /pets"]["reason"] == "excluded by `select`"


def test_generate_and_check_report_a_current_package(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["generate", str(petstore)]) == 0
    assert run(["check", str(petstore)]) == 0

    generated, checked = capsys.readouterr().out.splitlines()
    assert generated == "nothing to do: every file is current"
    assert checked.startswith("current: ")


def test_a_changed_document_is_stale_until_it_was_generated_again(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = petstore / "openapi.yaml"
    document.write_text(document.read_text().replace("Fetch one pet", "Fetch a single pet"))

    assert run(["check", str(petstore)]) == 1
    assert run(["generate", str(petstore), "--dry-run", "--diff"]) == 0
    shown = capsys.readouterr()
    assert "warning[stale]: openapi.yaml has changed" in shown.err
    assert '+    """Fetch a single pet: `GET /pets/{petId}`."""' in shown.out
    assert f"  {GENERATED}\n" in shown.out
    assert "Fetch one pet" in (petstore / GENERATED).read_text()

    assert run(["generate", str(petstore)]) == 0
    assert run(["check", str(petstore)]) == 0
    assert "Fetch a single pet" in (petstore / GENERATED).read_text()


def test_a_hand_edit_is_rejected_without_force(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (petstore / GENERATED).write_text("# mine\n")

    assert run(["check", str(petstore)]) == 4
    assert run(["generate", str(petstore)]) == 4
    assert (petstore / GENERATED).read_text() == "# mine\n"
    assert "error[hand-edit]: " in capsys.readouterr().err

    assert run(["generate", str(petstore), "--force", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert GENERATED in report["written"]
    assert (petstore / GENERATED).read_text() != "# mine\n"


@pytest.mark.parametrize("command", ["generate", "check", "tools", "mock"])
def test_a_folder_without_a_package_is_a_usage_error(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


IMPORTED_BY_CHECK = """
import json, sys
from mcpgen.cli.app import run
code = run(["check", sys.argv[1], "--quiet"])
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def test_check_imports_nothing_that_only_generating_needs(petstore: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED_BY_CHECK, str(petstore)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    loaded: Any
    *_, last = done.stdout.splitlines()
    code, loaded = json.loads(last)
    assert code == 0
    assert not {
        "aiohttp", "asyncio", "copier", "datamodel_code_generator", "jinja2", "jsonschema_rs",
        "openapi_spec_validator", "questionary", "yaml",
    } & set(loaded)  # fmt: skip
