"""Tests of `mcpgen tools --explain`: each setting of a tool, and what determines it."""

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
        "rule": None,
        "evidence": None,
    }


def test_explain_shows_the_origin_of_settings_not_in_the_manifest(
    stated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = explained(stated, "list_pets", capsys)
    sources = {name: each["from"] for name, each in found.items()}
    assert sources["name"] == "lock"
    assert sources["description"] == "document"
    assert sources["annotations.readOnlyHint"] == "rule"
    assert sources["confirm"] == "default"
    assert sources["result.max_items"] == sources["task"] == "default"
    assert sources["paginate"] == "rule"
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


def test_explain_shows_the_rule_and_the_evidence_of_each_hint(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = petstore / "openapi.yaml"
    text = document.read_text()
    assert "operationId: listPets" in text
    document.write_text(text.replace("operationId: listPets", "operationId: purge_pets"))
    assert run(["tools", str(petstore), "--explain", "GET /pets", "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    hints = {it["setting"]: it for it in settings if it["setting"].startswith("annotations.")}
    reads = hints["annotations.readOnlyHint"]
    evidence = "`purge` in the operationId `purge_pets`"
    assert (reads["value"], reads["rule"], reads["evidence"]) == (False, "verb-ends", evidence)
    assert reads["line"] > 1
    assert {name: it["rule"] for name, it in hints.items()} == {
        "annotations.readOnlyHint": "verb-ends",
        "annotations.destructiveHint": "verb-ends",
        "annotations.idempotentHint": "verb-ends",
        "annotations.openWorldHint": "open-world",
    }
    assert run(["tools", str(petstore), "--explain", "GET /pets"]) == 0
    (line,) = [it for it in capsys.readouterr().out.splitlines() if "readOnlyHint" in it]
    assert line.split(maxsplit=2)[1:] == ["false", f"rule verb-ends: {evidence}"]


@pytest.mark.parametrize(
    ("member", "rule", "evidence"),
    [
        ("next", "declared-next", "`after` continues at `next`; the list is `items`"),
        (
            "hint",
            "assumed-cursor",
            "`after` is a cursor by its name; the document does not describe the next one",
        ),
    ],
)
def test_explain_shows_what_the_pages_of_a_list_are_recognized_by(
    petstore: Path,
    capsys: pytest.CaptureFixture[str],
    member: str,
    rule: str,
    evidence: str,
) -> None:
    document = petstore / "openapi.yaml"
    text = document.read_text()
    assert "        next:\n" in text
    document.write_text(text.replace("        next:\n", f"        {member}:\n"))
    pages = explained(petstore, "list_pets", capsys)["paginate"]
    assert (pages["value"], pages["from"]) == ({"max_pages": 20}, "rule")
    assert (pages["rule"], pages["evidence"]) == (rule, evidence)


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


@pytest.mark.parametrize("is_required", [True, False])
def test_an_optional_flat_body_is_said_not_to_be_sent_empty(
    tmp_path: Path, is_required: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    body = {"required": is_required, "content": {"application/json": {"schema": schema}}}
    operation = {
        "operationId": "start",
        "requestBody": body,
        "responses": {"204": {"description": "Started."}},
    }
    document = tmp_path / "openapi.json"
    info, servers = {"title": "Jobs", "version": "1"}, [{"url": "https://jobs.example"}]
    paths = {"/start": {"post": operation}}
    document.write_text(
        json.dumps({"openapi": "3.0.3", "info": info, "servers": servers, "paths": paths})
    )
    folder = tmp_path / "jobs-mcp"
    assert run(["new", str(document), str(folder), "--defaults", "--name", "jobs"]) == 0
    capsys.readouterr()

    assert run(["tools", str(folder), "--explain", "start", "--json"]) == 0
    found = {it["setting"]: it for it in json.loads(capsys.readouterr().out)["settings"]}
    assert found["arguments"]["value"] == "flat"
    about = found.get("arguments.empty_body")
    assert (about is None) is is_required
    assert about is None or "`arguments: nested`" in about["evidence"]
