"""Tests of the details on a server's page, read from its folder."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mcpgen.factory.status.details import collect_fleet, collect_server, read_details
from mcpgen.factory.status.examine import examine_server
from mcpgen.factory.status.model import Operation, ServerDetails
from mcpgen.factory.workspace.members import Server
from tests.support.paths import EXAMPLES

NOW = datetime(2026, 11, 24, 10, 0, tzinfo=UTC)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "petstore-mcp"
    shutil.copytree(EXAMPLES / "petstore-mcp", folder)
    return folder


def _read(folder: Path) -> ServerDetails:
    return read_details(examine_server(folder, folder.name, (), NOW), folder)


def _change(file: Path, **members: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_bytes()), **members}))


def test_tools_have_their_operation_tokens_annotations_schemas_and_cases(shop: Path) -> None:
    details = _read(shop)
    tools = {tool.name: tool for tool in details.tools}
    assert len(tools) == 14
    pet = tools["get_pet"]
    assert (pet.operation, pet.cases) == ("GET /pets/{petId}", 25)
    assert pet.annotations["readOnlyHint"] is True
    assert pet.input_schema["required"] == ["pet_id"]
    assert pet.output_schema is not None
    assert sum(tool.tokens for tool in tools.values()) == details.status.tokens


def test_operations_without_a_tool_have_the_reason_of_the_lock(shop: Path) -> None:
    left_out = {
        "GET /a": {"code": "not-selected", "reason": "excluded by `select`"},
        "GET /b": {"code": "no-media-type", "reason": "no media type can be sent"},
    }
    _change(shop / "mcpgen.lock", left_out=left_out)
    operations = _read(shop).operations
    assert sum(bool(it.tool) for it in operations) == 14
    assert operations[-2:] == (
        Operation("GET /a", "", "excluded by `select`", True),
        Operation("GET /b", "", "no media type can be sent", False),
    )


def test_declared_tools_are_no_operations_of_a_document() -> None:
    details = _read(EXAMPLES / "competitor-research-mcp")
    assert details.tools
    assert details.operations == ()


def test_tools_behind_search_tools_are_listed_too() -> None:
    assert len(_read(EXAMPLES / "chatdesk-mcp").tools) == 132


def test_findings_are_those_of_the_last_run(shop: Path) -> None:
    lint = shop / ".mcpgen/evidence/lint.json"
    found = {"rule": "tool-name", "severity": "error", "tool": "a", "message": "m", "help": "h"}
    _change(lint, findings=[found, "damaged"])
    assert _read(shop).findings == (found,)
    _change(lint, findings={"note": 5}, rules={"description-short": 4})  # of mcpgen 0.6
    (grouped,) = _read(shop).findings
    assert (grouped["rule"], grouped["severity"], grouped["count"]) == (
        "description-short",
        "note",
        4,
    )


def test_history_has_the_last_and_the_earlier_results_latest_first(shop: Path) -> None:
    for check in ("lint", "tests", "validate"):
        (shop / f".mcpgen/evidence/{check}.json").unlink()
    evidence = {
        "time": "2026-11-20T10:00:00Z",
        "outcome": "passed",
        "result": "2 notes",
        "earlier": [
            {"time": "2026-11-01T10:00:00Z", "outcome": "failed", "result": "1 error"},
            "damaged",
        ],
    }
    (shop / ".mcpgen/evidence/lint.json").write_text(json.dumps(evidence))
    tests = {"time": "2026-11-10T10:00:00Z", "outcome": "passed", "result": "450 passed"}
    (shop / ".mcpgen/evidence/tests.json").write_text(json.dumps(tests))
    assert [(it["check"], it["result"]) for it in _read(shop).history] == [
        ("lint", "2 notes"),
        ("tests", "450 passed"),
        ("lint", "1 error"),
    ]


def test_requirements_are_those_of_each_revision(shop: Path) -> None:
    revisions = _read(shop).requirements
    assert list(revisions) == ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
    assert revisions["2024-11-05"]["undecided"] == ["cancelled-call-unanswered"]


def test_snippets_refer_to_credentials_and_contain_none(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PETSTORE_API_KEY", "s3cret-value")
    install = _read(shop).install
    assert json.loads(install["claude-code"])["mcpServers"]["petstore"]["env"] == {
        "PETSTORE_API_KEY": "${PETSTORE_API_KEY}",
        "PETSTORE_BEARER": "${PETSTORE_BEARER}",
    }
    assert "<PETSTORE_API_KEY>" in install["claude-desktop"]  # which cannot refer to it
    asked = json.loads(install["vscode"])
    assert asked["servers"]["petstore"]["env"]["PETSTORE_API_KEY"] == (
        f"${{input:{asked['inputs'][0]['id']}}}"
    )
    text = "\n".join(install.values())
    assert "s3cret-value" not in text
    assert str(shop) not in text


@pytest.mark.parametrize(
    "damage",
    ["mcpgen.lock", "src/petstore_mcp/_generated/contract.json", ".mcpgen/evidence/tests.json"],
)
@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[]", b"\xff\xfe"])
def test_damaged_files_leave_out_what_they_contain(damage: str, content: bytes, shop: Path) -> None:
    (shop / damage).write_bytes(content)
    assert _read(shop).status.server == "petstore-mcp"


def test_a_fleet_has_its_servers_in_order_and_the_time() -> None:
    servers = [
        Server(f"{name}-mcp", EXAMPLES / f"{name}-mcp", ("@ada",)) for name in ("twilio", "n8n")
    ]
    fleet = collect_fleet("examples", EXAMPLES, servers, NOW)
    assert [it.status.server for it in fleet.servers] == ["twilio-mcp", "n8n-mcp"]
    assert fleet.servers[0].status.owners == ("@ada",)
    assert (fleet.root, fleet.now) == ("generated_examples", "2026-11-24T10:00:00Z")


def test_commands_of_a_server_alone_are_run_in_its_folder(shop: Path) -> None:
    (server,) = collect_server(shop, NOW).servers
    assert server.status.server == "petstore-mcp"
    commands = {stage.proof.command for stage in server.status.stages} - {""}
    assert commands
    assert not [it for it in commands if "petstore-mcp" in it]
