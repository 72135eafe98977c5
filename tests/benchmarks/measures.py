"""Benchmarks of a server, each measured as CPU time of the server alone."""

from __future__ import annotations

import json

from http_load import Check, http_load
from processes import (
    MODERN_META,
    Candidate,
    cpu_seconds,
    http_server,
    request_line,
    resident_megabytes,
    stdio_server,
)

WARM_UP = 200
SEQUENTIAL_CALLS = 1_500
PIPELINED_CALLS = 6_400
IN_FLIGHT = 64
LISTS = 40
HTTP_CALLS = 3_200
ARGUMENTS = {"text": "ab", "times": 3}
ANSWER = "ababab"
CALL: dict[str, object] = {"name": "repeat_0", "arguments": ARGUMENTS}


def check(answer: dict[str, object]) -> None:
    """Raise an error unless the response is the expected one."""
    result = answer.get("result")
    text = result["content"][0]["text"] if isinstance(result, dict) else None
    if text != ANSWER:
        raise RuntimeError(f"wrong answer: {json.dumps(answer)[:300]}")


def cold_start(candidate: Candidate, tools: int = 1) -> dict[str, float]:
    """Return CPU milliseconds and resident megabytes from spawn to the first tools/list result."""
    with stdio_server(candidate, tools) as server:
        answer = server.ask("tools/list", {})
        cpu = cpu_seconds(server.pid)
        if not answer["result"]["tools"]:  # type: ignore[index]
            raise RuntimeError("no tools listed")
        return {"cpu_ms": cpu * 1000, "rss_mb": resident_megabytes(server.pid)}


def first_call(
    candidate: Candidate, *, call: dict[str, object] = CALL, check: Check = check
) -> dict[str, float]:
    """Return CPU milliseconds from the first tools/list result to the first tools/call result."""
    with stdio_server(candidate, 1) as server:
        server.ask("tools/list", {})
        before = cpu_seconds(server.pid)
        check(server.ask("tools/call", call))
        return {"cpu_ms": (cpu_seconds(server.pid) - before) * 1000}


def sequential(
    candidate: Candidate,
    tools: int = 1,
    *,
    call: dict[str, object] = CALL,
    check: Check = check,
) -> dict[str, float]:
    """Return CPU microseconds of one tools/call, with one call at a time."""
    with stdio_server(candidate, tools) as server:
        for _ in range(WARM_UP):
            server.ask("tools/call", call)
        before = cpu_seconds(server.pid)
        for identifier in range(SEQUENTIAL_CALLS):
            check(server.ask("tools/call", call, identifier))
        return {"cpu_us": (cpu_seconds(server.pid) - before) / SEQUENTIAL_CALLS * 1e6}


def pipelined(candidate: Candidate) -> dict[str, float]:
    """Return CPU microseconds of one tools/call with 64 in flight."""
    with stdio_server(candidate, 1) as server:
        lines = [request_line(identifier, "tools/call", CALL) for identifier in range(IN_FLIGHT)]
        server.exchange(lines)
        before = cpu_seconds(server.pid)
        for _ in range(PIPELINED_CALLS // IN_FLIGHT):
            for answer in server.exchange(lines):
                check(answer)
        return {"cpu_us": (cpu_seconds(server.pid) - before) / PIPELINED_CALLS * 1e6}


def list_pages(candidate: Candidate, tools: int = 1000) -> dict[str, float]:
    """Return CPU milliseconds to list all tools, over all pages."""
    with stdio_server(candidate, tools) as server:
        walk_pages(server, tools)
        before = cpu_seconds(server.pid)
        for _ in range(LISTS):
            walk_pages(server, tools)
        return {"cpu_ms": (cpu_seconds(server.pid) - before) / LISTS * 1000}


def walk_pages(server, tools: int) -> None:  # type: ignore[no-untyped-def]
    """List every tool once."""
    seen, cursor = 0, None
    while True:
        result = server.ask("tools/list", {} if cursor is None else {"cursor": cursor})["result"]
        seen += len(result["tools"])
        cursor = result.get("nextCursor")
        if cursor is None:
            break
    if seen != tools:
        raise RuntimeError(f"{seen} of {tools} tools listed")


def http_calls(
    candidate: Candidate,
    tools: int = 1,
    *,
    call: dict[str, object] = CALL,
    check: Check = check,
    is_numbered: bool = False,
) -> dict[str, float]:
    """Return CPU microseconds of one POST of tools/call over 16 kept connections."""
    with (
        http_server(candidate, tools) as (pid, port),
        http_load(port, post_request(port, call), check, is_numbered=is_numbered) as load,
    ):
        load.post(WARM_UP)
        before = cpu_seconds(pid)
        load.post(HTTP_CALLS)
        return {"cpu_us": (cpu_seconds(pid) - before) / HTTP_CALLS * 1e6}


def http_calls_with_new_heads(candidate: Candidate) -> dict[str, float]:
    """Measure like `http_calls`, with unique request heads, so that no cache of heads helps."""
    return http_calls(candidate, is_numbered=True)


def post_request(port: int, call: dict[str, object]) -> bytes:
    """Return a tools/call of 2026-07-28 as an HTTP request."""
    body = request_line(1, "tools/call", call).rstrip()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        f"MCP-Protocol-Version: {MODERN_META['io.modelcontextprotocol/protocolVersion']}\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: {call['name']}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
