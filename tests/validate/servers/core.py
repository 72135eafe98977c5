"""A correct MCP server of all five revisions without I/O: messages, lifecycle and the two eras.

The servers of `tests/validate` are subclasses; a broken one overrides one value or one method.
Only small modules of the standard library are imported: a test starts many of these processes.

`Server.receive` is a generator. It yields messages to send and numbers, which are seconds to wait.
An `Ask` that it yields evaluates to the client's response. Who drives it is in stdio.py, http.py.
"""

import json

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, RESOURCE_NOT_FOUND = -32602, -32002
HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022

CACHEABLE = (
    "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
    "resources/read",
)  # fmt: skip
ONLY_LEGACY = (
    "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
)  # fmt: skip
ONLY_MODERN = ("server/discover", "subscriptions/listen")
# Each method with the capability that it needs.
METHODS = {
    "initialize": "",
    "ping": "",
    "server/discover": "",
    "subscriptions/listen": "",
    "logging/setLevel": "logging",
    "tools/list": "tools",
    "tools/call": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resources",
    "resources/read": "resources",
    "resources/subscribe": "resources",
    "resources/unsubscribe": "resources",
    "prompts/list": "prompts",
    "prompts/get": "prompts",
    "completion/complete": "completions",
}

INFO = {"name": "reference", "version": "1.0.0"}


class RpcError(Exception):
    """An error response."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Ask(dict):
    """A request of the server, for whose answer the generator waits."""


class EndOfInputError(Exception):
    """Thrown into running generators when the client has closed its side of the pipe."""


class Session:
    """What a legacy client and the server agreed on. A modern request has one for itself."""

    def __init__(self, revision=""):
        self.revision = revision
        self.capabilities = {}
        self.log_level = "info"
        self.last_request = 0
        self.running = {}  # by the key of the request's id: objects with `cancel()`
        self.waiting = {}  # by the key of the id of a request of the server: called with the answer


class Call:
    """A request that is being handled."""

    def __init__(self, message, session):
        self.id = message["id"]
        self.method = message["method"]
        self.params = message.get("params") or {}
        self.meta = self.params.get("_meta") or {}
        self.session = session
        self.is_modern = session.revision == MODERN
        self.revision = session.revision
        self.capabilities = session.capabilities
        self.progress_token = self.meta.get("progressToken")
        self.log_level = self.meta.get(META + "logLevel") if self.is_modern else session.log_level


def key_of(request_id):
    """Return a key that keeps 1, "1" and 1.0 apart."""
    return type(request_id).__name__, str(request_id)


def is_request(message):
    """Whether a JSON value is a request."""
    return isinstance(message, dict) and "method" in message and message.get("id") is not None


class Protocol:
    """The base protocol: JSON-RPC, handshake, `_meta`, capabilities, errors."""

    revisions = (*LEGACY, MODERN)
    info = INFO
    instructions = "A small server for tests."

    # -- received messages

    def receive(self, message, session):
        """Handle any JSON value that a client sent."""
        if isinstance(message, list):
            yield from self.receive_batch(message, session)
        elif not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            yield self.make_error(
                self.read_id(message), RpcError(INVALID_REQUEST, "not a JSON-RPC 2.0 message")
            )
        elif "method" not in message and ("result" in message or "error" in message):
            answered = session.waiting.pop(key_of(message.get("id")), None)
            if answered is not None:
                answered(message)
        elif not isinstance(message.get("method"), str):
            yield self.make_error(
                self.read_id(message), RpcError(INVALID_REQUEST, "`method` must be a string")
            )
        elif "id" not in message:
            yield from self.receive_notification(message, session)
        elif self.read_id(message) is None:
            yield self.make_error(
                None, RpcError(INVALID_REQUEST, "`id` must be a string or an integer")
            )
        elif not isinstance(message.get("params", {}), dict):
            yield self.make_error(
                message["id"], RpcError(INVALID_PARAMS, "`params` must be an object")
            )
        else:
            yield from self.receive_request(message, session)

    def read_id(self, message):
        """Return the id of a message, None if it has none that is allowed."""
        found = message.get("id") if isinstance(message, dict) else None
        return found if type(found) in (str, int) else None

    def allows_batches(self, session):
        """Whether the client may send arrays of messages."""
        return session.revision == "2025-03-26"

    def receive_batch(self, messages, session):
        """Handle an array of messages."""
        if not self.allows_batches(session) or not messages:
            yield self.make_error(None, RpcError(INVALID_REQUEST, "batches are not supported"))
            return
        responses = []
        for message in messages:
            steps = self.receive_in_batch(message, session)
            answer = None
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration:
                    break
                answer = None
                if isinstance(step, dict) and "method" not in step:
                    responses.append(step)
                else:
                    answer = yield step
        if responses:
            yield responses

    def receive_in_batch(self, message, session):
        """Handle one element of a batch."""
        if isinstance(message, dict) and message.get("method") == "initialize":
            error = RpcError(INVALID_REQUEST, "`initialize` must not be in a batch")
            yield self.make_error(self.read_id(message), error)
        elif isinstance(message, list):
            yield self.make_error(None, RpcError(INVALID_REQUEST, "a batch in a batch"))
        else:
            yield from self.receive(message, session)

    def receive_notification(self, message, session):
        """Handle a notification; nothing is ever sent in reply."""
        params = message.get("params")
        if message["method"] == "notifications/cancelled" and isinstance(params, dict):
            running = session.running.pop(key_of(params.get("requestId")), None)
            if running is not None:
                self.cancel(running)
        yield from ()

    def cancel(self, running):
        """Stop a request that the client has cancelled."""
        running.cancel()

    def receive_request(self, message, session):
        """Handle a request and yield its response last."""
        try:
            call = self.open_call(message, session)
            result = yield from self.run(call)
            response = self.make_response(call, result)
        except RpcError as error:
            response = self.make_error(message["id"], error)
        yield response

    # -- eras

    def open_call(self, message, session):
        """Return the call of a request, or refuse it."""
        params = message.get("params") or {}
        meta = params.get("_meta")
        is_modern = isinstance(meta, dict) and any(key.startswith(META) for key in meta)
        if session.revision == MODERN or (is_modern and message["method"] != "initialize"):
            return self.open_modern_call(message, meta if is_modern else {}, session)
        if message["method"] == "initialize":
            if not set(self.revisions) & set(LEGACY):
                raise self.refuse_initialize()
            return Call(message, session)
        if not session.revision:
            if message["method"] == "ping":
                return Call(message, session)
            raise RpcError(INVALID_PARAMS, "missing `_meta` (or call `initialize` first)")
        return Call(message, session)

    def refuse_initialize(self):
        """Return the error of a server without legacy revisions."""
        data = {"supported": list(self.revisions)}
        return RpcError(METHOD_NOT_FOUND, "this server supports only " + MODERN, data)

    def open_modern_call(self, message, meta, session):
        """Check `_meta` and return the call of a modern request."""
        version = meta.get(META + "protocolVersion")
        capabilities = meta.get(META + "clientCapabilities")
        if not isinstance(version, str):
            raise RpcError(INVALID_PARAMS, "missing `protocolVersion` in `_meta`")
        if not isinstance(capabilities, dict):
            raise RpcError(INVALID_PARAMS, "missing `clientCapabilities` in `_meta`")
        if version != MODERN or MODERN not in self.revisions:
            raise self.refuse_version(version)
        own = Session(MODERN)
        own.capabilities = capabilities
        own.running = session.running
        call = Call(message, own)
        self.check_log_level(call)
        return call

    def check_log_level(self, call):
        """Refuse an unknown log level."""
        if call.log_level is not None and call.log_level not in LEVELS:
            raise RpcError(INVALID_PARAMS, "unknown log level")

    def refuse_version(self, version):
        """Return the error for a version that is not supported."""
        data = {"supported": list(reversed(self.revisions)), "requested": version}
        return RpcError(UNSUPPORTED_VERSION, "unsupported protocol version", data)

    # -- methods

    def run(self, call):
        """Run the handler of a method and return its result."""
        handler = self.find_handler(call)
        result = handler(call)
        if hasattr(result, "send"):
            result = yield from result
        return result

    def find_handler(self, call):
        """Return the handler of a method, or refuse it."""
        wrong_era = ONLY_LEGACY if call.is_modern else ONLY_MODERN
        if call.method not in METHODS or call.method in wrong_era:
            raise RpcError(METHOD_NOT_FOUND, "unknown method")
        needed = METHODS[call.method]
        if needed and needed not in self.get_served(call.revision):
            raise RpcError(METHOD_NOT_FOUND, "the server does not declare " + needed)
        return getattr(self, call.method.replace("/", "_").lower())

    def get_capabilities(self, revision):
        """Return the capabilities that are declared."""
        found = {
            "logging": {},
            "tools": {"listChanged": True},
            "resources": {"subscribe": True},
            "prompts": {},
        }
        if revision != "2024-11-05":
            found["completions"] = {}
        return found

    def get_served(self, revision):
        """Return the capabilities whose methods work."""
        served = dict(self.get_capabilities(revision))
        if revision == "2024-11-05":
            served["completions"] = {}  # existed before there was a capability for them
        return served

    def initialize(self, call):
        """Agree on a legacy revision."""
        asked = call.params.get("protocolVersion")
        if not isinstance(asked, str) or not isinstance(call.params.get("capabilities"), dict):
            raise RpcError(INVALID_PARAMS, "`protocolVersion` and `capabilities` are required")
        call.session.revision = self.negotiate(asked)
        call.session.capabilities = call.params["capabilities"]
        return self.describe(call.session.revision)

    def negotiate(self, asked):
        """Return the asked revision, or the latest legacy one."""
        legacy = [revision for revision in self.revisions if revision in LEGACY]
        return asked if asked in legacy else legacy[-1]

    def describe(self, revision):
        """Return the result of `initialize`."""
        return {
            "protocolVersion": revision,
            "capabilities": self.get_capabilities(revision),
            "serverInfo": self.info,
            "instructions": self.instructions,
        }

    def ping(self, call):
        """Answer a ping."""
        return {}

    def server_discover(self, call):
        """Return what a modern client must know."""
        return {
            "supportedVersions": list(reversed(self.revisions)),
            "capabilities": self.get_capabilities(MODERN),
            "instructions": self.instructions,
        }

    # -- sent messages

    def make_response(self, call, result):
        """Return the response with the envelope of the revision."""
        if call.is_modern:
            result = self.add_envelope(call, result)
        return {"jsonrpc": "2.0", "id": call.id, "result": result}

    def add_envelope(self, call, result):
        """Add what results of 2026-07-28 have."""
        result = {"resultType": "complete", **result}
        result["_meta"] = {META + "serverInfo": self.info, **result.get("_meta", {})}
        if call.method in CACHEABLE and result["resultType"] == "complete":
            result = {**result, **self.get_cache_hints(call)}
        return result

    def get_cache_hints(self, call):
        """Return the cache hints of a result."""
        return {"ttlMs": 60000, "cacheScope": "public"}

    def make_error(self, request_id, error):
        """Return an error response; without `id` if that of the request cannot be read."""
        body = {"code": error.code, "message": error.message}
        if error.data is not None:
            body["data"] = error.data
        if request_id is None:
            return {"jsonrpc": "2.0", "error": body}
        return {"jsonrpc": "2.0", "id": request_id, "error": body}

    def notify(self, method, params):
        """Return a notification."""
        return {"jsonrpc": "2.0", "method": method, "params": params}

    def ask(self, session, method, params=None):
        """Return a request to the client."""
        session.last_request += 1
        request = Ask(jsonrpc="2.0", id=f"s{session.last_request}", method=method)
        if params is not None:
            request["params"] = params
        return request

    def encode(self, message):
        """Return a message as bytes, in one line."""
        try:
            return json.dumps(message, ensure_ascii=False).encode()
        except UnicodeEncodeError:  # half of a surrogate pair that is repeated
            return json.dumps(message).encode()
