"""TLS of the HTTP server: the certificate, and the layer between a connection and its socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from pathlib import Path
from typing import Any, Final, cast

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.process.log import log

READ_BYTES: Final = 64 * 1024
WRITE_BYTES: Final = 256 * 1024  # encrypted at once, so that a long response is copied in parts
_NOT_TLS: Final = b"This port accepts HTTPS only.\n"
_PLAIN_ANSWER: Final = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_NOT_TLS), _NOT_TLS)
)
Signature = tuple[tuple[int, int, int], ...]


class Certificate:
    """The server's certificate and key, read again when their files change.

    `context` is the one of new connections; those that are open keep theirs.
    """

    def __init__(self, certificate: str, key: str, *, prefix: str = "") -> None:
        """Load a certificate chain and its key (PEM); `prefix` is that of the settings.

        Raises:
            ConfigurationError: a file cannot be read, or the files are not a valid pair.
        """
        self._certificate = certificate
        self._key = key
        self._prefix = prefix
        self._loaded = self._seen = self._sign_files()
        self.context = self._load()

    def reload_if_changed(self) -> None:
        """Read the files again if they have changed; if they are invalid, keep the old pair.

        The server calls it about once a second. Files that changed since the previous call are
        left for the next one, since both are rarely written at the same moment.
        """
        signature = self._sign_files()
        is_stable, self._seen = signature == self._seen, signature
        if signature == self._loaded or not is_stable:
            return
        self._loaded = signature
        try:
            self.context = self._load()
        except ConfigurationError as error:
            log("error", f"the previous TLS certificate stays in use: {error}")
        else:
            log("info", "the TLS certificate was reloaded")

    def _sign_files(self) -> Signature:
        """Return what changes when one of the files does."""
        signature = []
        for path in (self._certificate, self._key):
            try:
                found = os.stat(path)  # noqa: PTH116  (once a second; a Path is 3 times slower)
                signature.append((found.st_mtime_ns, found.st_size, found.st_ino))
            except OSError:
                signature.append((0, 0, 0))
        return tuple(signature)

    def _load(self) -> ssl.SSLContext:
        certificate = self._read("TLS_CERT", self._certificate)
        key = self._read("TLS_KEY", self._key)
        if b"-----BEGIN CERTIFICATE-----" not in certificate:
            raise self._invalid("TLS_CERT", "the file contains no certificate in PEM format")
        if b"PRIVATE KEY-----" not in key:
            raise self._invalid("TLS_KEY", "the file contains no private key in PEM format")
        if b"ENCRYPTED" in key:
            raise self._invalid("TLS_KEY", "the key has a passphrase; store it without one")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(self._certificate, self._key)
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                problem = f"the key is not that of {self._prefix}TLS_CERT"
                raise self._invalid("TLS_KEY", problem) from None
            problem = f"OpenSSL rejects the certificate or its key: {error.reason or 'no reason'}"
            raise self._invalid("TLS_CERT", problem) from None
        except OSError as error:  # a file has disappeared meanwhile
            raise self._invalid("TLS_CERT", error.strerror or "unreadable file") from None
        return context

    def _read(self, setting: str, path: str) -> bytes:
        try:
            return Path(path).read_bytes()
        except OSError as error:
            raise self._invalid(setting, f"cannot read {path}: {error.strerror}") from None

    def _invalid(self, setting: str, problem: str) -> ConfigurationError:
        name = self._prefix + setting
        return ConfigurationError(f"invalid {name}: {problem}", setting=name)


class TlsLayer(asyncio.Protocol, asyncio.Transport):
    """TLS between a socket's transport and a protocol, for which it is the transport.

    The event loops have such a layer too. This one buffers nothing of its own, so that the
    limits on the connection (its unread output, and the time until a request has
    arrived) apply to TLS as they do to plain HTTP: the protocol is connected before the
    handshake.
    """

    def __init__(self, context: ssl.SSLContext, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._protocol = protocol
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._is_established = False
        self._is_ended = False  # by this side: nothing more is written or decrypted

    # -- the protocol of the socket ------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect the protocol; the handshake starts with the client's first bytes."""
        self._socket = cast("asyncio.Transport", transport)
        self._protocol.connection_made(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Report the loss to the protocol."""
        self._is_ended = True
        self._protocol.connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Decrypt received bytes, or continue the handshake."""
        if self._is_ended:
            return
        self._incoming.write(data)
        try:
            if not self._is_established:
                self._tls.do_handshake()
                self._is_established = True
            received, has_ended = self._decrypt()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except ssl.SSLError as error:
            self._flush()  # the alert
            self._is_ended = True
            if error.reason == "HTTP_REQUEST":
                self._socket.write(_PLAIN_ANSWER)
            self._socket.close()
            return
        self._flush()
        if received:
            self._protocol.data_received(received)
        if has_ended:
            self.close()

    def pause_writing(self) -> None:
        """Forward the back-pressure of the socket."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Forward the end of the back-pressure."""
        self._protocol.resume_writing()

    def _decrypt(self) -> tuple[bytes, bool]:
        """Return what the complete records contain, and whether the client has ended them."""
        parts = []
        has_ended = False
        try:
            while part := self._tls.read(READ_BYTES):
                parts.append(part)
            has_ended = True  # an end that OpenSSL reports without an error
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            has_ended = True
        return parts[0] if len(parts) == 1 else b"".join(parts), has_ended

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._socket.write(self._outgoing.read())

    # -- the transport of the protocol ---------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what the transport of the socket knows."""
        return self._socket.get_extra_info(name, default)

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Encrypt and send; before the end of the handshake, nothing can be sent."""
        if not self._is_established or self._is_ended:
            return
        unsent = memoryview(data)
        try:
            while unsent:
                unsent = unsent[self._tls.write(unsent[:WRITE_BYTES]) :]
                self._flush()
        except ssl.SSLError:
            self.abort()

    def write_eof(self) -> None:
        """Send the end of the data, and discard what is still received."""
        self._end()
        self._socket.write_eof()

    def close(self) -> None:
        """Close the connection once all data is written."""
        self._end()
        self._socket.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._is_ended = True
        self._socket.abort()

    def _end(self) -> None:
        """Send `close_notify`, without waiting for that of the client (RFC 8446, section 6.1)."""
        if self._is_ended:
            return
        self._is_ended = True
        if self._is_established:
            with contextlib.suppress(ssl.SSLError):  # it wants to read the client's
                self._tls.unwrap()
            self._flush()

    def is_closing(self) -> bool:
        """Return whether the socket is closed or being closed."""
        return self._socket.is_closing()

    def pause_reading(self) -> None:
        """Pause the socket."""
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        """Resume the socket."""
        self._socket.resume_reading()

    def get_write_buffer_size(self) -> int:
        """Return how many encrypted bytes the client has not read."""
        return self._socket.get_write_buffer_size()
