"""Tests of the messages of commands about tools that exceed the token budget."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from tests.support.paths import EXAMPLES

CHATDESK = EXAMPLES / "chatdesk-mcp"
INSTEAD = "are found and called by search_tools, describe_tool and call_tool"


@pytest.fixture
def chatdesk(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CHATDESK, tmp_path / "chatdesk-mcp"))


def test_tokens_shows_every_tool_and_the_budget(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["tools", str(CHATDESK), "--tokens"]) == 0

    header, *lines, total, others = capsys.readouterr().out.splitlines()
    assert header.split() == ["tokens", "input", "output", "tool"]
    costs = {line.split()[3]: int(line.split()[0].replace(",", "")) for line in lines}
    three = sum(costs.pop(name) for name in ("search_tools", "describe_tool", "call_tool"))
    assert len(costs) == 129
    assert total == (
        f"3 tools; listing them costs about {three:,} tokens; all of them would cost about "
        f"{sum(costs.values()):,}, over the budget of 20,000, and {INSTEAD}"
    )
    assert others == "129 other tools can be searched for and called"


def test_json_reports_the_listing_costs_and_the_budget(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tools", str(CHATDESK), "--tokens", "--json"]) == 0

    report = json.loads(capsys.readouterr().out)
    listing = report["listing"]
    assert [tool["name"] for tool in report["tools"]] == sorted(listing["search_tools"])
    assert listing["listed"] == report["token_cost"] < listing["budget"] < listing["all_tools"]
    costs = {cost["name"]: cost for cost in report["costs"]}
    assert len(costs) == 132
    parts = costs["convert_lead"]
    assert parts["input_schema_tokens"] + parts["output_schema_tokens"] < parts["tokens"]
    assert parts["output_schema_tokens"] > 50


def test_generate_reports_how_a_smaller_budget_is_met(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = petstore / "mcpgen.yaml"
    manifest.write_text(f"{manifest.read_text()}\nbudget: 1000\n")

    assert run(["generate", str(petstore), "-q"]) == 0

    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("14 tools; what is listed costs about ")
    assert last.endswith(f"over the budget of 1,000, and {INSTEAD}")
    assert run(["tools", str(petstore)]) == 0
    assert "14 other tools" in capsys.readouterr().out


def test_an_operation_exposed_as_a_resource_is_not_found_by_search(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = petstore / "mcpgen.yaml"
    exposed = '{"GET /store/inventory": {expose: resource}}'
    manifest.write_text(f"{manifest.read_text()}\nbudget: 1000\noperations: {exposed}\n")
    assert run(["generate", str(petstore), "-q"]) == 0

    assert run(["call", "search_tools", str(petstore), "--arg", "query=get_inventory"]) == 0
    assert '"get_inventory"' not in capsys.readouterr().out
    assert run(["call", "describe_tool", str(petstore), "--arg", "name=get_inventory"]) == 1
    assert "Unknown tool `get_inventory`" in capsys.readouterr().out


def test_a_greater_budget_lists_all_tools_again(
    chatdesk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = chatdesk / "mcpgen.yaml"
    manifest.write_text(re.sub(r"(?m)^budget: .*", "budget: 100000", manifest.read_text()))

    assert run(["generate", str(chatdesk), "-q"]) == 0
    assert INSTEAD not in capsys.readouterr().out
    assert not list(chatdesk.glob("src/*/_generated/search_*"))
    assert run(["tools", str(chatdesk)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "129 tools"


def test_a_tool_that_is_not_listed_is_called_by_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--mock", "--arg", "bot_id=bot_123456"]

    assert run(["call", "get_bot", str(CHATDESK), *arguments]) == 0

    assert capsys.readouterr().out.startswith("> GET http://127.0.0.1:")


def test_a_tool_is_called_and_described_by_a_former_name(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = petstore / "mcpgen.yaml"
    manifest.write_text(f"{manifest.read_text()}\nbudget: 1000\naliases: {{pet_by_id: get_pet}}\n")
    assert run(["generate", str(petstore), "-q"]) == 0

    assert run(["call", "pet_by_id", str(petstore), "--mock", "--arg", "pet_id=7"]) == 0
    assert "/v1/pets/7\n" in capsys.readouterr().out
    assert run(["call", "describe_tool", str(petstore), "--arg", "name=pet_by_id"]) == 0
    assert '"name": "get_pet"' in capsys.readouterr().out


def test_with_a_toolset_unlisted_tools_can_be_called_but_not_searched(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["tools", str(CHATDESK)]) == 0
    assert capsys.readouterr().out.endswith("129 other tools can be searched for and called\n")
    monkeypatch.setenv("CHATDESK_TOOLSET", "webhooks")
    assert run(["tools", str(CHATDESK)]) == 0
    assert re.search(r"\d+ other tools can be called\n\Z", capsys.readouterr().out)
