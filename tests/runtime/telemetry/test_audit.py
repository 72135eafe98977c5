"""Tests of the audit file: its records of calls, and behavior while it cannot be written."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.content import ToolResult
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.process import log
from mcpgen.runtime.telemetry.audit import AuditFile
from mcpgen.runtime.telemetry.observer import RequestObserver
from mcpgen.runtime.telemetry.tool_facts import ToolFacts
from tests.runtime.telemetry.conftest import FACTS
from tests.support.paths import REPOSITORY
from tests.support.protocol_client import Peer, definition

KEYS = "k" * 32
SECRET = "a-private-argument"


def make_peer(path: Path, *, keys: str = KEYS, **facts: ToolFacts) -> Peer:
    observer = RequestObserver({**FACTS, **facts}, audit=AuditFile(str(path), keys))
    return Peer("2026-07-28", definition(observer=observer), principal="issuer user")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_call_that_changes_something_has_a_line_before_its_response(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    peer = make_peer(path)
    call = peer.call(name="echo", arguments={"text": SECRET})
    assert read(path) == []
    call.succeed(ToolResult(()))
    (line,) = read(path)  # the response is still in the outbox
    assert line.pop("time").endswith("+00:00")
    assert len(line.pop("arguments_hmac_sha256")) == 64
    assert line == {
        "principal": "issuer user",
        "client": "",
        "tool": "echo",
        "operation": "POST /echo",
        "request": "1",
        "outcome": "ok",
        "code": 0,
        "status": 0,
        "attempts": 0,
        "trace": "",
    }
    assert SECRET not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_call_that_only_reads_has_no_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    peer = make_peer(path)
    peer.ask("tools/list")
    peer.call(name="tool_0").succeed(ToolResult(()))
    assert read(path) == []


def test_a_cancelled_call_has_a_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    peer = make_peer(path)
    peer.cancel(peer.call(name="echo").id)
    assert [line["outcome"] for line in read(path)] == ["cancelled"]


def test_the_tool_that_tool_search_calls_is_named(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    peer = make_peer(path, call_tool=ToolFacts("", is_changing=False, calls_another=True))
    for name in ("echo", "tool_0"):
        arguments = {"name": name, "arguments": {"text": "x"}}
        peer.call(name="call_tool", arguments=arguments).succeed(ToolResult(()))
    assert [line["tool"] for line in read(path)] == ["echo"]


def test_the_hash_of_the_arguments_has_a_key(tmp_path: Path) -> None:
    hashes = []
    for number, keys in enumerate((KEYS, KEYS, "another key, of 32 characters...", "")):
        path = tmp_path / str(number)
        peer = make_peer(path, keys=keys)
        for arguments in ({"a": 1, "b": 2}, {"b": 2, "a": 1}):
            peer.call(name="echo", arguments=arguments).succeed(ToolResult(()))
        first, second = (line["arguments_hmac_sha256"] for line in read(path))
        assert first == second
        hashes.append(first)
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_a_moved_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    peer = make_peer(path)
    peer.call(name="echo").succeed(ToolResult(()))
    path.rename(tmp_path / "audit.log.1")
    peer.call(name="echo").succeed(ToolResult(()))
    assert [len(read(it)) for it in (path, tmp_path / "audit.log.1")] == [1, 1]


def test_a_changing_call_is_refused_while_the_file_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_sink", lambda line: None)
    folder = tmp_path / "logs"
    folder.mkdir()
    path = folder / "audit.log"
    peer = make_peer(path)
    path.unlink()
    folder.rmdir()
    error = peer.error("tools/call", name="echo", arguments={})
    assert error["message"] == "not called: the audit file of this server cannot be written"
    peer.call(name="tool_0").succeed(ToolResult(()))  # it changes nothing
    peer.frames()
    folder.mkdir()
    peer.call(name="echo").succeed(ToolResult(()))
    assert [line["outcome"] for line in read(path)] == ["ok"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_disk_delays_the_line_and_refuses_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(log, "_sink", lines.append)
    path = tmp_path / "audit.log"
    path.symlink_to("/dev/full")
    peer = make_peer(path)
    peer.call(name="echo").succeed(ToolResult(()))
    assert "result" in peer.frames()[0]  # it has taken effect
    assert "No space left" in lines[0]
    assert "error" in peer.ask("tools/call", name="echo", arguments={})
    path.unlink()
    peer.call(name="echo").succeed(ToolResult(()))
    assert [line["outcome"] for line in read(path)] == ["ok", "ok"]


def test_a_file_that_cannot_be_opened_is_an_invalid_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        AuditFile(str(tmp_path / "missing" / "audit.log"), setting="PETS_AUDIT_FILE")
    assert refused.value.setting == "PETS_AUDIT_FILE"


_WRITE = """
import sys
from mcpgen.runtime.telemetry.audit import AuditFile
file = AuditFile(sys.argv[1])
for number in range(300):
    file.write({"process": sys.argv[2], "number": number, "tool": "x" * 200}, {})
"""


@pytest.mark.slow
def test_lines_of_several_processes_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITE, str(path), str(number)],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        )
        for number in range(3)
    ]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    written = sorted((line["process"], line["number"]) for line in read(path))
    assert written == sorted((str(it), number) for it in range(3) for number in range(300))
