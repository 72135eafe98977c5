"""Tests of `mcpgen lint`: targets of every kind, options and exit codes."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.ir.clients import read_clients
from tests.support.paths import EXAMPLES

SERVER = """
import json, sys
TOOLS = [{"name": "get_pet", "description": "Fetch", "inputSchema": {"type": "object"}}]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"],
                  "capabilities": {"tools": {}, "prompts": {}},
                  "serverInfo": {"name": "@acme/Pet Shop", "version": "1"},
                  "instructions": "Be kind."}
    elif message["method"] == "tools/list":
        result = {"tools": TOOLS}
    else:
        result = {"prompts": [{"name": "find"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "tools.json"
    tool = {"name": "get.pet", "inputSchema": {"type": "object"}}
    path.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool]}}))
    return path


def report_of(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> dict[str, Any]:
    assert run(["lint", "--json", *words]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    "example", sorted(path.parent.name for path in EXAMPLES.glob("*/mcpgen.yaml"))
)
def test_examples_are_clean(
    example: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(EXAMPLES / example, tmp_path / example)
    report = report_of(capsys, str(copy), code=0)
    assert {each["severity"] for each in report["findings"]} <= {"note"}


def test_findings_have_the_line_of_their_tool(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = report_of(capsys, str(petstore), "--targets", "openai-strict", code=1)
    finding = next(each for each in report["findings"] if "`get_pet`" in each["message"])
    line = (petstore / finding["file"]).read_text().splitlines()[finding["line"] - 1]
    tools = json.loads((petstore / finding["file"]).read_text())
    assert line.startswith("{")
    assert tools[int(finding["pointer"].split("/")[1])]["name"] == "get_pet"


def test_a_running_server_is_examined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    report = report_of(capsys, "--", sys.executable, str(tmp_path / "server.py"), code=1)
    assert report["server"] == "pet-shop"
    assert [tool["name"] for tool in report["tools"]] == ["get_pet"]
    assert "description-short" in {each["rule"] for each in report["findings"]}


def test_hand_written_tools_are_examined_by_starting_the_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(EXAMPLES / "everything-mcp", tmp_path / "everything-mcp")
    report = report_of(capsys, str(folder), "--start", code=1)
    assert len(report["tools"]) > 10
    assert "unlisted-tools" not in {each["rule"] for each in report["findings"]}


def test_a_started_server_is_examined_with_its_unlisted_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(EXAMPLES / "chatdesk-mcp", tmp_path / "chatdesk-mcp")
    assert run(["lint", str(folder)]) == 0
    files = capsys.readouterr()
    assert "129 other tools can be searched for" in files.out
    assert run(["lint", str(folder), "--start"]) == 0
    assert capsys.readouterr() == files


def test_a_file_with_tools_is_examined(listed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(capsys, str(listed), "--matrix", code=1)
    assert report["matrix"]["tools"]["get.pet"]["codex"]["effect"] == "breaks"
    assert report["glama"]["tier"] == "C"
    assert report["clients"][0]["limits"][0].keys() == {"row", "effect", "source", "verified"}


def test_equal_findings_of_several_tools_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = [{"name": f"get_{letter}", "inputSchema": {"type": "object"}} for letter in "abcdef"]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    assert run(["lint", str(tmp_path / "tools.json")]) == 1
    shown = capsys.readouterr().err
    assert "`get_a` has no description (5 more of this kind; also `get_b`, `get_c`" in shown
    assert shown.count("[description-missing]") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--targets", "cursr"], "did you mean `cursor`?"),
        (["--fix"], "need the folder of a server that mcpgen made"),
        (["--pin"], "--pin needs a file"),
        (["--tokens-budget", "0"], "tokens-budget"),
    ],
)
def test_wrong_usage_is_explained(
    listed: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lint", str(listed), *words]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{", '{"tools": 3}', "[1]", "7"])
def test_a_file_without_tools_is_a_usage_error(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tools.json").write_text(content)
    assert run(["lint", str(tmp_path / "tools.json")]) == 2
    assert "tools.json" in capsys.readouterr().err


def test_a_server_that_does_not_start_is_unreachable(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(capsys, "--", sys.executable, "-c", "import sys; sys.exit(3)", code=1)
    assert report["outcome"] == "unreachable"


def test_the_token_budget_is_checked(petstore: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cost = report_of(capsys, str(petstore), code=0)["token_cost"]
    assert report_of(capsys, str(petstore), "--tokens-budget", str(cost), code=0)
    report = report_of(capsys, str(petstore), "--tokens-budget", str(cost - 1), code=1)
    assert "token-budget" in {each["rule"] for each in report["findings"]}


def test_targets_of_the_manifest_are_the_default(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = petstore / "mcpgen.yaml"
    manifest.write_text(manifest.read_text() + "\ntargets: [openai-strict]\n")
    report = report_of(capsys, str(petstore), code=1)
    assert {row["row"] for each in report["clients"] for row in each["limits"]} >= {
        "openai-strict/schema"
    }
    report_of(capsys, str(petstore), "--targets", "portable", code=0)


def test_sarif_has_the_rules_and_the_lines(
    petstore: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out" / "lint.sarif"
    report = report_of(
        capsys, str(petstore), "--targets", "openai-strict", "--sarif", str(path), code=1
    )
    (log,) = json.loads(path.read_text())["runs"]
    rules = [rule["id"] for rule in log["tool"]["driver"]["rules"]]
    assert len(log["results"]) == len(report["findings"])
    for result, finding in zip(log["results"], report["findings"], strict=True):
        assert rules[result["ruleIndex"]] == result["ruleId"] == finding["rule"]
        assert result["level"] == finding["severity"]
    region = log["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region["startLine"] == report["findings"][0]["line"]


def test_a_dry_run_shows_the_repairs_and_fix_writes_them(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = petstore / "mcpgen.yaml"
    before = manifest.read_bytes()
    budget = ["--tokens-budget", "1500"]
    assert run(["lint", str(petstore), *budget, "--diff"]) == 1
    shown = capsys.readouterr().out
    assert "+budget: 3000" in shown
    assert manifest.read_bytes() == before
    assert run(["lint", str(petstore), *budget, "--fix"]) == 1
    after = manifest.read_bytes()
    assert b"\nbudget: 3000\n" in after
    assert after.replace(b"budget: 3000\n", b"") == before
    assert "now run `mcpgen generate`" in capsys.readouterr().out


def test_a_manifest_that_cannot_be_edited_is_rejected(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = petstore / "mcpgen.yaml"
    text = manifest.read_text() + "\nbudget: >-\n  5000\n"
    manifest.write_text(text)
    code = run(["lint", str(petstore), "--tokens-budget", "1500", "--fix"])
    assert code == 3
    assert manifest.read_text() == text
    capsys.readouterr()


def test_pins_of_a_project_are_kept_with_its_evidence(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lint", str(petstore), "--pin"]) == 0
    pins = petstore / ".mcpgen" / "evidence" / "pins.json"
    assert len(json.loads(pins.read_text())["servers"]["petstore"]["tools"]["get_pet"]) == 64
    report_of_now = run(["lint", str(petstore)])
    assert report_of_now == 0
    listing = petstore / "src" / "petstore_mcp" / "_generated" / "listing.json"
    listing.write_text(listing.read_text().replace("Fetch one pet", "Fetch one of the pets"))
    capsys.readouterr()
    report = report_of(capsys, str(petstore), code=1)
    changed = [each for each in report["findings"] if each["rule"] == "definition-changed"]
    assert [each["severity"] for each in changed] == ["error"]


def test_a_file_of_pins_can_hold_several_servers(
    petstore: Path, listed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pins = tmp_path / "pins.json"
    run(["lint", str(petstore), "--pins", str(pins), "--pin"])
    listed.write_text(json.dumps([{"name": "get_pet", "inputSchema": {"type": "object"}}]))
    capsys.readouterr()
    report = report_of(capsys, str(listed), "--pins", str(pins), code=1)
    assert "shadowed-tool" in {each["rule"] for each in report["findings"]}


def test_servers_that_are_used_together_are_compared(
    petstore: Path, listed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed.write_text(json.dumps([{"name": "get_pet", "inputSchema": {"type": "object"}}]))
    report = report_of(capsys, str(petstore), "--beside", str(listed), code=1)
    (finding,) = [each for each in report["findings"] if each["rule"] == "shadowed-tool"]
    assert finding["message"] == "`get_pet` is also a tool of `tools`"


@pytest.mark.parametrize("content", ["[]", '{"version": 2, "servers": {}}', "{"])
def test_a_file_that_has_no_pins_is_a_usage_error(
    petstore: Path, tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pins.json").write_text(content)
    assert run(["lint", str(petstore), "--pins", str(tmp_path / "pins.json")]) == 2
    assert "pins" in capsys.readouterr().err


def test_the_result_is_recorded_with_the_hashes_of_its_inputs(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = petstore / ".mcpgen" / "evidence" / "lint.json"
    path.unlink(missing_ok=True)
    run(["lint", str(petstore), "--diff"])
    assert not path.exists()
    capsys.readouterr()
    report = report_of(capsys, str(petstore), "--targets", "cursor", code=1)
    evidence = json.loads(path.read_text())
    assert (evidence["check"], evidence["outcome"]) == ("lint", "failed")
    assert evidence["result"] == "1 warning, 5 notes"
    assert list(evidence["tools"]) == ["mcpgen"]
    assert evidence["clients"] == ["cursor"]
    assert sum(evidence["rules"].values()) == len(report["findings"])
    assert evidence["counts"] == {"note": 5, "warning": 1}
    members = ("rule", "severity", "message", "help")
    assert [{key: it[key] for key in members} for it in evidence["findings"]] == [
        {key: it[key] for key in members} for it in report["findings"]
    ]
    assert evidence["findings"][0]["tool"]
    assert evidence["more_findings"] == 0
    assert evidence["inputs"]["lock"]
    report_of(capsys, str(petstore), code=0)
    assert json.loads(path.read_text())["outcome"] == "passed"


def test_the_recorded_findings_are_bounded(
    petstore: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mcpgen.factory.lint.report._MOST_RECORDED", 2)
    monkeypatch.setattr("mcpgen.factory.lint.report._MAX_RECORDED_TEXT", 40)
    report = report_of(capsys, str(petstore), code=0)
    evidence = json.loads((petstore / ".mcpgen/evidence/lint.json").read_text())
    assert len(evidence["findings"]) == 2
    assert evidence["more_findings"] == len(report["findings"]) - 2
    assert max(len(it["message"]) for it in evidence["findings"]) <= 40


def test_the_effects_on_all_known_clients_are_recorded(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = report_of(capsys, str(petstore), "--matrix", code=0)
    evidence = json.loads((petstore / ".mcpgen/evidence/lint.json").read_text())
    effects = evidence["client_effects"]
    assert effects.keys() == read_clients().keys()
    assert evidence["tools_listed"] == len(report["tools"])
    assert effects["claude-code"] == {"effect": "ok", "limits": [], "tools": 0}
    affected = {
        client: {
            tool for tool, cells in report["matrix"]["tools"].items() if cells[client].get("limits")
        }
        for client in effects
    }
    assert {client: it["tools"] for client, it in effects.items()} == {
        client: len(tools - {"(server)"}) for client, tools in affected.items()
    }
    strict = effects["openai-strict"]
    assert strict["effect"] == "breaks"
    assert strict["limits"]
    assert all(
        line.startswith(("breaks: ", "degraded: ", "dropped: ")) for line in strict["limits"]
    )
