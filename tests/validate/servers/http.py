"""Serving over HTTP: Streamable HTTP of both eras at /mcp, HTTP+SSE of 2024-11-05 at /sse.

A plain HTTP/1.1 server on asyncio streams; each connection carries one request. What a broken
server changes is a method or a value of `HttpServer`; the sockets are in `Listener`.
"""

import asyncio
import base64
import contextlib
import json
import secrets

from tests.validate.servers.core import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY,
    META,
    METHOD_NOT_FOUND,
    MODERN,
    PARSE_ERROR,
    Ask,
    RpcError,
    Session,
    is_request,
    key_of,
)
from tests.validate.servers.features import TOOLS, Server

REASONS = {200: "OK", 202: "Accepted"}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
LOCAL = ("127.0.0.1", "localhost", "[::1]")
JSON, EVENTS = "application/json", "text/event-stream"


class Request:
    """An HTTP request; names of headers are in lower case."""

    def __init__(self, method, target, headers, body, spellings=()):
        self.method, self.body = method, body
        self.spellings = spellings  # names of headers as they were sent
        self.path, _, self.query = target.partition("?")
        self.headers = headers  # pairs

    def get(self, name):
        """Return the value of a header, "" if it is absent."""
        return next((value for key, value in self.headers if key == name), "")

    def count(self, name):
        """Return how often a header occurs."""
        return sum(key == name for key, _ in self.headers)


class Reply:
    """An HTTP response with a whole body."""

    def __init__(self, status, body=b"", content_type=JSON, headers=()):
        self.status, self.body, self.headers = status, body, list(headers)
        if body:
            self.headers.append(("Content-Type", content_type))


class Stream:
    """An event stream that outlives its connection: the events are stored."""

    def __init__(self, number):
        self.number = number
        self.messages = []
        self.is_done = False
        self.headers = []
        self.is_primed = False
        self.is_modern = False
        self.task = None
        self.changed = asyncio.Event()

    def add(self, message):
        """Append a message."""
        self.messages.append(message)
        self.changed.set()

    def end(self):
        """No message follows."""
        self.is_done = True
        self.changed.set()


class HttpSession(Session):
    """A legacy session with its streams."""

    def __init__(self, session_id=""):
        super().__init__()
        self.id = session_id
        self.streams = []
        self.listening = []  # streams of GET

    def open_stream(self):
        """Return a new stream."""
        stream = Stream(len(self.streams))
        self.streams.append(stream)
        return stream


class HttpServer(Server):
    """The correct server over HTTP."""

    prefers_events = False  # answer every legacy request with an event stream
    token = ""  # the access token that each request must carry; "" means none

    def __init__(self):
        self.sessions = {}
        self.closed = set()

    # -- checks of a request

    def check(self, request):
        """Return the reply to a request that is refused at once, else None."""
        return self.check_host(request) or self.check_origin(request) or self.check_token(request)

    def check_host(self, request):
        """Refuse other names of this host, which DNS rebinding uses."""
        if request.get("host").rpartition(":")[0] not in LOCAL:
            return Reply(421, b"unknown host", "text/plain")
        return None

    def check_origin(self, request):
        """Refuse pages of other sites."""
        origin = request.get("origin")
        name = origin.partition("//")[2]
        host = name.rpartition(":")[0] if ":" in name else name
        if origin and host not in LOCAL:
            return Reply(403, b"invalid origin", "text/plain")
        return None

    def check_token(self, request):
        """Require the access token, if the server is protected."""
        if not self.token or request.path.startswith("/.well-known/"):
            return None
        sent = request.get("authorization")
        if self.accepts_token(request, sent):
            return None
        return Reply(401, headers=[("WWW-Authenticate", self.get_challenge(request, bool(sent)))])

    def accepts_token(self, request, sent):
        """Whether an Authorization header carries the token."""
        return sent == f"Bearer {self.token}"

    def get_challenge(self, request, has_token):
        """Return the challenge of a 401 response."""
        error = ', error="invalid_token"' if has_token else ""
        return f'Bearer resource_metadata="{self.get_metadata_url(request)}", scope="mcp"{error}'

    def get_metadata_url(self, request):
        """Return the URL of the metadata of the protected resource."""
        return f"http://{request.get('host')}/.well-known/oauth-protected-resource/mcp"

    def get_metadata(self, request):
        """Return the metadata of the protected resource (RFC 9728)."""
        return {
            "resource": f"http://{request.get('host')}/mcp",
            "authorization_servers": ["https://auth.example.com"],
            "scopes_supported": ["mcp"],
            "bearer_methods_supported": ["header"],
        }

    def check_modern_headers(self, request, message):
        """Raise an error unless the headers of a modern request repeat its body."""
        params = message["params"]
        expected = [("mcp-protocol-version", params["_meta"].get(META + "protocolVersion", MODERN))]
        expected.append(("mcp-method", message["method"]))
        if message["method"] in NAMED:
            expected.append(("mcp-name", params.get(NAMED[message["method"]])))
        for name, value in expected:
            self.check_header(request, name, value)

    def check_header(self, request, name, value):
        """Raise an error unless a header occurs once and has a value."""
        sent = self.decode_header(request.get(name))
        if request.count(name) != 1 or not self.is_same(name, sent, value):
            raise RpcError(HEADER_MISMATCH, f"the header {name} does not repeat the body")

    def is_same(self, name, sent, value):
        """Whether the value of a header is that of the body."""
        return sent == value

    def decode_header(self, value):
        """Return the value of a header; `=?base64?...?=` is decoded."""
        if not (value.startswith("=?base64?") and value.endswith("?=")):
            return value
        try:
            return base64.b64decode(value[9:-2], validate=True).decode()
        except ValueError:
            raise RpcError(HEADER_MISMATCH, "invalid base64 in a header") from None

    def check_parameter_headers(self, request, message):
        """Raise an error unless each `Mcp-Param-*` repeats its argument."""
        params = message["params"]
        tool = next((tool for tool in TOOLS if tool["name"] == params.get("name")), None)
        arguments = params.get("arguments")
        if message["method"] != "tools/call" or tool is None or not isinstance(arguments, dict):
            return
        for name, schema in tool["inputSchema"]["properties"].items():
            if "x-mcp-header" in schema:
                header = "mcp-param-" + schema["x-mcp-header"].lower()
                self.check_parameter(request, header, arguments.get(name))

    def check_parameter(self, request, header, value):
        """Raise an error unless a header repeats an argument."""
        if value is None and not request.count(header):
            return
        sent = self.decode_header(request.get(header))
        if type(value) is int:
            with contextlib.suppress(ValueError):
                sent = float(sent)
        if request.count(header) != 1 or sent != value:
            raise RpcError(HEADER_MISMATCH, f"the header {header} does not repeat the argument")

    # -- routes

    async def handle(self, request, connection):
        """Handle one request and write the response."""
        reply = self.check(request)
        if reply is None:
            route = self.find_route(request)
            reply = await route(request, connection) if route is not None else Reply(404)
        if reply is not None:
            await connection.reply(reply)

    def find_route(self, request):
        """Return the handler of a path and method, None if there is none."""
        if request.path == "/.well-known/oauth-protected-resource/mcp" and self.token:
            return self.get_metadata_document
        if request.path == "/mcp":
            routes = {"POST": self.post, "GET": self.get, "DELETE": self.delete}
            return routes.get(request.method, self.refuse_method)
        if request.path == "/sse" and request.method == "GET":
            return self.open_sse
        if request.path == "/messages" and request.method == "POST":
            return self.post_sse
        return None

    async def refuse_method(self, request, connection):
        """Refuse a method of HTTP."""
        return Reply(405, headers=[("Allow", "POST, GET, DELETE")])

    async def get_metadata_document(self, request, connection):
        """Serve the metadata of the protected resource."""
        return Reply(200, json.dumps(self.get_metadata(request)).encode())

    async def post(self, request, connection):
        """Handle a posted message."""
        accepted = request.get("accept")
        if "*/*" not in accepted and not (JSON in accepted and EVENTS in accepted):
            return Reply(406)
        if request.get("content-type").partition(";")[0].strip() != JSON:
            return Reply(415)
        try:
            message = json.loads(request.body.decode("utf-8"))
        except (ValueError, RecursionError):
            return self.make_refusal(400, RpcError(PARSE_ERROR, "not JSON in UTF-8"))
        if self.is_modern(request, message):
            return await self.post_modern(request, connection, message)
        return await self.post_legacy(request, connection, message)

    def is_modern(self, request, message):
        """Whether a message is of 2026-07-28."""
        params = message.get("params") if isinstance(message, dict) else None
        meta = params.get("_meta") if isinstance(params, dict) else None
        if isinstance(meta, dict) and META + "protocolVersion" in meta:
            return True
        is_open = isinstance(message, dict) and message.get("method") == "initialize"
        sent = request.get("mcp-protocol-version")
        return sent == MODERN or not (is_open or sent in ("", *LEGACY) or self.has_session(request))

    def has_session(self, request):
        """Whether a request names a session."""
        return bool(request.get("mcp-session-id"))

    def make_refusal(self, status, error, request_id=None):
        """Return an HTTP response with an error response."""
        return Reply(status, self.encode(self.make_error(request_id, error)))

    # -- modern

    async def post_modern(self, request, connection, message):
        """Handle a message of 2026-07-28; only its connection may hear of it."""
        stream = Stream(0)
        stream.is_modern = True
        if isinstance(message, dict) and not isinstance(message.get("params", {}), dict):
            error = RpcError(INVALID_PARAMS, "`params` must be an object")
            return self.make_refusal(400, error, self.read_id(message))
        if isinstance(message, dict) and is_request(message):
            try:
                self.open_call(message, Session(MODERN))
                self.check_modern_headers(request, message)
                self.check_parameter_headers(request, message)
            except RpcError as error:
                status = self.get_error_status(error.code)
                return self.make_refusal(status, error, self.read_id(message))
        elif not (isinstance(message, dict) and isinstance(message.get("method"), str)):
            return self.make_refusal(400, RpcError(INVALID_REQUEST, "expected one message"))
        self.start(self.receive(message, Session(MODERN)), stream, Session(MODERN))
        try:
            return await self.respond(stream, connection, message)
        finally:
            stream.task.cancel()

    def get_error_status(self, code):
        """Return the HTTP status of an error response of 2026-07-28."""
        if code == METHOD_NOT_FOUND:
            return 404
        return 200 if code == -32603 else 400

    # -- legacy

    async def post_legacy(self, request, connection, message):
        """Handle a message of a session."""
        opens = isinstance(message, dict) and message.get("method") == "initialize"
        if opens:
            session = HttpSession(self.make_session_id())
        else:
            session = self.find_session(request)
            if isinstance(session, Reply):
                return session
        stream = session.open_stream()
        self.start(self.receive(message, session), stream, session, message)
        if opens:
            await stream.task
            if session.revision:
                self.sessions[session.id] = session
                stream.headers.append(("Mcp-Session-Id", session.id))
        return await self.respond(stream, connection, message)

    def make_session_id(self):
        """Return a new session id."""
        return secrets.token_hex(16)

    def find_session(self, request):
        """Return the session of a request, or the reply that refuses it."""
        session_id = request.get("mcp-session-id")
        if not session_id:
            return self.refuse_missing_session(request)
        session = self.sessions.get(session_id)
        if session is None:
            return self.refuse_session(request)
        return self.check_version(request, session) or session

    def refuse_missing_session(self, request):
        """Refuse a request without a session id."""
        return self.make_refusal(400, RpcError(INVALID_REQUEST, "missing Mcp-Session-Id"))

    def refuse_session(self, request):
        """Refuse an unknown session id, or that of a session which has ended."""
        return self.make_refusal(404, RpcError(INVALID_REQUEST, "unknown session"))

    def check_version(self, request, session):
        """Return the reply to an unsupported version in the header, else None."""
        version = request.get("mcp-protocol-version")
        if version and version not in LEGACY:
            return self.make_refusal(400, RpcError(INVALID_REQUEST, "unsupported version"))
        return None

    async def delete(self, request, connection):
        """End a session."""
        session = self.find_session(request)
        if isinstance(session, Reply):
            return session
        self.end_session(session)
        return Reply(204)

    def end_session(self, session):
        """Forget a session."""
        self.sessions.pop(session.id, None)
        for running in list(session.running.values()):
            running.cancel()
        for stream in session.streams:
            stream.end()

    async def get(self, request, connection):
        """Open the stream for messages that belong to no request, or resume a stream."""
        if EVENTS not in request.get("accept"):
            return Reply(406)
        session = self.find_session(request)
        if isinstance(session, Reply):
            return session
        last = request.get("last-event-id")
        if last:
            stream, position = self.find_event(session, last)
            if stream is None:
                return Reply(400)
            await self.send_events(stream, connection, session, position)
            return None
        stream = session.open_stream()
        session.listening.append(stream)
        await self.send_events(stream, connection, session)
        return None

    def find_event(self, session, event_id):
        """Return the stream of an event and the position after it."""
        for stream in session.streams:
            for position in range(len(stream.messages) + 1):
                if self.make_event_id(stream, position) == event_id:
                    return stream, position
        return None, 0

    def make_event_id(self, stream, position):
        """Return the id of an event; position 0 is the priming event."""
        return f"{stream.number}-{position}"

    # -- running and responding

    def start(self, steps, stream, session, message=None):
        """Drive a generator of the server in a task that writes to a stream."""
        stream.task = asyncio.create_task(self.drive(steps, stream, session))
        if is_request(message):
            session.running[key_of(message["id"])] = stream.task

    async def drive(self, steps, stream, session):
        """Run a generator to its end."""
        value = None
        try:
            while True:
                step = steps.send(value)
                value = None
                if isinstance(step, (int, float)):
                    await asyncio.sleep(step)
                    continue
                self.route(step, stream, session)
                if isinstance(step, Ask):
                    answer = asyncio.get_running_loop().create_future()
                    session.waiting[key_of(step["id"])] = answer.set_result
                    value = await answer
        except StopIteration:
            pass
        finally:
            steps.close()
            stream.end()

    def route(self, message, stream, session):
        """Put a message on the stream to which it belongs."""
        stream.add(message)

    async def respond(self, stream, connection, message):
        """Return a plain response, or send events if other messages precede the response."""
        while not stream.messages and not stream.is_done:
            await connection.wait(stream.changed)
            stream.changed.clear()
            if connection.is_closed:
                return None
        first = stream.messages[0] if stream.messages else None
        wants_events = self.prefers_events and is_request(message) and not stream.is_modern
        if first and (wants_events or (isinstance(first, dict) and "method" in first)):
            await self.send_events(stream, connection)
            return None
        expects = isinstance(message, list) or (
            isinstance(message, dict) and ("method" not in message or "id" in message)
        )
        if first is None:
            if is_request(message):  # cancelled
                return Reply(200, b": cancelled\n\n", EVENTS)
            return self.accept_notification()
        status = 200
        if isinstance(first, dict) and "error" in first:
            if stream.is_modern:
                status = self.get_error_status(first["error"]["code"])
            elif not expects or first["error"]["code"] == INVALID_REQUEST:
                status = 400
        return self.make_reply(status, first, stream)

    def accept_notification(self):
        """Return the response to a notification or a response."""
        return Reply(202)

    def make_reply(self, status, message, stream):
        """Return a response with one message."""
        return Reply(status, self.encode(message), JSON, stream.headers)

    async def send_events(self, stream, connection, session=None, position=0):
        """Send the messages of a stream until it ends or the client closes the connection."""
        headers = [("Cache-Control", "no-cache"), ("X-Accel-Buffering", "no"), *stream.headers]
        await connection.begin(200, [("Content-Type", EVENTS), *headers])
        if not stream.is_modern and not position:
            await connection.write(self.format_event(stream, 0, b""))
        while not connection.is_closed:
            for message in stream.messages[position:]:
                position += 1
                await connection.write(self.format_event(stream, position, self.encode(message)))
            if stream.is_done and position >= len(stream.messages):
                return
            stream.changed.clear()
            await connection.wait(stream.changed)

    def format_event(self, stream, position, data):
        """Return an event; those of legacy streams have ids."""
        event_id = (
            b"" if stream.is_modern else f"id: {self.make_event_id(stream, position)}\n".encode()
        )
        return event_id + b"data: " + data + b"\n\n"

    # -- HTTP+SSE

    async def open_sse(self, request, connection):
        """Open the stream of a 2024-11-05 session; its end is the end of the session."""
        session = HttpSession(self.make_session_id())
        stream = session.open_stream()
        self.sessions["sse:" + session.id] = session
        try:
            await connection.begin(200, [("Content-Type", EVENTS), ("Cache-Control", "no-cache")])
            await connection.write(self.format_sse_endpoint(session))
            position = 0
            while not connection.is_closed:
                for message in stream.messages[position:]:
                    position += 1
                    await connection.write(self.format_sse_message(self.encode(message)))
                stream.changed.clear()
                await connection.wait(stream.changed)
        finally:
            del self.sessions["sse:" + session.id]

    def format_sse_endpoint(self, session):
        """Return the first event of the stream."""
        return f"event: endpoint\ndata: /messages?session={session.id}\n\n".encode()

    def format_sse_message(self, data):
        """Return the event of a message."""
        return b"event: message\ndata: " + data + b"\n\n"

    async def post_sse(self, request, connection):
        """Handle a posted message; responses travel on the stream."""
        session = self.sessions.get("sse:" + request.query.partition("session=")[2])
        if session is None:
            return Reply(404)
        try:
            message = json.loads(request.body.decode("utf-8"))
        except (ValueError, RecursionError):
            return self.make_refusal(400, RpcError(PARSE_ERROR, "not JSON in UTF-8"))
        own = Stream(0)
        own.add = session.streams[0].add
        self.start(self.receive(message, session), own, session, message)
        return self.accept_sse_message(own)

    def accept_sse_message(self, stream):
        """Return the response to a posted message."""
        return Reply(202)

    # -- sockets

    async def accept(self, reader, writer):
        """Serve one connection."""
        connection = HttpConnection(reader, writer)
        try:
            request = await connection.read()
            if request is not None:
                await self.handle(request, connection)
        except (ConnectionError, ValueError, asyncio.IncompleteReadError):
            pass  # the client has gone, or does not speak HTTP
        finally:
            await close(writer)


async def close(writer):
    """Close a socket, and wait until it is closed."""
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


class HttpConnection:
    """The socket of one request."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.is_closed = False

    async def read(self):
        """Return the request; None if the client sent none."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = await self.reader.readline()
            if not line:
                return None
            head += line
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        pairs = [line.partition(":") for line in lines if ":" in line]
        headers = [(name.strip().lower(), value.strip()) for name, _, value in pairs]
        request = Request(method, target, headers, b"", [name.strip() for name, _, _ in pairs])
        request.body = await self.reader.readexactly(int(request.get("content-length") or 0))
        return request

    async def begin(self, status, headers):
        """Send the head of a response."""
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers]
        await self.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    async def reply(self, reply):
        """Send a whole response."""
        await self.begin(reply.status, [("Content-Length", len(reply.body)), *reply.headers])
        await self.write(reply.body)

    async def write(self, raw):
        """Send bytes."""
        try:
            self.writer.write(raw)
            await self.writer.drain()
        except ConnectionError:
            self.is_closed = True

    async def wait(self, event):
        """Wait for an event or for the end of the connection."""
        ended = asyncio.ensure_future(self.reader.read(1))
        changed = asyncio.ensure_future(event.wait())
        try:
            done, _ = await asyncio.wait({ended, changed}, return_when=asyncio.FIRST_COMPLETED)
            if ended in done:
                self.is_closed = True
        finally:
            for task in (ended, changed):
                task.cancel()
            await asyncio.gather(ended, changed, return_exceptions=True)


@contextlib.asynccontextmanager
async def listen(server):
    """Serve on a free port of the loopback interface; yield the URL of the MCP endpoint."""
    listener = await asyncio.start_server(server.accept, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        listener.close()
        for session in list(server.sessions.values()):
            server.end_session(session)
