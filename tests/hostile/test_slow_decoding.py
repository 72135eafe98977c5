"""Tests that decoding a response or a request never blocks other clients."""

from __future__ import annotations

import concurrent.futures
import contextlib
import http.client
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import (
    PREFIX,
    AttackedServer,
    Bystander,
    HttpClient,
    generate,
    serve_http,
    serve_stdio,
)

MEGABYTES_10 = 10 * 1024 * 1024 - 1024
WATCHDOG = "MCPGEN_WATCHDOG_MS"

JSON_ATTACKS = {
    "pairs of brackets": b"[" + b"[]," * (MEGABYTES_10 // 3) + b"1]",
    "as many arrays as are allowed": b"[" + b"[]," * 499_000 + b"1]",
    "open brackets": b"[" * MEGABYTES_10,
    "nested objects": b'{"a":' * 120 + b"[" + b"1," * 1_200_000 + b"1]" + b"}" * 120,
    "slow numbers": b"[" + b"1e-308," * 1_290_000 + b"1]",
    "a number of many digits": b"[" + b"7" * 100_000 + b"," + b"9" * 5_000_000 + b"]",
    "one string of escapes": b'["' + b"\\u202e" * (MEGABYTES_10 // 6) + b'"]',
    "many names": b"{" + b",".join(b'"%07d":1' % i for i in range(515_000)) + b"}",
    "brackets in strings": b'["' + b"[,:{" * (MEGABYTES_10 // 4) + b'"]',
    "what is not JSON in the end": b"[" + b"1," * 1_000_000,
}
TEXT_ATTACKS = {
    "punycode": ("text/plain; charset=punycode", b"a" * 1_500_000),
    "idna": ("text/plain; charset=idna", b"a" * 1_500_000),
    "an unknown charset": (f"text/plain; charset={'x' * 4000}", b"a" * 100),
    "invalid bytes": ("text/plain; charset=windows-1253", b"\xff" * 4_000_000),
    "UTF-16 of halves": ("text/plain; charset=utf-16", b"\x00\xd8" * 3_000_000),
    "invisible text": ("text/plain", "\u200b".encode() * (MEGABYTES_10 // 3)),
    "events without content": ("text/event-stream", b"\n" * MEGABYTES_10),
    "short events": ("text/event-stream", b"data:1\n\n" * (MEGABYTES_10 // 8)),
    "one event of many lines": ("text/event-stream", b"data:\n" * (MEGABYTES_10 // 6) + b"\n"),
    "short lines of JSON": ("application/x-ndjson", b"1\n" * (MEGABYTES_10 // 2)),
    "sequence of nothing": ("application/json-seq", b"\x1e" * MEGABYTES_10),
}
ERROR_ATTACKS = {
    "an error of brackets": ("application/json", b"[" + b"[]," * (MEGABYTES_10 // 3) + b"1]"),
    "an error like tokens": ("text/plain", b"eyJ" * (MEGABYTES_10 // 3)),
    "an error in punycode": ("text/plain; charset=punycode", b"a" * 1_500_000),
}
HEADER_ATTACKS = {
    "Link": "<https://a.example/?p=2>;rel=" + " " * 7_000 + "x",
    "Retry-After": "Mon, " + "1:" * 3_000,
}


def document() -> dict[str, Any]:
    any_type = {
        "operationId": "getAny",
        "summary": "Get anything",
        "parameters": [{"name": "page", "in": "query", "schema": {"type": "integer"}}],
        "responses": {
            "200": {
                "description": "OK",
                "content": {
                    name: {}
                    for name in (
                        "application/json",
                        "text/plain",
                        "text/event-stream",
                        "application/x-ndjson",
                        "application/json-seq",
                    )
                },
            }
        },
    }
    return api_document({"/json": {"get": operation("getJson")}, "/any": {"get": any_type}})


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("decoding"), document())


@pytest.fixture
def server(project: Path, api: HostileApi) -> Iterator[AttackedServer]:
    environ = {f"{PREFIX}BASE_URL": api.base_url, WATCHDOG: "100"}
    with serve_http(project, environ) as server:
        yield server


def answer_with(
    api: HostileApi, path: str, content_type: str, body: bytes, status: int = 200, **headers: str
) -> None:
    async def answer(exchange: Exchange) -> None:
        fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        await exchange.answer(body, status=status, content_type=content_type, headers=fields)

    api.on(path, answer)


def attack(server: AttackedServer, tool: str, times: int = 1) -> list[dict[str, Any]]:
    """Call a tool while a bystander is served; return the results."""

    def call(_: int) -> dict[str, Any]:
        with HttpClient(server.port) as client:
            result: dict[str, Any] = client.call_tool(tool, {})["result"]
            return result

    with Bystander(server) as bystander:
        while bystander.rounds < 1:
            time.sleep(0.01)
        with concurrent.futures.ThreadPoolExecutor(times) as threads:
            results = list(threads.map(call, range(times)))
        rounds = bystander.rounds
        while bystander.rounds < rounds + 2:
            time.sleep(0.01)
    bystander.check()
    return results


def test_slow_json_from_an_api_does_not_block_other_clients(
    server: AttackedServer, api: HostileApi
) -> None:
    for name, body in JSON_ATTACKS.items():
        answer_with(api, "/json", "application/json", body)
        (result,) = attack(server, "get_json")
        assert len(json.dumps(result)) < 1_000_000, name  # 6 characters for each invisible one
    assert "Traceback" not in server.log


def test_slow_text_from_an_api_does_not_block_other_clients(
    server: AttackedServer, api: HostileApi
) -> None:
    for name, (content_type, body) in TEXT_ATTACKS.items():
        answer_with(api, "/any", content_type, body)
        (result,) = attack(server, "get_any")
        is_binary = name in {"punycode", "idna", "an unknown charset"}
        if is_binary:
            assert [block["type"] for block in result["content"]] == ["resource", "text"], name
            assert "charset" in result["content"][1]["text"]
        else:
            assert len(json.dumps(result)) < 1_500_000, name


def test_slow_errors_and_headers_from_an_api_do_not_block_other_clients(
    server: AttackedServer, api: HostileApi
) -> None:
    for name, (content_type, body) in ERROR_ATTACKS.items():
        answer_with(api, "/any", content_type, body, 400)
        (result,) = attack(server, "get_any")
        assert result["isError"], name
    for header, value in HEADER_ATTACKS.items():
        answer_with(api, "/any", "application/json", b"[]", 429, **{header: value})
        (result,) = attack(server, "get_any")
        assert result["isError"], header


def test_a_legitimate_response_of_10_megabytes_is_shortened(
    server: AttackedServer, api: HostileApi
) -> None:
    record = {"id": 12345, "name": "Jane Doe", "tags": ["a", "b"], "at": "2024-01-01T00:00:00Z"}
    body = json.dumps({"items": [record] * 125_000}, separators=(",", ":")).encode()
    assert 9_000_000 < len(body) < MEGABYTES_10
    answer_with(api, "/json", "application/json", body)
    results = attack(server, "get_json", times=2)
    for result in results:
        assert "isError" not in result, result["content"]
        items = result["structuredContent"]["result"]["items"]
        assert items[:2] == [record, record]
        assert len(result["content"][0]["text"]) <= 100_000
        assert "of 125,000 items" in result["content"][1]["text"]


def test_slow_request_bodies_of_a_client_do_not_block_other_clients(
    server: AttackedServer, api: HostileApi
) -> None:
    answer_with(api, "/any", "application/json", b"[]")
    texts = {
        "slow numbers": "[" + "1e-308," * 99_000 + "1]",
        "brackets": "[" + "[]," * 1_300_000 + "1]",
        "digits": "1" * 100_000,
        "many long integers": "[" + ",".join(["9" * 4_300] * 900) + "]",
        "unbalanced pairs": "[]" * 1_900_000,
    }
    for name, text in texts.items():
        body = (
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_any",'
            f'"arguments":{{"page":{text}}},"_meta":{{}}}}}}'
        )
        with Bystander(server) as bystander:
            while bystander.rounds < 1:
                time.sleep(0.01)
            assert post(server, body), name
            rounds = bystander.rounds
            while bystander.rounds < rounds + 2:
                time.sleep(0.01)
        bystander.check()


def post(server: AttackedServer, body: str) -> bytes:
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": "2026-07-28",
    }
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    with contextlib.closing(connection):
        connection.request("POST", "/mcp", body, headers)
        return connection.getresponse().read()


def test_a_blocked_event_loop_is_reported_with_the_tool_call(
    project: Path, api: HostileApi
) -> None:
    handlers = project / "src" / "attacked_mcp" / "handlers" / "slow.py"
    handlers.write_text(
        "import time\n\nfrom mcpgen.runtime import Context, Features\n\nfeatures = Features()\n\n\n"
        "@features.tool()\ndef block(ctx: Context) -> str:\n"
        '    """Block the event loop."""\n    time.sleep(3)\n    return "done"\n'
    )
    try:
        environ = {f"{PREFIX}BASE_URL": api.base_url, WATCHDOG: "1500"}
        with serve_http(project, environ) as server:
            with HttpClient(server.port) as client:
                assert client.call_tool("block", {})["result"]["content"][0]["text"] == "done"
            assert_reports_block(lambda: server.log)
        with serve_stdio(project, environ, stderr=subprocess.PIPE) as server:
            meta = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            params = {"name": "block", "arguments": {}, "_meta": meta}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            out, err = server.process.communicate(json.dumps(message).encode() + b"\n", 60)
            assert b"done" in out
            assert_reports_block(err.decode)
    finally:
        handlers.unlink()


def assert_reports_block(read_log: Any) -> None:
    due = time.monotonic() + 30
    pattern = r"warning: the event loop was late by \d{4} ms, in block \(\S+:\d+\), for tools/call"
    while not re.search(pattern, read_log()) and time.monotonic() < due:
        time.sleep(0.05)
    assert re.search(pattern, read_log()), read_log()
