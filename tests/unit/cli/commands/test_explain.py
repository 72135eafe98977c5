"""`mcpgen tools --explain`: each setting of a tool, and what decides it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run

ENTRIES = """
operations:
  "*":
    timeout_seconds: 9
    retry: {attempts: 2}
    annotations: {openWorldHint: false}
  "effect:read":
    timeout_seconds: 5
    parameters:
      limit: {default: 10}
  listPets:
    title: Pets
    result: {max_bytes: 5000}
"""


def explained(petstore: Path, tool: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["tools", str(petstore), "--explain", tool, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tool"] == tool
    return {each["setting"]: each for each in found["settings"]}


@pytest.fixture
def stated(petstore: Path) -> Path:
    head = "server: {name: petstore}\nsources: [{document: openapi.yaml}]\n"
    (petstore / "mcpgen.yaml").write_text(head + ENTRIES.lstrip())
    return petstore


def line_of(petstore: Path, text: str) -> int:
    lines = (petstore / "mcpgen.yaml").read_text().splitlines()
    (line,) = [number for number, line in enumerate(lines, 1) if text in line]
    return line


@pytest.mark.parametrize(
    ("setting", "value", "text", "entry"),
    [
        ("title", "Pets", "title: Pets", "listPets"),
        ("timeout_seconds", 5, "timeout_seconds: 5", "effect:read"),
        ("retry.attempts", 2, "attempts: 2", "*"),
        ("annotations.openWorldHint", False, "openWorldHint", "*"),
        ("parameters.limit", "argument, default 10", "limit: {default", "effect:read"),
        ("result.max_bytes", 5000, "max_bytes", "listPets"),
    ],
)
def test_a_setting_of_the_manifest_is_shown_with_its_line_and_entry(
    stated: Path,
    capsys: pytest.CaptureFixture[str],
    setting: str,
    value: Any,
    text: str,
    entry: str,
) -> None:
    assert explained(stated, "list_pets", capsys)[setting] == {
        "setting": setting,
        "value": value,
        "from": "manifest",
        "file": "mcpgen.yaml",
        "line": line_of(stated, text),
        "entry": entry,
    }


def test_explain_shows_the_origin_of_settings_not_in_the_manifest(
    stated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = explained(stated, "list_pets", capsys)
    sources = {name: each["from"] for name, each in found.items()}
    assert sources["name"] == "lock"
    assert sources["description"] == "document"
    assert sources["annotations.readOnlyHint"] == sources["confirm"] == "default"
    assert sources["result.max_items"] == sources["paginate"] == "default"
    assert found["description"]["line"] > 1
    assert found["description"]["file"].endswith("openapi.yaml")


def test_explain_as_text_shows_the_manifest_line(
    stated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tools", str(stated), "--explain", "list_pets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "list_pets: GET /pets"
    (line,) = [line for line in lines if "timeout_seconds" in line]
    place = f"mcpgen.yaml:{line_of(stated, 'timeout_seconds: 5')}"
    assert line.split() == ["timeout_seconds", "5.0", place, "(`effect:read`)"]


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (["{folder}", "--explain", "list_pet"], "did you mean `list_pets`?", 2),
        (["http://x.example", "--explain", "x"], "needs the folder", 2),
    ],
)
def test_an_unknown_tool_is_a_usage_error(
    petstore: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
    code: int,
) -> None:
    assert run(["tools", *[word.format(folder=petstore) for word in words]]) == code
    assert message in capsys.readouterr().err


def test_a_manifest_that_is_rejected_is_reported(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = petstore / "mcpgen.yaml"
    manifest.write_text(manifest.read_text() + "\nunknown: 1\n")
    assert run(["tools", str(petstore), "--explain", "list_pets"]) == 3
    assert "unknown" in capsys.readouterr().err


def test_the_source_of_a_credential_is_shown_with_its_line(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (petstore / "mcpgen.yaml").open("a") as manifest:
        manifest.write("credentials:\n  api_key: {from: header, header: X-Shop-Key}\n")
    found = explained(petstore, "get_pet", capsys)
    shown = found["credentials.api_key"]
    assert shown["value"] == "header X-Shop-Key"
    assert shown["line"] == line_of(petstore, "api_key: {from")
    assert not any(
        name.startswith("credentials.") for name in explained(petstore, "delete_pet", capsys)
    )


def test_a_limit_of_the_whole_server_is_shown_with_its_line(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (petstore / "mcpgen.yaml").write_text(
        "server: {name: petstore}\nsources: [{document: openapi.yaml}]\n"
        "limits:\n  timeout_seconds: 20\noperations: {listPets: {retry: {attempts: 1}}}\n"
    )
    settings = explained(petstore, "list_pets", capsys)
    found = settings["timeout_seconds"]
    assert (found["value"], found["from"], found["line"]) == (20, "manifest", 4)
    assert settings["retry.attempts"]["value"] == 1
