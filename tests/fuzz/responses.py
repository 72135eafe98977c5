"""Fuzz target: responses of an API to tool calls of a running server.

The parts of a case are the path of the called operation, how the response ends (`keep`, `close`,
`reset` or `hang`), and the bytes of the response, one write each.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import random
import re
import time
import zlib
from typing import Any, Self

from tests.fuzz.attacked import TIMEOUT_SECONDS, AttackedHttp
from tests.fuzz.cases import Case, FaultError, pieces
from tests.fuzz.mutations import hostile_text, json_scalar, mutate_bytes, mutate_json
from tests.support.attack.api import Exchange
from tests.support.attack.documents import operation
from tests.support.attack.server import HttpClient, resident_bytes

_VALUE = {"id": 1, "name": "rex", "tags": ["a", "b"], "owner": {"name": "ada", "age": 1.5}}
_SCHEMA = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "owner": {"type": "object", "properties": {"age": {"type": "number"}}},
    },
}
_XML = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a d="e"><f>&b;</f><!-- g --></a>'
_MULTIPART = (
    b'--a\r\nContent-Type: application/json\r\n\r\n{"id":1}\r\n--a\r\n\r\ntext\r\n--a--\r\n'
)
_EVENTS = b'event: a\nid: 1\ndata: {"id":1}\n\n: note\n\ndata: b\ndata: c\n\nretry: 5\n\n'
_BODIES = {
    "json": ("application/json", json.dumps(_VALUE).encode()),
    "any": ("application/vnd.a+json", b'{"id": 1}'),
    "text": ("text/plain; charset=utf-8", "a\u202eb\x1b[31mc é".encode()),
    "events": ("text/event-stream", _EVENTS),
    "lines": ("application/x-ndjson", b'{"id":1}\n{"id":2}\nno JSON\n'),
    "xml": ("application/xml", _XML),
    "image": ("image/png", b"\x89PNG\r\n\x1a\n" + bytes(40)),
    "multipart": ("multipart/mixed; boundary=a", _MULTIPART),
}
_CHARSETS = ("utf-8", "utf-16", "utf-7", "latin-1", "punycode", "idna", "unicode_escape", "rot13",
             "base64", "zlib", "cp037", "shift_jis", "iso2022_jp_3", "hz", "x", "\x00",
             '"utf-8"')  # fmt: skip
_STATUS_LINES = (
    "HTTP/1.1 200 OK", "HTTP/1.1 200", "HTTP/1.0 200 OK", "HTTP/1.1 201 Created", "HTTP/1.1 204 No",
    "HTTP/1.1 206 Partial", "HTTP/1.1 301 Moved", "HTTP/1.1 304 Not", "HTTP/1.1 400 Bad",
    "HTTP/1.1 401 No", "HTTP/1.1 404 Not Found", "HTTP/1.1 429 Busy", "HTTP/1.1 500 Error",
    "HTTP/1.1 503 Busy", "HTTP/1.1 999 What", "HTTP/1.1 100 Continue", "HTTP/1.1 103 Hints",
    "HTTP/1.1 101 Switching", "HTTP/2 200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 0200 OK", "ICY 200 OK",
    "",
)  # fmt: skip
_DELAYS = ("0", "1", "-1", "9" * 30, "Fri, 31 Dec 9999 23:59:59 GMT", "x")
_SPAN_SECONDS = 5.0  # beyond the deadline of a call, on a machine that is shared


def _paths() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for name, (media_type, _) in _BODIES.items():
        schema = _SCHEMA if name == "json" else None
        for method, verb in (("get", "read"), ("post", "send")):
            call = operation(
                f"{verb}_{name}", media_type=media_type.partition(";")[0], schema=schema
            )
            paths.setdefault(f"/{name}", {})[method] = call
    return paths


class Responses:
    """Target that answers tool calls with changed responses."""

    name = "responses"
    slow_seconds = TIMEOUT_SECONDS + _SPAN_SECONDS
    clock = staticmethod(time.monotonic)

    def __enter__(self) -> Self:
        self._stack = contextlib.ExitStack()
        self._http = self._stack.enter_context(AttackedHttp(_paths()))
        self._client = self._stack.enter_context(HttpClient(self._http.server.port))
        self._case = Case(self.name, ())
        self._runs = 0
        for name in _BODIES:
            self._http.api.on(f"/{name}", self._answer)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def generate(self, chance: random.Random) -> Case:
        name = chance.choice(sorted(_BODIES))
        response = _response(name, chance)
        if chance.random() < 0.4:
            response = mutate_bytes(response, chance)
        return Case(self.name, _parts(name, response, chance))

    def mutate(self, case: Case, chance: random.Random) -> Case:
        tool, _, *parts = case.parts
        response = mutate_bytes(b"".join(parts), chance)[:300_000]
        return Case(self.name, _parts(tool.decode().partition("_")[2], response, chance))

    def run(self, case: Case) -> str:
        self._runs += 1
        self._case = case
        # More than half of the requests succeed, so that the circuit breaker stays closed.
        self._http.check_bystander()
        outcome = self._call(case.parts[0].decode())
        self._http.check_bystander()
        self._http.check_bystander()
        if self._runs % 20 == 0:
            self._http.check_log()
        return outcome

    def settle(self) -> None:
        time.sleep(1.0)

    def resident_bytes(self) -> dict[str, int]:
        return {"server": resident_bytes(self._http.server.process.pid)}

    def _call(self, tool: str) -> str:
        began = time.monotonic()
        answer = self._client.call_tool(tool, {})
        seconds = time.monotonic() - began
        if seconds > TIMEOUT_SECONDS + _SPAN_SECONDS:
            raise FaultError(f"answered {seconds:.1f} s after the call")
        if answer.get("id") != 3 or ("result" in answer) == ("error" in answer):
            raise FaultError(f"not one answer: {json.dumps(answer)[:300]}")
        if "error" in answer:
            raise FaultError(f"an error of the protocol: {json.dumps(answer)[:300]}")
        result = answer["result"]
        text = json.dumps(result)
        if "bystander" in text:
            raise FaultError(f"the answer of another call: {text[:300]}")
        if "internal error" in text:
            raise FaultError(f"an internal error: {text[:300]}")
        if not result.get("isError"):
            return f"{tool} {'structuredContent' in result} {_shape(result.get('content'))}"
        return f"{tool} {_template_of(result['content'][0]['text'])}"

    async def _answer(self, exchange: Exchange) -> None:
        _, end, *parts = self._case.parts
        if exchange.method == "POST" and not parts:
            return
        for number, part in enumerate(parts):
            if number:
                await asyncio.sleep(0.002)
                if exchange.reader._buffer:  # type: ignore[attr-defined]
                    return  # the response was complete: this would answer the next request
            await exchange.send(part)
        if end == b"reset":
            exchange.writer.transport.abort()
        # "hang" goes on with the next request too: if the response is complete, the connection is
        # used again, for example by the bystander.
        if end not in (b"keep", b"hang"):
            raise EOFError


def _shape(content: Any) -> str:
    return str([entry.get("type") for entry in content or []][:3])


def _template_of(message: str) -> str:
    """Remove the parts that differ between two errors of one kind."""
    return re.sub(r"`[^`]*`|\d+|: .*", "", message)[:60]


def _parts(name: str, response: bytes, chance: random.Random) -> tuple[bytes, ...]:
    verb = chance.choice(["send", "send", "send", "read"])  # a POST is not repeated
    ends = [b"close"] * 12 + [b"keep"] * 6 + [b"reset"] * 2
    end = b"hang" if chance.random() < 0.02 else chance.choice(ends)
    return (f"{verb}_{name}".encode(), end, *pieces(response, chance, 4))


def _response(name: str, chance: random.Random) -> bytes:
    media_type, body = _BODIES[chance.choice([name] * 4 + sorted(_BODIES))]
    body = _changed_body(body, chance)
    if chance.random() < 0.3:
        media_type = f"{media_type.partition(';')[0]}; charset={chance.choice(_CHARSETS)}"
    if chance.random() < 0.1:
        media_type = hostile_text(chance)[:100]
    headers = [("Content-Type", media_type)]
    if chance.random() < 0.3:
        coding, body = _compress(body, chance)
        headers.append(("Content-Encoding", coding))
    framing, body = _frame(body, chance)
    headers += framing
    if chance.random() < 0.2:
        headers.append(chance.choice([
            ("Retry-After", chance.choice(_DELAYS)),
            ("Location", "http://169.254.169.254/"), ("Set-Cookie", "a=b"), ("Connection", "close"),
            ("Connection", "upgrade"), ("X", hostile_text(chance)), ("Trailer", "X"),
            ("X" * 9000, "a"),
            ("Link", '<?page=2>; rel="next"'), ("Content-Disposition", "attachment; filename=../a"),
        ]))  # fmt: skip
    if chance.random() < 0.1:
        chance.shuffle(headers)
    status = chance.choice(_STATUS_LINES) if chance.random() < 0.4 else _STATUS_LINES[0]
    end = "\n" if chance.random() < 0.03 else "\r\n"
    lines = [status, *(f"{field}: {value}" for field, value in headers)]
    head = (end.join(lines) + end * 2).encode("utf-8", "surrogatepass")
    interim = b"HTTP/1.1 103 Early\r\nLink: a\r\n\r\n" * chance.choice([0] * 20 + [1, 5, 100])
    after = b"" if chance.random() < 0.9 else chance.choice([b"x", b"\r\n", interim, head + body])
    return interim + head + body + after


def _changed_body(body: bytes, chance: random.Random) -> bytes:
    kind = chance.randrange(10)
    if kind < 3:
        with contextlib.suppress(ValueError):
            return json.dumps(mutate_json(json.loads(body), chance)).encode()
    if kind == 3:
        return json.dumps(json_scalar(chance)).encode()
    if kind == 4:
        return b"[" * chance.choice([10, 200, 5000, 100_000])
    if kind == 5:
        return mutate_bytes(body, chance)
    return body


def _compress(body: bytes, chance: random.Random) -> tuple[str, bytes]:
    kind = chance.randrange(8)
    if kind == 0:
        return "gzip", gzip.compress(b"") * chance.choice([1, 10, 2000]) + gzip.compress(body)
    if kind == 1:
        return "gzip", gzip.compress(bytes(chance.choice([10_000, 20_000_000])))
    if kind == 2:
        return chance.choice(["br", "zstd", "compress", "gzip, gzip", "identity", "", "x"]), body
    if kind == 3:
        return "deflate", zlib.compress(body)
    if kind == 4:
        return "gzip", mutate_bytes(gzip.compress(body), chance)
    return "gzip", gzip.compress(body)


def _frame(body: bytes, chance: random.Random) -> tuple[list[tuple[str, str]], bytes]:
    kind = chance.randrange(12)
    length = ("Content-Length", str(len(body)))
    chunked = ("Transfer-Encoding", "chunked")
    if kind < 3:
        size = len(body) if kind else chance.choice([0, len(body) + 5, 2**40])
        extension = chance.choice(["", ";a=b", ";" + "a" * 5000, " "])
        trailer = chance.choice([b"", b"X: y\r\n", b"X: y\r\n" * 500, b"Content-Length: 5\r\n"])
        data = f"{size:x}{extension}\r\n".encode() + body + b"\r\n0\r\n" + trailer + b"\r\n"
        return [chunked], data
    if kind == 3:
        return [length, chunked], body
    if kind == 4:
        wrong = chance.choice(["0", "-1", "+5", str(len(body) + 7), str(2**64), "1, 2", "", "0x5"])
        return [("Content-Length", wrong)], body
    if kind == 5:
        return [], body  # up to the end of the connection
    if kind == 6:
        return [length, chance.choice([length, ("Content-Length", "1")])], body
    return [length], body
