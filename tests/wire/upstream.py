"""An API that records the bytes it receives and answers with prepared bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse

# Headers that every HTTP client adds. `Content-Length` is compared with the body.
_OF_THE_CLIENT = frozenset({"host", "user-agent", "accept-encoding", "content-length"})


@dataclass(frozen=True, slots=True)
class Sent:
    """A received request: "GET /pets?limit=3", header fields in lower case, the body."""

    line: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, written unchanged."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    body: bytes = b"{}"


@dataclass
class Upstream:
    """An API that answers requests in turn; the last answer is repeated."""

    answers: Sequence[Answer] = (Answer(),)
    received: list[Sent] = field(default_factory=list)

    def _next(self) -> Answer:
        return self.answers[min(len(self.received), len(self.answers)) - 1]

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request in place of the HTTP client, for cases about unreachable hosts."""
        headers = tuple((name.lower(), value) for name, value in request.headers)
        self.received.append(Sent(f"{request.method} {request.url}", headers, request.body))
        answer = self._next()
        return HttpResponse(answer.status, answer.headers, answer.body)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Listen on a free port of this machine; yield its base URL without a path."""
        conversations: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._converse(reader, writer))
            conversations.add(task)
            task.add_done_callback(conversations.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            await asyncio.gather(*conversations)
            await server.wait_closed()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                self.received.append(await _read_request(reader))
                writer.write(_bytes_of(self._next()))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client is done
        finally:
            writer.close()


async def _read_request(reader: asyncio.StreamReader) -> Sent:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
    request, _, version = line.rpartition(" ")
    assert version == "HTTP/1.1"
    pairs = [field.split(": ", 1) for field in fields]
    headers = tuple((name.lower(), value) for name, value in pairs)
    lengths = [value for name, value in headers if name == "content-length"]
    assert "transfer-encoding" not in dict(headers), "a body of known length is never chunked"
    assert len(lengths) <= 1, "two lengths are how requests are smuggled"
    # "Content-Length: 0" is how a POST says that it has no body (RFC 9110, section 8.6).
    body = await reader.readexactly(int(lengths[0])) if lengths else b""
    kept = tuple(pair for pair in headers if pair[0] not in _OF_THE_CLIENT)
    return Sent(request, kept, body or None)


def _bytes_of(answer: Answer) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
    head = f"HTTP/1.1 {answer.status} As written\r\n{fields}"
    if answer.status != 204:
        head += f"Content-Length: {len(answer.body)}\r\n"
    return head.encode("latin-1") + b"\r\n" + answer.body
