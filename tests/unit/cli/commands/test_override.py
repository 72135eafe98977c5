"""Tests of `mcpgen override`, `eject` and `ack`: the life of one override."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run

DOCUMENT = """\
openapi: 3.1.0
info: {title: Pets, version: "1"}
servers: [{url: "https://pets.example"}]
paths:
  /pets/{petId}:
    get:
      operationId: getPet
      tags: [pets]
      summary: Fetch one pet
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses: {"200": {description: The pet.}}
"""
CALLS = "src/pets_mcp/_generated/calls.py"
HANDLERS = "src/pets_mcp/handlers/pets.py"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pets.yaml").write_text(DOCUMENT)
    assert run(["new", "pets.yaml", "project", "--defaults"]) == 0
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def test_an_override_is_kept_when_its_operation_changes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["override", "get_pet"]) == 0
    assert capsys.readouterr().out.startswith("handlers/pets.py:get_pet written:\n\n@override(")
    assert run(["override", "get_pet"]) == 0
    assert capsys.readouterr().out == (
        f"`GET /pets/{{petId}}` is already overridden at {HANDLERS}:8:11\n"
    )
    written = (project / HANDLERS).read_bytes()

    newer = DOCUMENT.replace("{type: integer}", "{type: integer, minimum: 1}")
    (project / "openapi.yaml").write_text(newer)
    assert run(["generate"]) == 0
    said = "warning[overridden-operation-changed]: `GET /pets/{petId}` changed since its override"
    assert said in capsys.readouterr().err
    assert run(["check"]) == 1
    shown = capsys.readouterr().err
    assert said in shown
    assert f"--> {HANDLERS}:8:11" in shown
    assert "`minimum` 1" in shown

    assert run(["ack", "get_pet"]) == 0
    assert capsys.readouterr().out == "`GET /pets/{petId}` is accepted as it is now\n"
    assert run(["check"]) == 0
    assert run(["ack", "get_pet"]) == 0
    assert "nothing to accept" in capsys.readouterr().out
    assert (project / HANDLERS).read_bytes() == written


@pytest.mark.parametrize("command", ["override", "eject"])
def test_a_dry_run_reports_its_changes_as_json(
    project: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    capsys.readouterr()
    assert run([command, "GET /pets/{petId}", "--dry-run", "--json"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert report == {
        "outcome": "done",
        "operation": "GET /pets/{petId}",
        "function": "handlers/pets.py:get_pet",
        "exists": False,
        "written": [HANDLERS, CALLS, ".mcpgen/overridden.json", "mcpgen.lock"],
        "findings": [],
    }
    assert not (project / HANDLERS).exists()


def test_eject_copies_the_generated_body(project: Path) -> None:
    assert run(["eject", "getPet"]) == 0
    text = (project / HANDLERS).read_text()
    assert "    await ctx.api.request(" in text
    assert "call_next(" not in text
    assert run(["check"]) == 0


def test_an_operation_exposed_as_a_resource_can_be_overridden(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (project / "mcpgen.yaml").open("a") as manifest:
        manifest.write("operations: {getPet: {expose: template}}\n")
    assert run(["generate"]) == 0
    assert run(["override", "getPet"]) == 0
    assert '@override("GET /pets/{petId}")' in (project / HANDLERS).read_text()
    assert run(["check"]) == 0

    newer = DOCUMENT.replace("{type: integer}", "{type: integer, minimum: 1}")
    (project / "openapi.yaml").write_text(newer)
    assert run(["generate"]) == 0
    assert "`GET /pets/{petId}` changed since its override" in capsys.readouterr().err
