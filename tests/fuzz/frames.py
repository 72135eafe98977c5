"""Fuzz target: frames that clients send to a running server, over stdio and HTTP.

The first part of a case says how the others are sent, one write each:

- `stdio`: to a process that serves all cases, which then has to answer a ping;
- `stdio-eof`: to a new process, before the end of its input;
- `http`: over a connection of its own; `{SESSION}` becomes the id of an open session, `{PORT}` the
  server's port.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import selectors
import socket
import subprocess
import time
from collections import Counter
from typing import Any, Self

from tests.fuzz.attacked import AttackedHttp, check_log_text
from tests.fuzz.cases import Case, FaultError, pieces
from tests.fuzz.mutations import mutate_bytes, mutate_json
from tests.support.attack.documents import HEALTHY_TOOL
from tests.support.attack.server import (
    LEGACY,
    MODERN,
    AttackedServer,
    HttpClient,
    resident_bytes,
    serve_stdio,
)

_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", LEGACY, MODERN, "2099-01-01", "")
_WAIT_SECONDS = 20.0
_ALLOWED_5XX = {501, 503, 505}  # not implemented, busy, version of HTTP
_UNANSWERED = {"subscriptions/listen"}  # until the subscription ends
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ping", {}),
    ("initialize", {"protocolVersion": LEGACY, "capabilities": {"elicitation": {}, "roots": {}},
                    "clientInfo": {"name": "a", "version": "1"}}),
    ("notifications/initialized", {}),
    ("tools/list", {}),
    ("tools/list", {"cursor": "AAAA"}),
    ("tools/call", {"name": HEALTHY_TOOL, "arguments": {"id": "1"}}),
    ("tools/call", {"name": HEALTHY_TOOL, "arguments": {"id": "1"}, "_meta": {"progressToken": 1}}),
    ("tools/call", {"name": "none", "arguments": {}}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "a", "arguments": {}}),
    ("resources/list", {}),
    ("resources/read", {"uri": "a://b"}),
    ("resources/templates/list", {}),
    ("resources/subscribe", {"uri": "a://b"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "a"},
                             "argument": {"name": "b", "value": "c"}}),
    ("logging/setLevel", {"level": "debug"}),
    ("server/discover", {}),
    ("subscriptions/listen", {"notifications": {"toolsListChanged": True}}),
    ("tasks/get", {"taskId": "a"}),
    ("tasks/cancel", {"taskId": "a"}),
    ("notifications/cancelled", {"requestId": 1, "reason": "a"}),
    ("notifications/roots/list_changed", {}),
    ("rpc.discover", {}),
)  # fmt: skip


def _message(chance: random.Random) -> Any:
    method, params = chance.choice(_METHODS)
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if not method.startswith("notifications/"):
        message["id"] = chance.choice([chance.randrange(4), f"id-{chance.randrange(3)}"])
    message |= {"method": method, "params": params}
    if chance.random() < 0.5:
        message["params"] = {**params, "_meta": {**_META, **params.get("_meta", {})}}
    kind = chance.random()
    if kind < 0.1:
        return {"jsonrpc": "2.0", "id": chance.randrange(4), "result": {}}
    if kind < 0.45:
        return mutate_json(message, chance)
    return message


def _messages(chance: random.Random) -> list[Any]:
    found = [_message(chance) for _ in range(chance.choice([1, 1, 2, 5]))]
    return [found] if chance.random() < 0.1 else found


class Frames:
    """Target that sends frames to a server over stdio and to one over HTTP."""

    name = "frames"
    slow_seconds = 1.0 + 5.0  # a machine that is shared may be slower by far
    clock = staticmethod(time.monotonic)

    def __enter__(self) -> Self:
        self._stack = contextlib.ExitStack()
        self._http = self._stack.enter_context(AttackedHttp({}))
        self._stdio = _Stdio(self._http)
        self._stack.callback(self._stdio.close)
        self._runs = 0
        self._session = ""
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def generate(self, chance: random.Random) -> Case:
        kind = chance.choice([b"http", b"http", b"stdio", b"stdio"])
        if chance.random() < 0.02:
            kind = b"stdio-eof"
        write = _http_requests if kind == b"http" else _lines
        data = write(chance)
        if chance.random() < 0.4:
            data = mutate_bytes(data, chance)
        return Case(self.name, (kind, *pieces(data, chance)))

    def mutate(self, case: Case, chance: random.Random) -> Case:
        kind, *parts = case.parts
        data = mutate_bytes(b"".join(parts), chance)[:100_000]
        return Case(self.name, (kind, *pieces(data, chance)))

    def run(self, case: Case) -> str:
        self._runs += 1
        kind, *parts = case.parts
        if kind == b"http":
            outcome = self._run_http(parts)
        else:
            run = self._stdio.run if kind == b"stdio" else self._stdio.run_to_the_end
            outcome = run(parts)
        if self._runs % 10 == 0:
            self._http.check_bystander()
        if self._runs % 20 == 0:
            self._http.check_log()
        return f"{kind.decode()} {outcome}"

    def settle(self) -> None:
        time.sleep(1.0)

    def resident_bytes(self) -> dict[str, int]:
        return {
            "http": resident_bytes(self._http.server.process.pid),
            "stdio": resident_bytes(self._stdio.pid),
        }

    def _run_http(self, parts: list[bytes]) -> str:
        if self._runs % 500 == 1 or not self._session:
            self._session = _open_session(self._http.server.port)
        port = self._http.server.port
        values = {b"{SESSION}": self._session.encode(), b"{PORT}": str(port).encode()}
        chunks = list(parts)
        for name, value in values.items():
            chunks = [chunk.replace(name, value) for chunk in chunks]
        received = _exchange(port, chunks)
        statuses = check_responses(received, b"".join(chunks))
        return str(statuses)


def _open_session(port: int) -> str:
    with HttpClient(port) as client:
        client.open_session()
        return client._session.get("Mcp-Session-Id", "")


def _exchange(port: int, chunks: list[bytes]) -> bytes:
    """Send chunks over a new connection; return the data received until a pause or the end."""
    received = bytearray()
    with socket.create_connection(("127.0.0.1", port), timeout=_WAIT_SECONDS) as connection:
        with contextlib.suppress(OSError):  # the server may close before it was sent all
            for chunk in chunks:
                connection.sendall(chunk)
        # A request without an end is answered after seconds, and not waited for.
        connection.settimeout(0.15)
        with contextlib.suppress(OSError):
            while data := connection.recv(65536):
                received += data
                connection.settimeout(0.03)
    return bytes(received)


_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[^\r\n]*\r\n")


def check_responses(received: bytes, sent: bytes) -> list[int]:
    """Check the responses on a connection; return their statuses.

    Raises:
        FaultError: bytes are not a response, a status is 5xx, a body is not JSON, or there are
            too many responses.
    """
    statuses = []
    rest = received
    while rest:
        found = _STATUS.match(rest)
        if found is None:
            raise FaultError(f"no HTTP response: {rest[:80]!r}")
        status = int(found[1])
        head, complete, rest = rest.partition(b"\r\n\r\n")
        if status >= 500 and status not in _ALLOWED_5XX:
            raise FaultError(f"status {status}: {rest[:200]!r}")
        if status >= 200:
            statuses.append(status)
        if not complete:
            break
        rest = _without_body(head.lower(), rest)
    if len(statuses) > sent.count(b"\n") + 1:
        raise FaultError(f"{len(statuses)} responses to {sent.count(b'HTTP/')} requests")
    return statuses


def _without_body(head: bytes, rest: bytes) -> bytes:
    length = re.search(rb"\r\ncontent-length: *(\d+)", head)
    if length is None:
        if b"\r\ntransfer-encoding: chunked" in head:  # a stream of events
            _, end, after = rest.partition(b"\r\n0\r\n\r\n")
            return after if end else b""
        return rest if rest.startswith(b"HTTP/1.") else b""
    body, after = rest[: int(length[1])], rest[int(length[1]) :]
    if after and not after.startswith(b"HTTP/1."):
        return rest  # the answer to HEAD has a length and no body
    if b"\r\ncontent-type: application/json" in head and len(body) == int(length[1]) and body:
        json.loads(body)
    return after


def _http_requests(chance: random.Random) -> bytes:
    return b"".join(_http_request(chance) for _ in range(chance.choice([1, 1, 1, 2, 4])))


def _http_request(chance: random.Random) -> bytes:
    messages = _messages(chance)
    body = json.dumps(messages[0]).encode()
    method = chance.choice(
        ["POST"] * 8 + ["GET", "DELETE", "OPTIONS", "HEAD", "PUT", "CONNECT", "a"]
    )
    target = chance.choice(
        ["/mcp"] * 8 + ["/health", "/", "*", "http://a/mcp", "/mcp?a=%00", "/../mcp"]
    )
    headers = [
        (
            "Host",
            chance.choice(
                ["127.0.0.1:{PORT}"] * 20 + ["127.0.0.1", "evil.example", "", "127.0.0.1:1", "a b"]
            ),
        ),
        (
            "Content-Type",
            chance.choice(["application/json"] * 8 + ["text/plain", "application/json;a"]),
        ),
        (
            "Accept",
            chance.choice(
                ["application/json, text/event-stream"] * 8 + ["*/*", "text/html", ";q=x"]
            ),
        ),
    ]
    if chance.random() < 0.5:
        headers.append(("MCP-Protocol-Version", chance.choice(_REVISIONS)))
    if chance.random() < 0.5:
        headers.append(("Mcp-Session-Id", chance.choice(["{SESSION}"] * 5 + ["none", "a" * 300])))
    if chance.random() < 0.5 and isinstance(messages[0], dict):
        headers.append(("Mcp-Method", str(messages[0].get("method", ""))[:200]))
        params = messages[0].get("params")
        name = params.get("name") if isinstance(params, dict) else None
        headers += [("Mcp-Name", str(name)[:200])] if name else []
    headers += _framing(body, chance)
    if chance.random() < 0.1:
        headers.append(chance.choice([
            ("Connection", "close"), ("Expect", "100-continue"), ("Upgrade", "h2c"),
            ("Origin", "null"),
            ("Origin", "http://127.0.0.1"), ("Last-Event-ID", "a-1"), ("Cookie", "a" * 5000),
            ("X", "a\r\n b"), ("Content-Encoding", "gzip"), ("Host", "b"),
            ("Authorization", "Bearer a"),
        ]))  # fmt: skip
    if chance.random() < 0.2:
        chance.shuffle(headers)
    end = "\n" if chance.random() < 0.03 else "\r\n"
    lines = [
        f"{method} {target} HTTP/1.{chance.choice('1111110')}",
        *(f"{k}: {v}" for k, v in headers),
    ]
    head = (end.join(lines) + end * 2).encode("utf-8", "surrogatepass")
    if any(name == "Transfer-Encoding" for name, _ in headers):
        size = len(body) if chance.random() < 0.8 else chance.choice([0, 5, 2**31, 2**64])
        body = f"{size:x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    return head + body


def _framing(body: bytes, chance: random.Random) -> list[tuple[str, str]]:
    kind = chance.randrange(12)
    if kind == 0:
        return [
            (
                "Transfer-Encoding",
                chance.choice(["chunked", "chunked, gzip", "identity", "xchunked"]),
            )
        ]
    if kind == 1:
        return [("Content-Length", str(len(body))), ("Transfer-Encoding", "chunked")]
    if kind == 2:
        wrong = chance.choice(["0", "-1", "+5", "1e3", str(len(body) + 9), str(2**64), "", "5, 5"])
        return [("Content-Length", wrong)]
    if kind == 3:
        return [("Content-Length", str(len(body)))] * 2
    return [("Content-Length", str(len(body)))]


def _lines(chance: random.Random) -> bytes:
    end = chance.choice(["\n"] * 8 + ["\r\n", "\n\n", "\r"])
    text = end.join(json.dumps(message) for message in _messages(chance)) + end
    return text.encode("utf-8", "surrogatepass")


class _Stdio:
    """A server over stdio that runs all cases, and new ones for cases that end it."""

    def __init__(self, http: AttackedHttp) -> None:
        self._http = http
        self._stack = contextlib.ExitStack()
        self._sentinels = 0
        self._start()

    @property
    def pid(self) -> int:
        return self._server.process.pid

    def close(self) -> None:
        self._stack.close()

    def run(self, parts: list[bytes]) -> str:
        """Send a case, then a ping; check all lines until both are answered.

        Raises:
            FaultError: an answer is missing, duplicate or not JSON.
        """
        try:
            return self._run(parts)
        except Exception:
            self.close()
            self._start()  # the next case must not suffer from this one
            raise

    def run_to_the_end(self, parts: list[bytes]) -> str:
        """Send a case to a new process and close its input.

        Raises:
            FaultError: as in `run`, or the process fails.
        """
        with serve_stdio(self._http.project, self._http.environ, stderr=subprocess.PIPE) as server:
            output, log = server.process.communicate(b"".join(parts), timeout=_WAIT_SECONDS)
            status = server.process.returncode
        check_log_text(log)
        if status:
            raise FaultError(f"ended with {status} at the end of its input")
        answers = [_decode(line) for line in output.splitlines()]
        return _check_answers(answers, b"".join(parts), must_be_complete=True)

    def _start(self) -> None:
        self._stack = contextlib.ExitStack()
        log = (self._http.project.parent / "stdio-log.txt").open("wb")
        self._stack.callback(log.close)
        self._server: AttackedServer = self._stack.enter_context(
            serve_stdio(self._http.project, self._http.environ, stderr=log.fileno())
        )
        self._pending = b""

    def _run(self, parts: list[bytes]) -> str:
        self._sentinels += 1
        sentinel = f"sentinel-{self._sentinels}"
        sent = b"".join(parts)
        for part in parts:
            self._send(part)
        self._send(f'\n{{"jsonrpc":"2.0","id":"{sentinel}","method":"ping"}}\n'.encode())
        for identifier in _open_streams(sent):
            cancel = {"requestId": identifier}
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}
            self._send(json.dumps(message).encode() + b"\n")
        answers: list[Any] = []
        due = time.monotonic() + _WAIT_SECONDS
        while not self._is_answered(answers, sentinel, sent):
            answers.append(_decode(self._line(due)))
        if self._sentinels % 50 == 0:
            self._check_log()
        answers = [answer for answer in answers if _id_of(answer) != sentinel]
        outcome = _check_answers(answers, sent, must_be_complete=False)
        if len(_list_expected(sent)) < sent.count(b'"method"'):
            self.close()  # an answer that is still to come would count as one of the next case
            self._start()
        return outcome

    def _is_answered(self, answers: list[Any], sentinel: str, sent: bytes) -> bool:
        if not any(_id_of(answer) == sentinel for answer in answers):
            return False
        seen = {_key(identifier) for answer in answers for identifier in _ids(answer)}
        return all(identifier in seen for identifier in _list_expected(sent))

    def _send(self, data: bytes) -> None:
        pipe = self._server.process.stdin
        assert pipe is not None
        pipe.write(data)
        pipe.flush()

    def _line(self, due: float) -> bytes:
        pipe = self._server.process.stdout
        assert pipe is not None
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not selector.select(max(0.0, due - time.monotonic())):
                    raise FaultError("no answer over stdio")
                data = os.read(pipe.fileno(), 65536)
                if not data:
                    raise FaultError("the server over stdio has ended")
                self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _check_log(self) -> None:
        path = self._http.project.parent / "stdio-log.txt"
        check_log_text(path.read_bytes())


def _decode(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise FaultError(f"a line that is no JSON: {line[:100]!r}") from None


def _key(identifier: object) -> str:
    return json.dumps(identifier)


def _ids(answer: Any) -> list[object]:
    entries = answer if isinstance(answer, list) else [answer]
    return [entry["id"] for entry in entries if "id" in entry and "method" not in entry]


def _id_of(answer: Any) -> object:
    return answer.get("id") if isinstance(answer, dict) and "method" not in answer else None


def _requests(sent: bytes) -> list[dict[str, Any]]:
    """Return the requests that require an answer, treating each line as separate JSON."""
    found: list[dict[str, Any]] = []
    for line in sent.split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):
            message = json.loads(line.decode("utf-8"), object_pairs_hook=_distinct)
            json.dumps(message, ensure_ascii=False).encode()  # fails for half a surrogate pair
            if isinstance(message, dict) and _is_request(message):
                found.append(message)
    return found


def _is_request(message: dict[str, Any]) -> bool:
    has_method = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    return has_method and _is_id(message.get("id"))


def _distinct(members: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(members)) < len(members):
        raise ValueError("a name occurs twice")
    return dict(members)


def _is_id(value: object) -> bool:
    if isinstance(value, str):
        return value.isascii() and len(value) < 100
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def _open_streams(sent: bytes) -> list[object]:
    return [request["id"] for request in _requests(sent) if request["method"] in _UNANSWERED]


def _list_expected(sent: bytes) -> set[str]:
    """Return the ids that get exactly one answer: unique, and not cancelled."""
    if b"cancel" in sent:
        return set()
    requests = _requests(sent)
    counts = Counter(_key(request["id"]) for request in requests)
    open_ids = {_key(identifier) for identifier in _open_streams(sent)}
    return {identifier for identifier, count in counts.items() if count == 1} - open_ids


def _check_answers(answers: list[Any], sent: bytes, *, must_be_complete: bool) -> str:
    ids = Counter(_key(identifier) for answer in answers for identifier in _ids(answer))
    expected = _list_expected(sent)
    for identifier in expected:
        if ids[identifier] > 1 and sent.count(identifier.encode()) == 1:
            raise FaultError(f"{ids[identifier]} answers to one request")
        if must_be_complete and not ids[identifier]:
            raise FaultError("a request was not answered before the end")
    codes = [
        entry.get("error", {}).get("code", "result")
        for answer in answers
        for entry in (answer if isinstance(answer, list) else [answer])
    ]
    if -32603 in codes:
        raise FaultError(f"an internal error: {json.dumps(answers)[:300]}")
    return str(sorted(set(map(str, codes))))
