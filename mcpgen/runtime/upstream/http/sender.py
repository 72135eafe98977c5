"""HTTP/1.1 client: one request, one response (docs/explanation/http-client.md)."""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from mcpgen.contract.limits import DEFAULT_LIMITS, Limits
from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.connecting import Authority, Connector, Origin
from mcpgen.runtime.upstream.http.exchange import exchange
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.runtime.upstream.http.pool import ConnectionPool

if TYPE_CHECKING:
    from mcpgen.runtime.upstream.http.proxies import Proxies, Proxy

_SYSTEM: Final = Authority("SSL_CERT_FILE")  # which OpenSSL itself reads
_URL: Final = re.compile(r"(https?)://([^/?#]+)(/[!-~]*|\?[!-~]*)?", re.IGNORECASE)
_AUTHORITY: Final = re.compile(r"(?:\[([0-9A-Fa-f:.%]+)\]|([^\s@:\[\]]+))(?::([0-9]{1,5})?)?")
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE: Final = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_PROXY_CREDENTIALS_REQUIRED: Final = 407
_WITHOUT_CONTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class HttpSender:
    """HTTP client with a connection pool. Its `send` is a `Sender`.

    No redirects, no cookies, no `.netrc`, no re-quoting of URLs, no retries; proxies only if they
    are passed. The caller sets the total deadline (`asyncio.timeout`); a request that ends early
    closes its socket.
    """

    def __init__(
        self,
        user_agent: str,
        *,
        authority: Authority = _SYSTEM,
        limits: Limits = DEFAULT_LIMITS,
        proxies: Proxies | None = None,
    ) -> None:
        self._user_agent = user_agent
        self._proxies = proxies
        self._pool = ConnectionPool(Connector(authority, limits), limits)

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request once and read its response to the end, within its bound.

        Raises:
            UpstreamError: there is no response; the class states why.
            ConfigurationError: a certificate file is invalid.
        """
        url = _URL.fullmatch(request.url)
        if url is None:
            raise _make_send_error("its URL is not valid")
        scheme, authority, target = url.groups()
        host, port, host_field = _split_authority(authority)
        is_secure = scheme.lower() == "https"
        port = port or (443 if is_secure else 80)
        proxy = None
        if self._proxies is not None:
            proxy = self._proxies.find(host, port, is_secure=is_secure)
        origin = Origin(
            is_secure,
            host,
            port,
            not request.private_addresses_setting,
            request.client_certificate if is_secure else None,
            proxy,
        )
        forwarding_proxy = proxy if not is_secure else None
        head = self._encode_head(request, target or "/", host_field, forwarding_proxy)
        connection = await self._pool.acquire(origin, request.private_addresses_setting)
        seconds = 0.0
        try:
            response, is_reusable = await exchange(connection, head, request)
            if is_reusable:
                seconds = self._pool.find_idle_seconds(response.header("keep-alive"))
        finally:
            self._pool.release(origin, connection, idle_seconds=seconds)
        if forwarding_proxy is not None and response.status == _PROXY_CREDENTIALS_REQUIRED:
            from mcpgen.runtime.upstream.http.tunnel import make_status_error

            raise make_status_error(forwarding_proxy, response.status)
        return response

    def _encode_head(
        self, request: HttpRequest, target: str, host_field: str, proxy: Proxy | None
    ) -> bytes:
        """Return the request line and header fields with the empty line.

        `proxy` is the proxy that reads this head (RFC 9112, section 3.2.2); None for the API.
        """
        if not target.startswith("/"):
            target = f"/{target}"
        present = {name.lower() for name, _ in request.headers}
        fields = [("Host", host_field)]
        if proxy is not None:
            target = f"http://{host_field}{target}"
            if proxy.authorization:
                fields.append(("Proxy-Authorization", proxy.authorization))
        if "user-agent" not in present:
            fields.append(("User-Agent", self._user_agent))
        if "accept-encoding" not in present:
            fields.append(("Accept-Encoding", "gzip, deflate"))
        fields += request.headers
        if request.body is not None or request.method not in _WITHOUT_CONTENT:
            fields.append(("Content-Length", str(len(request.body or b""))))
        if not _TOKEN.fullmatch(request.method):
            raise _make_send_error("its method is not valid")
        for name, value in request.headers:
            # Printable text is valid, which `isprintable` finds in less than half the time.
            if not _TOKEN.fullmatch(name) or not (value.isprintable() or _VALUE.fullmatch(value)):
                raise _make_send_error("a header field has characters that are not allowed")
        lines = [f"{request.method} {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields]
        try:
            return "\r\n".join([*lines, "", ""]).encode()
        except UnicodeEncodeError:
            raise _make_send_error("a header field has characters that are not allowed") from None

    async def aclose(self) -> None:
        """Close every connection."""
        self._pool.close()
        await asyncio.sleep(0)  # the event loop closes the sockets


@lru_cache(maxsize=256)
def _split_authority(authority: str) -> tuple[str, int, str]:
    """Return host, port (0 if there is none) and the value of the `Host` field."""
    match = _AUTHORITY.fullmatch(authority)
    try:
        if match is None or (port := int(match[3] or 0)) > 65535:
            raise _make_send_error("its URL is not valid")
        host_field = authority.encode("ascii" if authority.isascii() else "idna").decode()
    except UnicodeError:
        raise _make_send_error("its URL is not valid") from None
    return (match[1] or match[2]).lower(), port, host_field


def _make_send_error(reason: str) -> UpstreamError:
    error = UpstreamError(f"could not be sent: {reason}.")
    error.request_sent = False
    return error
