"""Tests of `mcpgen add`, `remove`, `list` and `doctor`: output, exit codes, and prompts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli import questions
from mcpgen.cli.app import run
from mcpgen.cli.output.report import Printer
from tests.unit.factory.clients.conftest import home  # noqa: F401  (the fixture)

SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {"tools": [{"name": NAME, "inputSchema": {"type": "object"}}]}
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"],
                  "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def report(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    assert run(list(words)) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def write_server(folder: Path, tool: str = "get_pet") -> Path:
    path = folder / "server.py"
    path.write_text(SERVER.replace("NAME", repr(tool)))
    return path


@pytest.fixture
def cursor(home: Path) -> Path:  # noqa: F811
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {}, /* mine */ }')
    return path


def test_a_server_is_added_listed_and_removed(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = cursor.read_bytes()
    found = report(
        capsys, "add", "--json", "--client", "cursor", "--name", "x", "--", "run", "-a b"
    )
    assert found["written"]
    assert found["changes"][0]["file"] == str(cursor)
    listed = report(capsys, "list", "--json")["servers"]
    assert [(it["client"], it["name"], it["server"]) for it in listed] == [
        ("cursor", "x", "run -a b")
    ]
    assert report(capsys, "remove", "x", "--json")["written"]
    assert cursor.read_bytes() == before


def test_a_dry_run_shows_the_change_and_writes_nothing(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = cursor.read_bytes()
    assert run(["add", "--client", "cursor", "--dry-run", "--name", "x", "--", "run"]) == 0
    assert '+{"mcpServers": {"x": {"command": "run"' in capsys.readouterr().out
    assert cursor.read_bytes() == before


@pytest.mark.parametrize(("answer", "is_written"), [(True, True), (False, False)])
def test_a_terminal_confirms(
    answer: bool, is_written: bool, cursor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Printer, "can_ask", property(lambda _: True))
    monkeypatch.setattr(questions, "confirm_write", lambda: answer)
    assert run(["add", "--client", "cursor", "--name", "x", "--", "run"]) == 0
    assert ('"run"' in cursor.read_text()) is is_written


def test_what_cannot_be_added_anywhere_is_added_nowhere(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = cursor.read_bytes()
    words = ["--client", "cursor,claude-desktop", "https://mcp.x.example/mcp"]
    found = report(capsys, "add", "--json", *words, code=2)
    assert not found["written"]
    assert found["findings"][0]["rule"] == "unsupported"
    assert cursor.read_bytes() == before


def test_a_broken_file_is_rejected_with_its_place(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cursor.write_text('{"mcpServers": {\n  oops')
    found = report(capsys, "add", "--json", "--client", "cursor", "--", "run", code=3)
    (finding,) = found["findings"]
    assert (finding["file"], finding["line"], finding["column"]) == (str(cursor), 2, 3)
    assert '"run"' in found["snippet"]
    assert cursor.read_text() == '{"mcpServers": {\n  oops'


def test_an_entry_of_somebody_else_is_a_conflict(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cursor.write_text('{"mcpServers": {"x": {"command": "theirs"}}}')
    words = ["--json", "--client", "cursor", "--name", "x"]
    assert report(capsys, "add", *words, "--", "run", code=4)["outcome"] == "conflict"
    assert report(capsys, "add", *words, "--replace", "--", "run")["written"]
    assert report(capsys, "add", "--undo", "--json")["restored"] == [str(cursor)]
    assert "theirs" in cursor.read_text()


def test_clients_with_unknown_files_get_an_entry_to_paste(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["add", "--client", "lm-studio", "--name", "x", "--", "run"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out.partition("nothing")[0])["mcpServers"]["x"]["command"] == "run"
    assert "snippet-only" in output.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "--", "run"], "no client was chosen"),
        (["add", "--client", "cursr", "--", "run"], "unknown client `cursr`"),
        (["add", "--client", "cursor", "--scope", "project", "-y", "."], "no generated package"),
        (["remove", "nothing"], "mcpgen added no server `nothing`"),
        (["doctor", "nothing"], "no client has a server `nothing`"),
    ],
)
def test_wrong_usage_is_explained(
    words: list[str], message: str, cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    assert message in capsys.readouterr().err


def test_doctor_starts_a_server_as_its_client_would(
    cursor: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = write_server(tmp_path)
    words = ["--name", "x", "--env", "ABSENT_TOKEN", "--", sys.executable, str(server)]
    report(capsys, "add", "--json", "--client", "cursor", *words)
    found = report(capsys, "doctor", "--json")
    assert (found["servers"][0]["healthy"], found["servers"][0]["tools"]) == (True, 1)
    assert [it["rule"] for it in found["findings"]] == ["variable-not-set"]


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        (["/nowhere/server"], "command-not-found"),
        ([sys.executable, "-c", "raise SystemExit('no key')"], "unreachable"),
    ],
)
def test_doctor_says_why_a_server_is_not_seen(
    command: list[str], rule: str, cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report(capsys, "add", "--json", "--client", "cursor", "--name", "x", "--", *command)
    found = report(capsys, "doctor", "x", "--json", code=1)
    assert [it["rule"] for it in found["findings"]] == [rule]
    assert not found["servers"][0]["healthy"]


def test_doctor_names_tools_that_the_client_drops(
    cursor: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = write_server(tmp_path, "t" * 60)
    words = ["--name", "x", "--", sys.executable, str(server)]
    report(capsys, "add", "--json", "--client", "cursor", *words)
    found = report(capsys, "doctor", "--json", code=1)
    assert "drops tools" in found["findings"][0]["message"]


def test_doctor_reports_a_disabled_server(cursor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cursor.write_text('{"mcpServers": {"x": {"command": "true", "disabled": true}}}')
    found = report(capsys, "doctor", "x", "--json", code=1)
    assert [it["rule"] for it in found["findings"]] == ["disabled"]


def test_known_clients_are_listed(cursor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {it["id"]: it for it in report(capsys, "list", "--clients", "--json")["clients"]}
    assert found["cursor"]["detected"]
    assert not found["zed"]["detected"]
    assert found["cursor"]["user_file"] == str(cursor)
