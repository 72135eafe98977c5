"""Load of the HTTP benchmarks: one request, posted on kept connections without a pause.

A server's cost is what it pays while it has work, so it must never wait for the driver: one that
falls asleep between two requests pays for being woken, and for waking its clients. Hence no event
loop, no HTTP library and no JSON between an answer and the next request, which is bytes made
once: the first answers are read and checked in full, and each later one must end with their
bytes. The driver then takes less time for an answer than any server here.
"""

from __future__ import annotations

import itertools
import json
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse

CONNECTIONS = 16
STUCK_SECONDS = 30
_MOST_BYTES = 65_536
_NUMBER = b"X-Number: %012d\r\n"
Check = Callable[[dict[str, object]], None]  # raises where an answer is not the right one


class Load:
    """Kept connections; each of them posts the request again as soon as it is answered."""

    def __init__(
        self, connections: list[socket.socket], requests: Iterator[bytes], answer: bytes
    ) -> None:
        self._connections = {connection.fileno(): connection for connection in connections}
        self._requests = requests
        self._answer = answer

    def post(self, count: int, latencies: list[float] | None = None) -> None:
        """Post `count` times, distributed over the connections as they become ready.

        `latencies` receives the seconds from each request to its answer.

        Raises:
            RuntimeError: an answer is not the right one, or does not come.
        """
        requests, expected = self._requests, self._answer
        begun: dict[int, bytes] = {}  # answers of which a part has come
        sent_at: dict[int, float] = {}
        with select.epoll() as poll:
            for connection in self._connections.values():
                poll.register(connection, select.EPOLLIN)
                sent_at[connection.fileno()] = time.perf_counter()
                connection.sendall(next(requests))
            awaited = len(self._connections)
            unsent = count - awaited
            while awaited:
                ready = poll.poll(STUCK_SECONDS)
                if not ready:
                    raise RuntimeError(f"{awaited} answers are missing or not the right one")
                for number, _ in ready:
                    connection = self._connections[number]
                    answer = begun.pop(number, b"") + _received(connection)
                    if not answer.endswith(expected):
                        begun[number] = answer
                        continue
                    now = time.perf_counter()
                    if latencies is not None:
                        latencies.append(now - sent_at[number])
                    if unsent > 0:
                        sent_at[number] = now
                        connection.sendall(next(requests))
                        unsent -= 1
                    else:
                        awaited -= 1


@contextmanager
def http_load(
    port: int,
    request: bytes,
    check: Check,
    *,
    connections: int = CONNECTIONS,
    is_numbered: bool = False,
) -> Iterator[Load]:
    """Open connections that have answered `request` once, with a response accepted by `check`.

    With `is_numbered`, a header field numbers the requests, so that no head repeats.
    """
    requests = _number(request) if is_numbered else itertools.repeat(request)
    with ExitStack() as opened:
        opened_connections = []
        for _ in range(connections):
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(next(requests))
            answer = _checked_answer(connection, check)
            opened_connections.append(connection)
        yield Load(opened_connections, requests, answer)


def _number(request: bytes) -> Iterator[bytes]:
    line, rest = request.split(b"\r\n", 1)
    for number in itertools.count():
        yield b"%b\r\n%b%b" % (line, _NUMBER % number, rest)


def _checked_answer(connection: socket.socket, check: Check) -> bytes:
    """Check the first response; return its body with the bytes that end it on the wire."""
    response = HTTPResponse(connection)
    response.begin()
    body = response.read()
    check(json.loads(body))
    return body + b"\r\n0\r\n\r\n" if response.chunked else body


def _received(connection: socket.socket) -> bytes:
    data = connection.recv(_MOST_BYTES)
    if not data:
        raise RuntimeError("the server closed a connection")
    return data
