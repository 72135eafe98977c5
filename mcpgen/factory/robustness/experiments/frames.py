"""Frames that are broken, split, joined or very long."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from mcpgen.factory.robustness.experiments.kinds import STDIO, Experiment
from mcpgen.factory.robustness.subject import ANSWER_SECONDS, Subject, Variant
from mcpgen.factory.validate.checks.exchange import harmless_request
from mcpgen.factory.wire.stdio import StdioConnection

_PIECE_SECONDS: Final = 0.02
_INVALID: Final = (
    b"{", b"}", b"[", b'"', b"nul", b"{]", b'{"jsonrpc": "2.0", "id": 1, "method": "ping",}',
    b"{'jsonrpc': '2.0'}", b'{"jsonrpc": "2.0" "id": 1}', b"hello", b"// comment", b"<xml/>",
    b'{"a": 01}', b'{"a": "\t"}', b'{"a": "\\x"}', b"Content-Length: 5", b"GET / HTTP/1.1",
)  # fmt: skip
_NO_OBJECTS: Final = (b"7", b'"text"', b"null", b"true", b"[]", b"[[]]", b"{}", b"[null]", b"-0.5")


async def make_harmless(subject: Subject, **extra: Any) -> dict[str, Any]:
    """Return a harmless request with a new id; `extra` is added to its `_meta`."""
    session = await subject.get_session()
    method = harmless_request(subject.probe)
    return session.message(method, None, session.next_id(), meta=extra or None)


def _encode(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _make_sender(texts: Sequence[bytes]) -> Callable[[Subject], Any]:
    async def send(_subject: Subject) -> list[Variant]:
        return [Variant(repr(text)[1:][:60], text) for text in texts]

    return send


async def _send_truncated(subject: Subject) -> list[Variant]:
    raw = _encode(await make_harmless(subject))
    return [
        Variant(f"the first {cut} of {len(raw)} bytes of a request", raw[:cut])
        for cut in range(1, len(raw), max(1, len(raw) // 24))
    ]


async def _send_long_line(subject: Subject) -> list[Variant]:
    size = subject.intensity.huge_bytes
    message = await make_harmless(subject, mcpgen="x" * size)
    spaces = _encode(await make_harmless(subject)) + b" " * size
    name = f"{size // 1024} KiB"
    return [
        Variant(f"a request of {name}", message, is_client_fault=False),
        Variant(f"a request with {name} of spaces", spaces, is_client_fault=False),
        Variant(f"{name} without any structure", b"x" * size),
    ]


async def _send_binary(subject: Subject) -> list[Variant]:
    texts = [bytes(byte for byte in subject.make_bytes(256) if byte != 10) for _ in range(8)]
    latin = '{"jsonrpc": "2.0", "method": "notifications/é"}'.encode("latin-1")
    wide = '{"jsonrpc": "2.0", "method": "notifications/x"}'.encode("utf-16-le")
    known = [b"\x00", b"\xff\xfe\xfd", b"\xc3\x28", b"\xed\xa0\x80", latin, wide, b"\x00" * 1000]
    return [Variant(f"{len(text)} bytes: {text[:12].hex(' ')}", text) for text in [*known, *texts]]


async def _send_decorated(subject: Subject) -> list[Variant]:
    raw = _encode(await make_harmless(subject))
    other = _encode(await make_harmless(subject))
    more = [_encode(await make_harmless(subject)) for _ in range(4)]
    return [
        Variant("a request with a byte order mark", b"\xef\xbb\xbf" + raw),
        Variant("a request that ends with CR LF", other + b"\r", is_client_fault=False),
        Variant("two requests in one line", more[0] + more[1]),
        Variant("a request, and half of one, in one line", more[2] + more[3][:20]),
    ]


async def _send_separators(subject: Subject) -> list[Variant]:
    return [
        Variant(
            f"U+{ord(text):04X} in a string",
            await make_harmless(subject, mcpgen=f"a{text}b"),
            must_answer=True,
        )
        for text in "\u2028\u2029\u0085"
    ]


async def _send_blank_lines(subject: Subject) -> None:
    session = await subject.get_session()
    if isinstance(session.connection, StdioConnection):
        subject.spend(16)
        await session.connection.write(b"\n\n  \n\t\n\r\n\n")
    await subject.check_alive("blank lines")


async def _send_in_pieces(subject: Subject) -> None:
    session = await subject.get_session()
    connection = session.connection
    if not isinstance(connection, StdioConnection):
        return
    first = await make_harmless(subject, mcpgen="é\U0001f600")
    for cuts in ((1, 20), (30, 31), (-2, -1)):
        message = {**first, "id": session.next_id()}
        raw = _encode(message) + b"\n"
        subject.spend(len(raw))
        pending = connection.make_pending(message, raw)
        at = sorted(cut % len(raw) for cut in cuts)
        for start, end in zip([0, *at], [*at, len(raw)], strict=True):
            await connection.write(raw[start:end])
            await asyncio.sleep(_PIECE_SECONDS)
        if await pending.response(ANSWER_SECONDS) is None:
            await subject.check_alive("a request in three pieces")
            message_text = "a request that was written in three pieces was not answered"
            subject.add_finding("request-lost", message_text, [pending.request])
            return


async def _send_joined(subject: Subject) -> None:
    session = await subject.get_session()
    connection = session.connection
    if not isinstance(connection, StdioConnection):
        return
    messages = [await make_harmless(subject) for _ in range(3)]
    lines = [_encode(message) + b"\n" for message in messages]
    subject.spend(sum(map(len, lines)))
    waiting = [
        connection.make_pending(message, line)
        for message, line in zip(messages, lines, strict=True)
    ]
    await connection.write(b"".join(lines))
    found = [await pending.response(ANSWER_SECONDS) for pending in waiting]
    if None in found:
        await subject.check_alive("three lines in one write")
        lost = found.count(None)
        message = f"{lost} of 3 requests that were written at once were not answered"
        subject.add_finding("request-lost", message, [waiting[found.index(None)].request])


_CATCH: Final = "catch the error of the JSON parser for each frame, and read the next one"

EXPERIMENTS: Final = (
    Experiment(
        id="frames-invalid-json",
        title="frames that are not JSON",
        why="a library on the other side prints a line, and the server must survive it",
        help=_CATCH,
        variants=_make_sender(_INVALID),
    ),
    Experiment(
        id="frames-truncated",
        title="the beginnings of requests",
        why="a client that is killed leaves half a message",
        help=_CATCH,
        variants=_send_truncated,
    ),
    Experiment(
        id="frames-no-object",
        title="JSON that is no message: numbers, texts, null, lists",
        why="a handler that looks up `method` fails outside of the code that catches errors",
        help="check that a message is an object before its members are read",
        variants=_make_sender(_NO_OBJECTS),
    ),
    Experiment(
        id="frames-binary",
        title="bytes that are not UTF-8",
        why="decoding fails before the parser, often where nothing catches the error",
        help="decode inside the code that catches errors of one frame",
        variants=_send_binary,
    ),
    Experiment(
        id="frames-decorated",
        title="byte order marks, CR LF, and several messages in one line",
        why="clients on other systems and shells add them",
        help="ignore what the JSON grammar allows around a message, refuse the rest",
        variants=_send_decorated,
    ),
    Experiment(
        id="frames-long",
        title="very long frames",
        why="readers with a fixed buffer stop at them; files in base64 are as long",
        help="read lines without a fixed limit, or refuse those over it and read on",
        variants=_send_long_line,
    ),
    Experiment(
        id="frames-line-separators",
        title="requests with the characters U+2028, U+2029 and U+0085",
        why="they end lines for some functions, but not in MCP: the request is torn apart",
        help="split at line feeds (0x0A) alone",
        variants=_send_separators,
    ),
    Experiment(
        id="frames-blank-lines",
        title="blank lines between messages",
        why="shells and scripts send them",
        help="ignore blank lines",
        transports=STDIO,
        act=_send_blank_lines,
    ),
    Experiment(
        id="frames-in-pieces",
        title="requests that are written in several pieces",
        why="a pipe delivers what was written in any pieces, also within a character",
        help="join what was read until the line feed, and decode whole lines",
        transports=STDIO,
        act=_send_in_pieces,
    ),
    Experiment(
        id="frames-joined",
        title="several lines in one write",
        why="a pipe delivers several lines at once",
        help="handle each line of what was read",
        transports=STDIO,
        act=_send_joined,
    ),
)
