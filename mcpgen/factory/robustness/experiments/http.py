"""Disconnects, wrong lengths and slow clients over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcpgen.factory.robustness.experiments.frames import make_harmless
from mcpgen.factory.robustness.experiments.kinds import HTTP, Experiment, SkippedError
from mcpgen.factory.robustness.subject import Subject, Variant, make_headers
from mcpgen.factory.validate.checks.exchange import harmless_request
from mcpgen.factory.wire.connection import ConnectionLostError, encode
from mcpgen.factory.wire.frames import Frame, HttpHead, as_headers, decode
from mcpgen.factory.wire.http import HttpConnection
from mcpgen.factory.wire.raw_http import RawHttp, format_request, read_body, read_status

_SHORT_SECONDS: Final = 3.0
_PIECE_SECONDS: Final = 0.2
_BLOCK_SECONDS: Final = 8.0
_REPETITIONS: Final = 3


class _Post:
    """A POST of a harmless request, in parts."""

    def __init__(self, subject: Subject, connection: HttpConnection, body: bytes) -> None:
        self.subject = subject
        self.connection = connection
        self.body = body
        self.headers: dict[str, str] = {}

    def head(self, changes: Mapping[str, str] | None = None) -> bytes:
        """Return the head of the request with changed headers; empty ones are omitted."""
        headers = {**self.headers, "Content-Length": str(len(self.body)), **(changes or {})}
        kept = {name: value for name, value in headers.items() if value}
        return format_request("POST", self.connection.url, kept)

    async def open(self) -> RawHttp | None:
        """Connect; None if the server does not accept it."""
        self.subject.spend(len(self.body))
        try:
            return await RawHttp.open(self.connection.url)
        except ConnectionLostError:
            return None

    def record(self, name: str, response: bytes) -> None:
        """Record an exchange, and examine the response."""
        connection = self.connection
        head = HttpHead("POST", connection.url, as_headers(self.headers))
        sent = Frame("sent", 0.0, self.body, None, revision=connection.revision, http=head)
        connection.recording.add(sent)
        status = read_status(response)
        if not status:
            return
        raw = read_body(response)
        message, fault = decode(raw)
        head = HttpHead("POST", connection.url, (), status)
        frame = Frame("received", 0.0, raw, message, fault, sent, connection.revision, http=head)
        connection.recording.add(frame)
        self.subject.examine([frame], Variant(name, self.body))


async def _make_post(subject: Subject) -> _Post:
    message = await make_harmless(subject)
    session = await subject.get_session()
    connection = session.connection
    if not isinstance(connection, HttpConnection):
        raise SkippedError("the server is not examined over Streamable HTTP")
    post = _Post(subject, connection, encode(message))
    post.headers = make_headers(session, connection, message)
    return post


def _abort_after(name: str, cut: Callable[[_Post], bytes]) -> Callable[[Subject], Any]:
    """Return an experiment that sends the first part of a request and closes the connection."""

    async def act(subject: Subject) -> None:
        for _ in range(_REPETITIONS):
            post = await _make_post(subject)
            raw = await post.open()
            if raw is not None:
                await raw.send(cut(post))
                raw.abort()
                post.record(name, b"")
            await subject.check_alive(name)

    return act


async def _send_wrong_lengths(subject: Subject) -> None:
    cases: tuple[tuple[str, dict[str, str], bytes], ...] = (
        ("a Content-Length that is too small", {"Content-Length": "5"}, b""),
        ("a Content-Length that is no number", {"Content-Length": "many"}, b""),
        ("a negative Content-Length", {"Content-Length": "-1"}, b""),
        ("a Content-Length of 30 digits", {"Content-Length": "9" * 30}, b""),
        ("no Content-Length", {"Content-Length": ""}, b""),
        (
            "Content-Length and Transfer-Encoding",
            {"Transfer-Encoding": "chunked"},
            b"0\r\n\r\n",
        ),
        (
            "a chunk whose size is no number",
            {"Content-Length": "", "Transfer-Encoding": "chunked"},
            b"zz\r\n{}\r\n0\r\n\r\n",
        ),
    )
    for name, changes, instead in cases[: max(subject.intensity.cases, 4)]:
        await _send_once(subject, name, changes, instead)
        await subject.check_alive(name)


async def _send_once(
    subject: Subject, name: str, changes: Mapping[str, str], instead: bytes = b""
) -> None:
    post = await _make_post(subject)
    raw = await post.open()
    if raw is not None:
        await raw.send(post.head(changes) + (instead or post.body))
        post.record(name, await raw.read_response(_SHORT_SECONDS))
        raw.abort()


async def _send_odd_heads(subject: Subject) -> None:
    cases: tuple[tuple[str, dict[str, str]], ...] = (
        ("a header of 32 KiB", {"X-Mcpgen": "x" * 32768}),
        ("a body that is not gzip, declared as gzip", {"Content-Encoding": "gzip"}),
        ("an unknown charset", {"Content-Type": "application/json; charset=mcpgen"}),
        ("a media type that is none", {"Content-Type": "application"}),
        ("an Accept header that is none", {"Accept": ";;q=,/"}),
        ("a session id of 4 KiB", {"Mcp-Session-Id": "x" * 4096}),
        ("an unknown event id", {"Last-Event-ID": "mcpgen-\u00ff"}),
        ("an expectation", {"Expect": "100-continue"}),
    )
    for name, changes in cases[: max(subject.intensity.cases, 4)]:
        await _send_once(subject, name, changes)
        await subject.check_alive(name)


async def _send_no_http(subject: Subject) -> None:
    for name, data in (
        ("bytes that are not HTTP", subject.make_bytes(200)),
        ("a TLS greeting", bytes.fromhex("16030100a5010000a10303") + subject.make_bytes(150)),
        ("JSON without HTTP", b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'),
        ("a request line of 20 KiB", b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n"),
    ):
        post = await _make_post(subject)
        raw = await post.open()
        if raw is not None:
            await raw.send(data)
            await raw.read_response(0.5)
            raw.abort()
        await subject.check_alive(name)


async def _send_slowly(subject: Subject) -> None:
    """Send a body in parts; after half of them, another client must be served."""
    post = await _make_post(subject)
    raw = await post.open()
    if raw is None:
        return
    size = max(1, len(post.body) // 8)
    await raw.send(post.head() + post.body[:size])
    try:
        await asyncio.sleep(_PIECE_SECONDS)
        is_served = await _is_served(subject)
    finally:
        for start in range(size, len(post.body), size):
            if not await raw.send(post.body[start : start + size]):
                break
            await asyncio.sleep(_PIECE_SECONDS)
        response = await raw.read_response(_SHORT_SECONDS)
        raw.abort()
    post.record("a slow body", response)
    await subject.check_alive("a slow body")
    if not is_served:
        _report_block(subject, "the body of one request was incomplete")


def _report_block(subject: Subject, condition: str) -> None:
    limit = f"{_BLOCK_SECONDS:g} seconds"
    message = f"a request was not answered within {limit} while {condition}"
    subject.add_finding("blocked-by-client", message)


async def _is_served(subject: Subject) -> bool:
    """Whether a request of another connection is answered."""
    subject.spend(0)
    try:
        async with asyncio.timeout(_BLOCK_SECONDS):
            async with subject.probe.fresh(opens=False) as session:
                if subject.probe.is_modern:
                    await session.request(harmless_request(subject.probe))
                else:
                    await session.open()
                return True
    except TimeoutError:
        return False
    except ConnectionLostError:
        return True  # refused at once, which `check_alive` judges


async def _leave_idle(subject: Subject) -> None:
    opened: list[RawHttp] = []
    try:
        for _ in range(_REPETITIONS):
            post = await _make_post(subject)
            raw = await post.open()
            if raw is not None:
                opened.append(raw)
        is_served = await _is_served(subject)
    finally:
        for raw in opened:
            raw.abort()
    await subject.check_alive("connections that send nothing")
    if not is_served:
        _report_block(subject, f"{len(opened)} connections sent nothing")


async def _abandon_streams(subject: Subject) -> None:
    session = await subject.get_session()
    connection = session.connection
    if not isinstance(connection, HttpConnection):
        return
    if not subject.probe.is_modern:
        for _ in range(_REPETITIONS):
            subject.spend(0)
            stream = await connection.open_stream()
            stream.abandon()
        await subject.check_alive("abandoned streams of GET")
    for tool in subject.tools[:_REPETITIONS]:
        params = {"name": tool.name, "arguments": tool.arguments}
        session = await subject.get_session()
        message = session.message(
            "tools/call", params, session.next_id(), meta={"progressToken": f"p{session.last_id}"}
        )
        subject.spend(100)
        try:
            pending = await session.connection.start(message)
            pending.abandon()
        except ConnectionLostError:
            pass  # judged by what follows
        await subject.check_alive(f"an abandoned call of `{tool.name}`")


_TIMEOUTS: Final = "handle the end of a connection like a cancelled request, at any time"

EXPERIMENTS: Final = (
    Experiment(
        id="http-disconnect-in-head",
        title="connections that are closed within the head of a request",
        why="proxies and clients are stopped at any time",
        help=_TIMEOUTS,
        transports=HTTP,
        act=_abort_after("a closed connection", lambda post: post.head()[:60]),
    ),
    Experiment(
        id="http-disconnect-in-body",
        title="connections that are closed within the body of a request",
        why="reading the body fails where no request exists yet",
        help=_TIMEOUTS,
        transports=HTTP,
        act=_abort_after(
            "a closed connection", lambda post: post.head() + post.body[: len(post.body) // 2]
        ),
    ),
    Experiment(
        id="http-disconnect-before-response",
        title="connections that are closed directly after a request",
        why="writing the response fails, or its work goes on for nobody",
        help=_TIMEOUTS,
        transports=HTTP,
        act=_abort_after("a closed connection", lambda post: post.head() + post.body),
    ),
    Experiment(
        id="http-abandoned-streams",
        title="event streams and calls that are closed after their head",
        why="a stream without a reader fills its buffer, or is written to for ever",
        help=_TIMEOUTS,
        transports=HTTP,
        act=_abandon_streams,
    ),
    Experiment(
        id="http-wrong-lengths",
        title="lengths of bodies that are wrong, missing or no numbers",
        why="a server that trusts them waits for ever, or reads the next request wrongly",
        help="answer HTTP 400 or 411 and close the connection",
        transports=HTTP,
        act=_send_wrong_lengths,
    ),
    Experiment(
        id="http-odd-heads",
        title="very long headers, unknown encodings and charsets",
        why="they are read by code that few tests reach",
        help="answer HTTP 4xx for what cannot be read",
        transports=HTTP,
        act=_send_odd_heads,
    ),
    Experiment(
        id="http-no-http",
        title="bytes that are not HTTP",
        why="port scanners and browsers send them",
        help="answer HTTP 400 or close the connection",
        transports=HTTP,
        act=_send_no_http,
    ),
    Experiment(
        id="http-slow-body",
        title="a request whose body takes two seconds, while another client sends one",
        why="mobile networks are slow, and attackers are on purpose",
        help="serve connections concurrently, with a time limit for the request",
        transports=HTTP,
        act=_send_slowly,
    ),
    Experiment(
        id="http-idle-connections",
        title="connections that send nothing",
        why="browsers and monitors open connections in advance",
        help="serve connections concurrently, and close those that send nothing",
        transports=HTTP,
        act=_leave_idle,
    ),
)
