"""Tests of the log line of each call, as text and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from mcpgen.runtime.content import ToolResult
from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.process import log
from mcpgen.runtime.telemetry.observer import RequestObserver
from mcpgen.runtime.upstream.response.redaction import Redactor
from tests.runtime.telemetry.conftest import FACTS
from tests.support.protocol_client import Peer, definition

KEYS = [
    "time", "level", "message", "request", "principal", "tool", "outcome", "code", "status", "ms",
    "upstream_ms", "attempts", "trace",
]  # fmt: skip
META = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    written: list[str] = []
    monkeypatch.setattr(log, "_sink", written.append)
    yield written
    log.set_log_style("info", "text")


def make_peer(principal: str = "") -> Peer:
    observer = RequestObserver(FACTS, logs_calls=True)
    return Peer("2026-07-28", definition(observer=observer), principal=principal)


def test_a_call_has_one_line_of_text_without_its_arguments(lines: list[str]) -> None:
    peer = make_peer()
    peer.call(arguments={"text": "private"}, _meta=META).succeed(ToolResult(()))
    (line,) = lines
    assert re.fullmatch(
        r"info: tools/call tool_0 request=1 tool=tool_0 outcome=ok ms=\d+\.\d upstream_ms=0\.0 "
        r"attempts=0 trace=4bf92f3577b34da6a3ce929d0e0e4736\n",
        line,
    )


def test_a_line_of_json_has_the_documented_keys(lines: list[str]) -> None:
    log.set_log_style("info", "json")
    peer = make_peer("issuer user")
    peer.call(id="seven", arguments={"text": "private"}).fail(ToolError("broken"))
    line = json.loads(lines[0])
    assert list(line) == KEYS
    assert (line["request"], line["outcome"], line["code"]) == ("seven", "error", -32603)
    assert re.fullmatch("[0-9a-f]{16}", line["principal"])
    assert "private" not in lines[0]
    assert "broken" not in lines[0]


@pytest.mark.parametrize(
    ("level", "logged"),
    [("debug", ["info", "debug"]), ("info", ["info"]), ("warning", []), ("error", [])],
)
def test_lines_below_the_level_are_not_written(
    level: str, logged: list[str], lines: list[str]
) -> None:
    log.set_log_style(level, "text")
    peer = make_peer()
    peer.call().succeed(ToolResult(()))
    peer.frames()
    peer.ask("tools/list")
    assert [line.partition(":")[0] for line in lines] == logged


def test_a_long_line_of_json_is_valid_and_within_the_bound(lines: list[str]) -> None:
    log.set_log_style("info", "json")
    log.log("error", "\x00é\U0001f600" * 1000, {"request": "\x1b" * 1000, "ms": 1.5})
    assert len(lines[0].encode()) <= log.MAX_LINE_BYTES
    assert json.loads(lines[0])["level"] == "error"
    assert lines[0].endswith("}\n")


def test_secrets_are_masked_in_json(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_hide", Redactor(("hunter2222",)).clean)
    log.set_log_style("info", "json")
    log.log("info", "with hunter2222", {"request": "hunter2222"})
    line = json.loads(lines[0])
    assert (line["message"], line["request"]) == ("with ***", "***")
