"""Listening sockets that survive the exhaustion of file descriptors.

The event loops' own servers do not: uvloop closes the listening socket, asyncio logs a traceback.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from mcpgen.runtime.errors import ConfigurationError, UsageError
from mcpgen.runtime.process.log import log

BACKLOG: Final = 1024
PAUSE_SECONDS: Final = 0.1  # before the next attempt, after the descriptors were exhausted
REPORT_SECONDS: Final = 10.0  # between two log lines
_EXHAUSTED: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_NO_SUCH_ADDRESS: Final = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}

Connect = Callable[[], asyncio.Protocol]
_AddressInfo: TypeAlias = tuple[int, int, int, str, tuple[object, ...]]


class Listener:
    """Acceptor of connections; `connect` creates the protocol of each.

    Without a free descriptor it calls `make_room`, which closes some connections or returns
    False. In the latter case the next connection receives the bytes `refusal`, on a reserved
    descriptor.
    """

    def __init__(self, connect: Connect, make_room: Callable[[], bool], refusal: bytes) -> None:
        self._connect = connect
        self._make_room = make_room
        self._refusal = refusal
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY)
        self._report_due = 0.0

    async def listen(self, host: str, port: int) -> int:
        """Listen on each address of `host` and accept connections; return the port.

        Raises:
            ConfigurationError: the address cannot be bound.
            UsageError: the host cannot be resolved.
        """
        try:
            with _explain_errors(host, port):
                infos = await asyncio.get_running_loop().getaddrinfo(
                    host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
                )
                sockets = _open_sockets(infos)
        except ConfigurationError:
            self.close()
            raise
        self.accept_on(sockets)
        bound: int = sockets[0].getsockname()[1]
        return bound

    def accept_on(self, sockets: Sequence[socket.socket]) -> None:
        """Accept connections on listening sockets, which `close` closes."""
        self._sockets += sockets
        self._accepting += [asyncio.create_task(self._accept_all(it)) for it in sockets]

    def close(self) -> None:
        """Close the listening sockets; open connections remain."""
        for task in self._accepting:
            task.cancel()
        for listening in self._sockets:
            listening.close()
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None

    async def _accept_all(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await loop.connect_accepted_socket(self._connect, accepted)
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._report(error)
                    if not self._make_room():
                        self._refuse_one(listening)
                    await asyncio.sleep(PAUSE_SECONDS)
                # Any other error concerns a connection that its client has closed.

    def _refuse_one(self, listening: socket.socket) -> None:
        """Answer the next connection with the refusal, on the spare descriptor."""
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        with contextlib.suppress(OSError):
            accepted, _ = listening.accept()
            with accepted:
                accepted.setblocking(False)
                accepted.send(self._refusal)
        with contextlib.suppress(OSError):
            self._spare = os.open(os.devnull, os.O_RDONLY)

    def _report(self, error: OSError) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._report_due:
            self._report_due = now + REPORT_SECONDS
            log(
                "error",
                f"cannot accept connections: {error.strerror}; closing idle connections and "
                "retrying",
            )


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Listen on each address of `host`, for processes that accept on the same sockets.

    Raises:
        ConfigurationError: the address cannot be bound.
        UsageError: the host cannot be resolved.
    """
    with _explain_errors(host, port):
        return _open_sockets(
            socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        )


@contextlib.contextmanager
def _explain_errors(host: str, port: int) -> Iterator[None]:
    """Turn the errors of an address into those that the user reads."""
    try:
        yield
    except socket.gaierror as error:
        raise UsageError(f"--host {host} cannot be resolved: {error.strerror}") from None
    except OSError as error:
        text = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise ConfigurationError(text) from None


def _open_sockets(infos: Iterable[_AddressInfo]) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    missing: OSError | None = None  # of an address family that the system lacks
    try:
        for family, kind, protocol, _, address in dict.fromkeys(infos):
            try:
                sockets.append(_open_socket(family, kind, protocol, address))
            except OSError as error:
                if error.errno not in _NO_SUCH_ADDRESS:
                    raise
                missing = error
        if missing and not sockets:
            raise missing
    except OSError:
        for each in sockets:
            each.close()
        raise
    return sockets


def _open_socket(
    family: int, kind: int, protocol: int, address: tuple[object, ...]
) -> socket.socket:
    """Open a listening socket with the options of `loop.create_server`."""
    listening = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix" and sys.platform != "cygwin":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.setblocking(False)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
