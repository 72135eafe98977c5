"""Sends requests with aiohttp. Importing this is slow, so that is left to the first call."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Iterator

import aiohttp
from yarl import URL

from mcpgen.runtime.upstream.errors import (
    ConnectError,
    DisconnectedError,
    MalformedResponseError,
    ResponseTooLargeError,
    UpstreamError,
)
from mcpgen.runtime.upstream.http import ClientCertificate, HttpRequest, HttpResponse, is_stream
from mcpgen.runtime.upstream.trust import Authority, load_client_certificate

CONNECT_SECONDS = 5.0
MAX_CONNECTIONS = 100
MAX_RATIO = 100
_SMALLEST_BOMB = 1024 * 1024  # below this, a high ratio is only a dull text
_CHUNK_BYTES = 64 * 1024
_SYSTEM = Authority("SSL_CERT_FILE")  # which OpenSSL itself reads
_OWN_HEADERS = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class _Method(str):
    """A method that keeps its case, as methods have one (RFC 9110, 9.1); aiohttp calls `upper`."""

    __slots__ = ()

    def upper(self) -> str:
        """The method as it stands."""
        return self


class AiohttpSender:
    """Keeps the connections of one server. Its `send` is a `Sender`; `aclose` ends it.

    No redirects, no cookies, no proxies from the environment, no `.netrc`, no re-quoting of URLs.
    The total deadline is the caller's (`asyncio.timeout`); a request that ends early, cancelled or
    cut off, closes its socket.
    """

    def __init__(
        self,
        user_agent: str,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        authority: Authority = _SYSTEM,
    ) -> None:
        self._user_agent = user_agent
        self._connect_seconds = connect_seconds
        self._authority = authority
        self._open_session: aiohttp.ClientSession | None = None
        self._tls_contexts: dict[ClientCertificate | None, ssl.SSLContext] = {}

    def _session(self) -> aiohttp.ClientSession:
        if self._open_session is None:
            self._open_session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # decompressed here, where both sizes are seen
                skip_auto_headers=_OWN_HEADERS,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_seconds),
                trust_env=False,
            )
        return self._open_session

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request once and read its response to the end, within its bound.

        Raises:
            UpstreamError: one of its kinds says why there is no response.
            ConfigurationError: a file of certificates cannot be used.
        """
        try:
            return await self._exchange(request)
        except aiohttp.ClientError as error:
            raise _translated(error, self._connect_seconds, self._authority.setting) from None

    async def _exchange(self, request: HttpRequest) -> HttpResponse:
        headers = [("Accept-Encoding", "gzip, deflate"), *request.headers]
        if not any(name.lower() == "user-agent" for name, _ in request.headers):
            headers.insert(0, ("User-Agent", self._user_agent))
        async with self._session().request(
            request.method if request.method.isupper() else _Method(request.method),
            URL(request.url, encoded=True),
            headers=headers,
            data=request.body,
            allow_redirects=False,
            ssl=self._tls(request.client_certificate),
        ) as response:
            headers_received = tuple(response.headers.items())
            body = _BoundedBody(response, request.max_response_bytes)
            is_cut_off = False
            if is_stream(response.headers.get("Content-Type", "")):
                is_cut_off = await body.listen(request.stream_seconds)
            else:
                await body.read()
            return HttpResponse(response.status, headers_received, bytes(body.content), is_cut_off)

    def _tls(self, certificate: ClientCertificate | None) -> ssl.SSLContext | bool:
        if certificate is None and not self._authority.file:
            return True
        context = self._tls_contexts.get(certificate)
        if context is None:
            context = self._authority.context()
            if certificate is not None:
                load_client_certificate(context, certificate.certificate_file, certificate.key_file)
            self._tls_contexts[certificate] = context
        return context

    async def aclose(self) -> None:
        """Close every connection."""
        if self._open_session is not None:
            session, self._open_session = self._open_session, None
            await session.close()


class _BoundedBody:
    """The decompressed body of a response, as far as it was read."""

    def __init__(self, response: aiohttp.ClientResponse, bound: int) -> None:
        self.content = bytearray()
        self._response = response
        self._bound = bound
        self._encoding = response.headers.get("Content-Encoding", "").strip().lower()
        self._decoder = _decoder(self._encoding)

    async def read(self) -> None:
        """Read to the end.

        Raises:
            ResponseTooLargeError: the end lies beyond the bound.
        """
        announced = self._response.content_length
        is_plain = self._encoding in {"", "identity"}
        if is_plain and announced is not None and announced > self._bound:
            raise _too_large(self._bound, f"it announced {announced:,} bytes")
        await self._fill()

    async def _fill(self) -> None:
        received = 0
        stream = self._response.content
        while not stream.at_eof():
            chunk = await stream.readany()
            received += len(chunk)
            for piece in self._decoder.feed(chunk):
                self.content += piece
                if len(self.content) > self._bound:
                    raise _too_large(self._bound, "the rest was not read")
                if len(self.content) > max(received * MAX_RATIO, _SMALLEST_BOMB):
                    raise ResponseTooLargeError(
                        f"answered with {received:,} compressed bytes that unpack to more than "
                        f"{MAX_RATIO} times as many; the rest was not read."
                    )
        self._decoder.finish()

    async def listen(self, seconds: float) -> bool:
        """Read a stream for some time, within the bound; whether it went on."""
        try:
            async with asyncio.timeout(seconds) as patience:
                await self._fill()
        except TimeoutError:
            if not patience.expired():
                raise
        except ResponseTooLargeError:
            del self.content[self._bound :]
        else:
            return False
        return True


def _too_large(bound: int, detail: str) -> ResponseTooLargeError:
    return ResponseTooLargeError(
        f"answered with more than {bound:,} bytes; {detail}. Ask for less: a smaller page, fewer "
        "fields or a filter."
    )


class _Identity:
    def feed(self, chunk: bytes) -> list[bytes]:
        return [chunk]

    def finish(self) -> None:
        pass


class _Inflater:
    """gzip (also of several members) and deflate, in pieces of bounded size."""

    def __init__(self, encoding: str) -> None:
        self._window_bits: int | None = 31 if encoding == "gzip" else None
        self._stream: zlib._Decompress | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        data, is_full = chunk, False
        while data or is_full:
            if self._stream is None:
                self._stream = zlib.decompressobj(self._bits(data))
            try:
                piece = self._stream.decompress(data, _CHUNK_BYTES)
            except zlib.error:
                raise MalformedResponseError(
                    "answered with a body that cannot be decompressed."
                ) from None
            yield piece
            data = self._stream.unconsumed_tail or self._stream.unused_data
            is_full = len(piece) == _CHUNK_BYTES and not self._stream.eof  # more may be inside
            if self._stream.eof:
                self._stream = None

    def _bits(self, data: bytes) -> int:
        if self._window_bits is None:
            # "deflate" means zlib's format, and some servers send it without that envelope.
            self._window_bits = 15 if data[0] & 0x0F == 8 else -15
        return self._window_bits

    def finish(self) -> None:
        if self._stream is not None:
            raise DisconnectedError("broke off in the middle of its answer.")


def _decoder(encoding: str) -> _Identity | _Inflater:
    if encoding in {"", "identity"}:
        return _Identity()
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return _Inflater(encoding.removeprefix("x-"))
    raise MalformedResponseError(
        "answered with a compression that was not asked for, so its body cannot be read."
    )


def _translated(
    error: aiohttp.ClientError, connect_seconds: float, authority_setting: str
) -> UpstreamError:
    """The same failure without addresses, certificates and other internals."""
    if isinstance(error, aiohttp.ServerTimeoutError):
        return ConnectError(
            f"could not be sent: the API accepted no connection within {connect_seconds:g} seconds."
        )
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        untrusted = ConnectError(
            "could not be sent: the API's certificate is not trusted here, or is another host's. "
            "Whoever runs this server can name a file with the authority that signed it in "
            f"{authority_setting}."
        )
        untrusted.is_transient = False
        return untrusted
    if isinstance(error, aiohttp.ClientSSLError):
        refused = ConnectError(
            "could not be sent: no secure connection came about, for its certificate or protocol."
        )
        refused.is_transient = False
        return refused
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return ConnectError("could not be sent: the name of the API's host is not known.")
    if isinstance(error, aiohttp.ClientConnectorError):
        return ConnectError("could not be sent: the API refused the connection.")
    if isinstance(error, aiohttp.ClientResponseError):
        return MalformedResponseError("answered with something that is not HTTP.")
    if isinstance(error, aiohttp.ClientConnectionError):
        return DisconnectedError("lost its connection before the answer came.")
    if isinstance(error, aiohttp.ClientPayloadError):
        return DisconnectedError("broke off in the middle of its answer.")
    return MalformedResponseError("failed in the HTTP client.")
