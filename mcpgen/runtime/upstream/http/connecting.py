"""Connection setup: resolve and check the addresses, then connect with TCP and TLS."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from mcpgen.contract.limits import DEFAULT_LIMITS, Limits
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.errors import ConnectError
from mcpgen.runtime.upstream.http.connection import Connection
from mcpgen.runtime.upstream.http.messages import ClientCertificate
from mcpgen.text.hosts import is_private, is_public_address

if TYPE_CHECKING:
    from mcpgen.runtime.upstream.http.proxies import Proxy

MAX_LOOKUPS: Final = 16  # of different hosts at once; each may occupy a thread until it ends


class Resolver:
    """Resolver of host names. Concurrent callers for one host share a lookup."""

    def __init__(self) -> None:
        self._lookups: dict[str, asyncio.Future[tuple[str, ...]]] = {}

    async def find_addresses(self, host: str) -> tuple[str, ...]:
        """Return the addresses of a host, in the order of the system's preference.

        Raises:
            ConnectError: the host has no address, or too many other hosts are being looked up.
        """
        with contextlib.suppress(ValueError):
            return (str(ipaddress.ip_address(host)),)
        # Cancel only this wait: other callers may wait for the same lookup.
        found = await asyncio.shield(self._lookups.get(host) or self._look_up(host))
        if not found:
            raise ConnectError("could not be sent: unknown host name of the API.")
        return found

    def _look_up(self, host: str) -> asyncio.Future[tuple[str, ...]]:
        """Look up a host in a thread; the result is () if it is unknown."""
        if len(self._lookups) >= MAX_LOOKUPS:
            raise ConnectError("could not be sent: too many host names are being resolved.")
        loop = asyncio.get_running_loop()
        lookup = self._lookups[host] = loop.create_future()

        def finish(found: tuple[str, ...]) -> None:
            del self._lookups[host]
            lookup.set_result(found)

        def run() -> None:
            found: tuple[str, ...] = ()
            with contextlib.suppress(OSError, UnicodeError):  # the latter for too long a label
                infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
                found = tuple(dict.fromkeys(str(info[4][0]) for info in infos))
            with contextlib.suppress(RuntimeError):  # the event loop was closed meanwhile
                loop.call_soon_threadsafe(finish, found)

        threading.Thread(target=run, name="mcpgen-resolver", daemon=True).start()
        return lookup


class Authority(Struct, frozen=True):
    """The operator's certificate authority: the setting, and the PEM file it names or ""."""

    setting: str
    file: str = ""

    def make_context(self) -> ssl.SSLContext:
        """Create a TLS context that trusts this authority and those of the system.

        Raises:
            ConfigurationError: the file is unreadable or contains no certificate, or the file
                that SSLKEYLOGFILE names cannot be written.
        """
        try:
            context = ssl.create_default_context()
        except OSError:  # also of a file with certificates that OpenSSL's own variables name
            raise ConfigurationError(
                "SSLKEYLOGFILE must name a writable file", setting="SSLKEYLOGFILE"
            ) from None
        self.add_to(context)
        return context

    def add_to(self, context: ssl.SSLContext) -> None:
        """Add the authority to a TLS context.

        Raises:
            ConfigurationError: the file is unreadable or contains no certificate.
        """
        if self.file:
            try:
                context.load_verify_locations(cafile=self.file)
            except (OSError, ssl.SSLError):
                raise ConfigurationError(
                    f"{self.setting} must name a readable file with certificates in PEM",
                    setting=self.setting,
                ) from None


def load_client_certificate(context: ssl.SSLContext, certificate_file: str, key_file: str) -> None:
    """Add a client certificate to a TLS context.

    Raises:
        ConfigurationError: a file is unreadable, or the key does not match the certificate.
    """
    try:
        # With password=None, OpenSSL would prompt on the terminal for that of an encrypted key.
        context.load_cert_chain(certificate_file, key_file, password="")
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        raise ConfigurationError("the client certificate or its key cannot be read") from None


_STAGGER_SECONDS: Final = 0.25  # before the next address is tried as well (RFC 8305, section 8)


class Origin(Struct, frozen=True):
    """Properties that two requests must share to use the same connection."""

    is_secure: bool
    host: str  # lower case, without the brackets of an IPv6 address
    port: int
    allows_private: bool  # whether private addresses are allowed
    client_certificate: ClientCertificate | None
    proxy: Proxy | None = None


class Connector:
    """Opener of connections. Its only state are TLS settings and the lookups under way."""

    def __init__(self, authority: Authority, limits: Limits = DEFAULT_LIMITS) -> None:
        self._authority = authority
        self._connect_seconds = limits.connect_timeout_seconds  # for the name and all addresses
        self._tls_seconds = limits.tls_timeout_seconds
        self._resolver = Resolver()
        self._tls_contexts: dict[ClientCertificate | None, ssl.SSLContext] = {}

    async def connect(self, origin: Origin, private_addresses_setting: str) -> Connection:
        """Connect to an allowed address of the origin.

        Raises:
            ConnectError: there is no allowed address, or no connection in time.
            ConfigurationError: a certificate file is invalid.
        """
        tls = self._get_tls_context(origin.client_certificate) if origin.is_secure else None
        if origin.proxy is not None:
            return await self._connect_through(origin.proxy, origin, tls, private_addresses_setting)
        try:
            async with asyncio.timeout(self._connect_seconds):
                addresses = await self._resolver.find_addresses(origin.host)
                if not origin.allows_private:
                    addresses = _select_public(addresses, origin.host, private_addresses_setting)
                opened = await _connect_to_first(_interleave(addresses), origin.port)
        except TimeoutError:
            raise ConnectError(
                "could not be sent: the API accepted no connection within "
                f"{self._connect_seconds:g} seconds."
            ) from None
        except OSError:
            raise ConnectError("could not be sent: the API refused the connection.") from None
        return await self._start(opened, tls, origin.host)

    async def _connect_through(
        self, proxy: Proxy, origin: Origin, tls: ssl.SSLContext | None, setting: str
    ) -> Connection:
        """Connect to the proxy, and through a tunnel to an origin with TLS.

        The proxy resolves the name of the origin, so that only addresses are checked here.
        """
        from mcpgen.runtime.upstream.http.tunnel import make_proxy_error, open_tunnel

        if not origin.allows_private and is_private(origin.host):
            raise _make_private_error(origin.host, setting)
        connection: Connection | None = None
        try:
            async with asyncio.timeout(self._connect_seconds):
                opened = await self._open_socket(proxy)
            connection = await self._start_with_proxy(opened, proxy)
            if tls is not None:
                async with asyncio.timeout(self._connect_seconds):
                    await open_tunnel(connection, origin.host, origin.port, proxy)
                await self._upgrade(connection, tls, origin.host)
        except TimeoutError:
            _abort(connection)
            fault = f"did not connect within {self._connect_seconds:g} seconds"
            raise make_proxy_error(proxy, fault, may_recover=True) from None
        except OSError:
            _abort(connection)
            raise make_proxy_error(proxy, "cannot be reached", may_recover=True) from None
        except BaseException:
            _abort(connection)
            raise
        return connection

    async def _start_with_proxy(self, opened: socket.socket, proxy: Proxy) -> Connection:
        if not proxy.is_secure:
            return await self._start(opened, None, proxy.host)
        from mcpgen.runtime.upstream.http.tunnel import make_proxy_error

        try:
            return await self._start(opened, self._get_tls_context(None), proxy.host)
        except ConnectError as error:
            fault = "completed no TLS handshake, or its certificate is not trusted"
            raise make_proxy_error(proxy, fault, may_recover=error.is_transient) from None

    async def _open_socket(self, proxy: Proxy) -> socket.socket:
        """Connect to the proxy, whose address the operator chose.

        Raises:
            OSError: it has no address, or refuses.
        """
        try:
            addresses = await self._resolver.find_addresses(proxy.host)
        except ConnectError:
            raise OSError("unknown host") from None
        return await _connect_to_first(_interleave(addresses), proxy.port)

    async def _upgrade(self, connection: Connection, tls: ssl.SSLContext, host: str) -> None:
        """Start TLS with the origin inside the tunnel."""
        loop = asyncio.get_running_loop()
        with self._convert_errors():
            async with asyncio.timeout(self._tls_seconds):
                upgraded = await loop.start_tls(
                    connection.transport,
                    connection,
                    tls,
                    server_hostname=host,
                    ssl_handshake_timeout=self._tls_seconds + 1,
                )
        if upgraded is None:
            raise ConnectError("could not be sent: the API refused the connection.")
        connection.replace_transport(upgraded)

    @contextlib.contextmanager
    def _convert_errors(self) -> Iterator[None]:
        """Convert the errors of a connection and its TLS handshake to `ConnectError`."""
        try:
            yield
        except TimeoutError:
            raise ConnectError(
                "could not be sent: the API completed no TLS handshake within "
                f"{self._tls_seconds:g} seconds."
            ) from None
        except ssl.SSLError as error:
            raise _make_handshake_error(error, self._authority.setting) from None
        except OSError:
            raise ConnectError("could not be sent: the API refused the connection.") from None

    async def _start(
        self, opened: socket.socket, tls: ssl.SSLContext | None, host: str
    ) -> Connection:
        loop = asyncio.get_running_loop()
        with self._convert_errors():
            async with asyncio.timeout(self._tls_seconds):
                _, connection = await loop.create_connection(
                    Connection,
                    sock=opened,
                    ssl=tls,
                    server_hostname=None if tls is None else host,
                    ssl_handshake_timeout=None if tls is None else self._tls_seconds + 1,
                )
        return connection

    def _get_tls_context(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        context = self._tls_contexts.get(certificate)
        if context is None:
            context = self._authority.make_context()
            context.set_alpn_protocols(["http/1.1"])
            if certificate is not None:
                load_client_certificate(context, certificate.certificate_file, certificate.key_file)
            self._tls_contexts[certificate] = context
        return context


def _select_public(addresses: Sequence[str], host: str, setting: str) -> tuple[str, ...]:
    public = tuple(it for it in addresses if is_public_address(ip_address(it)))
    if public:
        return public
    raise _make_private_error(host, setting)


def _make_private_error(host: str, setting: str) -> ConnectError:
    error = ConnectError(
        f"was not sent: the host `{host}` has a private address, which the API's document may not "
        f"select unless the operator of this server confirms it with {setting}."
    )
    error.is_transient = False
    return error


def _abort(connection: Connection | None) -> None:
    if connection is not None:
        connection.abort()


def _interleave(addresses: Sequence[str]) -> list[str]:
    """Alternate between the address families, beginning with the preferred one."""
    preferred = ":" in addresses[0] if addresses else False
    first = [it for it in addresses if (":" in it) == preferred]
    second = [it for it in addresses if (":" in it) != preferred]
    return [it for it in chain(*zip_longest(first, second)) if it]


async def _connect_to_first(addresses: Sequence[str], port: int) -> socket.socket:
    """Connect to the address that accepts first; each has a head start over the next."""
    attempts: set[asyncio.Task[socket.socket]] = set()
    waiting = list(addresses)
    last_error = OSError("no address")
    winner: socket.socket | None = None
    try:
        while (waiting or attempts) and winner is None:
            if waiting:
                attempts.add(asyncio.create_task(_connect_to(waiting.pop(0), port)))
            done, attempts = await asyncio.wait(
                attempts,
                timeout=_STAGGER_SECONDS if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for attempt in done:
                if isinstance(error := attempt.exception(), OSError):
                    last_error = error
                elif winner is None:
                    winner = attempt.result()
                else:
                    attempt.result().close()
    finally:
        for attempt in attempts:
            attempt.add_done_callback(_close_socket)
            attempt.cancel()
    if winner is None:
        raise last_error
    return winner


async def _connect_to(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        # For a `str`, uvloop imports the codec of international names.
        await asyncio.get_running_loop().sock_connect(opened, (address.encode(), port))
    except BaseException:
        opened.close()
        raise
    return opened


def _close_socket(attempt: asyncio.Task[socket.socket]) -> None:
    with contextlib.suppress(OSError, asyncio.CancelledError):
        attempt.result().close()


def _make_handshake_error(error: ssl.SSLError, setting: str) -> ConnectError:
    if isinstance(error, ssl.SSLCertVerificationError):
        failure = ConnectError(
            "could not be sent: the API's certificate is not trusted, or is for another host. "
            f"The operator of this server can set {setting} to a file with the authority that "
            "signed it."
        )
    else:
        failure = ConnectError(
            "could not be sent: the TLS handshake failed because of a certificate or the protocol."
        )
    failure.is_transient = False
    return failure
