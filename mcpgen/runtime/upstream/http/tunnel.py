"""Tunnels through a proxy: the CONNECT request (RFC 9110, section 9.3.6)."""

from __future__ import annotations

from typing import Final

from mcpgen.runtime.upstream.errors import ConnectError, MalformedResponseError
from mcpgen.runtime.upstream.http.connection import Connection
from mcpgen.runtime.upstream.http.proxies import Proxy
from mcpgen.runtime.upstream.http.response_head import find_head_end, parse_head

MAX_INFORMATIONAL: Final = 8  # 1xx responses before the final one
_CREDENTIALS_REQUIRED: Final = 407
_SERVER_ERRORS: Final = 500


async def open_tunnel(connection: Connection, host: str, port: int, proxy: Proxy) -> None:
    """Ask the proxy at the other end of a connection to connect to a host.

    Raises:
        ConnectError: it did not; nothing was sent to the host.
    """
    named = f"[{host}]" if ":" in host else host.encode("idna").decode()
    lines = [f"CONNECT {named}:{port} HTTP/1.1", f"Host: {named}:{port}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    await connection.write("\r\n".join([*lines, "", ""]).encode())
    try:
        status = await _read_status(connection)
    except MalformedResponseError:
        raise make_proxy_error(proxy, "sent an answer that is not valid HTTP") from None
    if status is None:
        raise make_proxy_error(proxy, "closed the connection without an answer", may_recover=True)
    if not 200 <= status < 300:
        raise make_status_error(proxy, status)
    if connection.received:
        raise make_proxy_error(proxy, "sent data before the API did")


async def _read_status(connection: Connection) -> int | None:
    """Return the status of the answer; None if the proxy closed the connection."""
    for _ in range(MAX_INFORMATIONAL + 1):
        searched = 0
        while (end := find_head_end(connection.received, searched)) < 0:
            searched = len(connection.received)
            if not await connection.wait_for_data():
                return None
        head = parse_head(bytes(connection.received[: end - 4]), "CONNECT")
        del connection.received[:end]
        if head.status >= 200:
            return head.status
    raise MalformedResponseError("")


def make_status_error(proxy: Proxy, status: int) -> ConnectError:
    """Return the error for a proxy that answered in place of the API."""
    if status == _CREDENTIALS_REQUIRED:
        return make_proxy_error(proxy, "does not accept the credentials in it (status 407)")
    return make_proxy_error(
        proxy, f"answered with status {status}", may_recover=status >= _SERVER_ERRORS
    )


def make_proxy_error(proxy: Proxy, fault: str, *, may_recover: bool = False) -> ConnectError:
    """Return the error of a proxy, which names its setting and not its URL."""
    error = ConnectError(f"could not be sent: the proxy of {proxy.setting} {fault}.")
    error.is_transient = may_recover
    return error
