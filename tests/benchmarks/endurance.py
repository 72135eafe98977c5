"""Measure the memory that a server retains after many calls, and for each idle session.

Both are compared with a bound instead of a peer: for the candidate "bound", they return it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from measures import CALL, IN_FLIGHT
from processes import Candidate, http_server, request_line, resident_megabytes, stdio_server

CALLS = 100_000
SESSIONS = 10_000
FIRST_SESSIONS = 500  # warm up what all sessions share
GROWTH_MB = 1.0
SESSION_KB = 10.0
_LEAST = 0.01  # lower limit, so that the ratio is positive: memory may shrink

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}},
        "clientInfo": {"name": "endurance", "version": "1.0.0"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def growth(candidate: Candidate) -> dict[str, float]:
    """Return the megabytes by which a stdio server grows over 100,000 calls, 64 in flight."""
    if candidate.name == "bound":
        return {"mb": GROWTH_MB}
    batch = b"".join(request_line(number, "tools/call", CALL) for number in range(IN_FLIGHT))
    with stdio_server(candidate, 1) as server:
        call_many(server.process, batch, CALLS // 5)
        before = resident_megabytes(server.pid)
        call_many(server.process, batch, CALLS)
        return {"mb": max(_LEAST, resident_megabytes(server.pid) - before)}


def call_many(process, batch: bytes, count: int) -> None:  # type: ignore[no-untyped-def]
    """Send a batch repeatedly; responses are counted by their lines."""
    for _ in range(count // IN_FLIGHT):
        process.stdin.write(batch)
        process.stdin.flush()
        for _ in range(IN_FLIGHT):
            if not process.stdout.readline():
                raise RuntimeError("the server said nothing more")


def session_size(candidate: Candidate) -> dict[str, float]:
    """Measure the kilobytes per session with 10,000 open and idle legacy sessions."""
    if candidate.name == "bound":
        return {"kb": SESSION_KB}
    with http_server(candidate, 1) as (pid, port):
        asyncio.run(open_sessions(port, FIRST_SESSIONS))
        before = resident_megabytes(pid)
        rest = SESSIONS - FIRST_SESSIONS
        asyncio.run(open_sessions(port, rest))
        return {"kb": max(_LEAST, (resident_megabytes(pid) - before) * 1024 / rest)}


async def open_sessions(port: int, count: int) -> None:
    """Initialize `count` sessions over one kept-alive connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        writer.write(post(port, INITIALIZE))
        status, session_id = await read_head(reader)
        if status != 200:
            raise RuntimeError(f"a session was answered with {status}")
        writer.write(post(port, INITIALIZED, f"Mcp-Session-Id: {session_id}\r\n"))
        await read_head(reader)
    writer.close()
    await writer.wait_closed()


def post(port: int, message: Mapping[str, object], more: str = "") -> bytes:
    """Return a POST request of a client of 2025-11-25."""
    body = json.dumps(message).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"
        f"{more}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def read_head(reader: asyncio.StreamReader) -> tuple[int, str]:
    """Read one response; return its status, and the id of the session that it opens or ""."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    lines = (line.split(": ", 1) for line in head.strip().split("\r\n")[1:])
    fields = {name.lower(): value for name, value in lines}
    await reader.readexactly(int(fields.get("content-length", 0)))
    return int(head.split()[1]), fields.get("mcp-session-id", "")
