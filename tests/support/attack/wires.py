"""Raw connections of an attacker, and the bytes of requests sent on them."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from typing import Any

from tests.support.attack.server import ATTACKER_ADDRESS, LEGACY, MODERN

BOUND_SECONDS = 60.0
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Wires:
    """Connections of an attacker, closed at the end."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: list[socket.socket] = []

    def __enter__(self) -> Wires:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._open:
            each.close()

    def open(
        self,
        count: int = 1,
        sent: bytes = b"",
        *,
        address: str = ATTACKER_ADDRESS,
        receive_buffer: int | None = None,
    ) -> list[socket.socket]:
        """Open connections and send data on each; return those that accepted all of it."""
        opened = []
        for _ in range(count):
            each = socket.socket()
            self._open.append(each)
            each.settimeout(BOUND_SECONDS)
            if receive_buffer is not None:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            each.bind((address, 0))
            with contextlib.suppress(OSError):  # closed by the server while it was sent to
                each.connect(("127.0.0.1", self._port))
                each.sendall(sent)
                opened.append(each)
        return opened


def is_closed(wire: socket.socket) -> bool:
    """Return whether the server has closed a connection, without waiting."""
    wire.setblocking(False)
    try:
        while data := wire.recv(65536):
            del data
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def health(port: int, address: str = ATTACKER_ADDRESS) -> int:
    """Request the server's health on a new connection; return the status."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=BOUND_SECONDS, source_address=(address, 0)
    )
    try:
        connection.request("GET", "/health")
        with connection.getresponse() as response:
            return response.status
    finally:
        connection.close()


def read_response(stream: Any) -> int:
    """Read one response with a length from a file; return its status."""
    status = int(stream.readline().split()[1])
    length = 0
    while (line := stream.readline()) != b"\r\n":
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    stream.read(length)
    return status


def tool_call(name: str, arguments: dict[str, Any] | None = None) -> bytes:
    """Return a `tools/call` request of 2026-07-28 over HTTP."""
    params = {"name": name, "arguments": arguments or {}, "_meta": _META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return post(message, ("Mcp-Method", "tools/call"), ("Mcp-Name", name))


def listen() -> bytes:
    """Return a `subscriptions/listen` request, whose stream stays open."""
    params = {"notifications": {}, "_meta": _META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    return post(message, ("Mcp-Method", "subscriptions/listen"))


def legacy(method: str, params: object, session: str = "") -> bytes:
    """Return a request of a legacy client."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = [("Mcp-Session-Id", session)] if session else []
    return post(message, *headers, version=LEGACY)


def post(message: object, *headers: tuple[str, str], version: str = MODERN) -> bytes:
    """Return a POST request of a message."""
    body = json.dumps(message).encode()
    return post_head(("Content-Length", str(len(body))), *headers, version=version) + body


def post_head(*headers: tuple[str, str], version: str = MODERN) -> bytes:
    """Return the head of a POST request."""
    fields = [
        ("Host", "127.0.0.1"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", version),
        *headers,
    ]
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode()
