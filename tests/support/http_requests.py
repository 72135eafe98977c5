"""Requests to the server `small_mcp` on a port, also through TLS and a proxy."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator

from tests.support.http_server import BOUND_SECONDS, MODERN, modern, tool_call
from tests.support.stdio_process import initialize

USUAL = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MODERN_ECHO = {
    **USUAL,
    "MCP-Protocol-Version": MODERN,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "echo",
}
ECHO = modern("tools/call", {"name": "echo", "arguments": {"text": "ä"}})
Answer = tuple[int, dict[str, str], bytes]


def connect(port: int, tls: ssl.SSLContext | None = None) -> http.client.HTTPConnection:
    """Return a client; with TLS, it requests the host `localhost`."""
    if tls is None:
        return http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND_SECONDS)
    return http.client.HTTPSConnection("localhost", port, timeout=BOUND_SECONDS, context=tls)


def ask(
    port: int,
    method: str,
    path: str,
    fields: dict[str, str],
    data: bytes | None = None,
    *,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """Send a request; return the response without fields of the server software."""
    connection = connect(port, tls)
    connection.request(method, path, data, fields)
    response = connection.getresponse()
    headers = {name.lower(): value for name, value in response.getheaders()}
    answer = response.read()
    connection.close()
    for name in ("date", "server", "connection", "transfer-encoding", "via", "alt-svc"):
        headers.pop(name, None)
    return response.status, headers, answer


def use_session(port: int, revision: str) -> Iterator[Answer]:
    """Open a session, call a tool and close the session; return the responses without its id."""
    opened = ask(port, "POST", "/mcp", USUAL, json.dumps(initialize(revision)).encode())
    session = {**USUAL, "Mcp-Session-Id": opened[1].pop("mcp-session-id")}
    if revision != "2025-03-26":
        session["MCP-Protocol-Version"] = revision
    yield opened
    yield ask(
        port, "POST", "/mcp", session, b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    )
    call = tool_call("echo", text="a")
    yield ask(port, "POST", "/mcp", session, json.dumps(call).encode())
    yield ask(port, "DELETE", "/mcp", session)
    yield ask(port, "POST", "/mcp", session, json.dumps(call).encode())


def use_sse(port: int, tls: ssl.SSLContext | None = None) -> list[bytes]:
    """Use the transport of 2024-11-05; return the lines of its stream without the session id.

    The stream stays open: an event that is buffered on the way does not arrive.
    """
    stream = connect(port, tls)
    stream.request("GET", "/sse", headers={"Accept": "text/event-stream"})
    response = stream.getresponse()
    lines = [response.readline(), response.readline(), response.readline()]
    endpoint = lines[1].removeprefix(b"data: ").strip().decode()
    lines[1] = endpoint.partition("=")[0].encode()
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    for message in (initialize("2024-11-05"), initialized, tool_call("echo", text="a")):
        data = json.dumps(message).encode()
        assert ask(port, "POST", endpoint, USUAL, data, tls=tls)[0] == 202
    lines += [response.readline() for _ in range(4)]
    stream.close()
    return lines
