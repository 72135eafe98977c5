"""HTTP requests of checks: posts with chosen headers, and facts about the server for them."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from mcpgen.factory.wire.connection import Pending
from mcpgen.factory.wire.http import HttpConnection
from mcpgen.factory.wire.session import Reply, Session

EVENT_STREAM: Final = "text/event-stream"
JSON: Final = "application/json"
_RESPONSE_SECONDS: Final = 8.0


def http_connection(session: Session) -> HttpConnection:
    """Return the connection of a session over Streamable HTTP.

    Raises:
        TypeError: it is another transport; the table lets no such check run there.
    """
    if not isinstance(session.connection, HttpConnection):
        raise TypeError("not a connection over Streamable HTTP")
    return session.connection


def change_headers(headers: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return headers with some of them replaced, or removed if the change is None."""
    changed = {name.lower() for name in changes}
    kept = {name: value for name, value in headers.items() if name.lower() not in changed}
    return kept | {name: value for name, value in changes.items() if value is not None}


async def post(session: Session, message: Any, changes: Mapping[str, str | None]) -> Reply:
    """Post a message with changed headers; wait for the response or the end of the HTTP body.

    Raises:
        ConnectionLostError: there is no HTTP response.
    """
    connection = http_connection(session)
    headers = change_headers(connection.standard_headers(message), changes)
    pending = await connection.start(message, headers)
    response = await pending.response(_RESPONSE_SECONDS)
    if response is None:
        await pending.end(1.0)
    pending.abandon()
    return Reply(pending.request, response, pending.head)


def content_type(frame_or_reply: Reply | Pending) -> str:
    """Return the media type of an HTTP response without parameters."""
    head = frame_or_reply.head
    value = (head.header("content-type") if head is not None else None) or ""
    return value.partition(";")[0].strip().lower()


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def uses_sessions(session: Session) -> bool:
    """Whether the server gave the session an id."""
    return http_connection(session).session_id is not None


def describe_status(reply: Reply) -> str:
    """Describe an HTTP response in a few words."""
    if reply.code is not None:
        return f"HTTP {reply.status} with the error {reply.code}"
    return (
        f"HTTP {reply.status} with a result"
        if reply.result is not None
        else (f"HTTP {reply.status}")
    )
