"""Observation of MCP requests: a span, a measurement, a log line and an audit line of each.

A server definition has an observer, or None while nothing is configured. The protocol core reports
the begin, the outcome and the end of each request to it.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from contextvars import ContextVar
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct

from mcpgen.runtime.process.log import is_logged, log, mask
from mcpgen.runtime.protocol.versions import REVISIONS
from mcpgen.runtime.telemetry.attempts import AttemptTable
from mcpgen.runtime.telemetry.operations import (
    MAX_OPERATIONS,
    Operation,
    OperationTable,
    classify_error,
    describe_operation,
    encode_client_address,
)
from mcpgen.runtime.telemetry.otlp import (
    MAX_WAITING,
    SERVER,
    Attributes,
    TextAttribute,
    encode_link,
    encode_message,
)
from mcpgen.runtime.telemetry.trace_context import SAMPLED, SpanContext, parse_trace_context

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from mcpgen.runtime.protocol.jsonrpc import JsonObject
    from mcpgen.runtime.telemetry.audit import AuditFile
    from mcpgen.runtime.telemetry.metrics import Metrics
    from mcpgen.runtime.telemetry.observed import Connection, Request
    from mcpgen.runtime.telemetry.spans import Spans
    from mcpgen.runtime.telemetry.tool_facts import ToolFacts
FLUSH_SECONDS: Final = 5.0
"""Time for which the process waits at its end for the export of the last spans and measurements."""
MAX_CONTENT: Final = 4096  # characters of recorded arguments or results
MAX_TEXT: Final = 200
_OTHER: Final = "_OTHER"
_CALLS: Final = frozenset({"completion/complete", "prompts/get", "resources/read", "tools/call"})
_METHODS: Final = frozenset(
    {
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/progress",
        "notifications/roots/list_changed",
    }
).union(*(revision.request_methods | revision.extension_methods for revision in REVISIONS))
_RESOURCE_METHODS: Final = frozenset(
    {"resources/read", "resources/subscribe", "resources/unsubscribe"}
)
_REQUEST_ID: Final = TextAttribute("jsonrpc.request.id")
_RESOURCE_URI: Final = TextAttribute("mcp.resource.uri")
_SESSION_ID: Final = TextAttribute("mcp.session.id")
_ARGUMENTS: Final = TextAttribute("gen_ai.tool.call.arguments")
_RESULT: Final = TextAttribute("gen_ai.tool.call.result")


class HttpContext(NamedTuple):
    """Recorded properties of an HTTP request."""

    link: bytes  # to its trace context, encoded
    session: bytes  # attribute with the hash of its session, encoded


_http: ContextVar[HttpContext | None] = ContextVar("http", default=None)
"""The HTTP request that is being answered, if anything of it is recorded."""


class Observation(Struct, gc=False):
    """One request, from its arrival to its end.

    It does not refer to the request, which refers to it: objects in a cycle are only freed by the
    garbage collector. So a request is an argument of what needs it.
    """

    observer: RequestObserver
    start_ns: int
    began: float
    http: HttpContext | None
    parent: SpanContext | None = None
    context: SpanContext | None = None
    """None without tracing, and while nobody needed that of a new trace (`find_context`)."""
    outcome: str = "cancelled"  # unless a response is sent
    code: int = 0  # of the JSON-RPC error; 0 for none
    message: str = ""
    result: JsonObject | None = None
    attempts: int = 0
    status: int = 0  # of the last response of the API
    upstream_seconds: float = 0.0
    is_audited: bool = False
    is_ended: bool = False

    def authorize(self, request: Request, audit: AuditFile) -> None:
        """Check that a call that changes something can be audited.

        Raises:
            ProtocolError: the audit file cannot be written.
        """
        if self.observer.find_changing_tool(request) is not None:
            audit.check()
            self.is_audited = True

    def find_context(self) -> SpanContext | None:
        """Return the context of the span, for spans below it; None without tracing."""
        if self.context is None and self.observer.spans is not None:
            self.context = self.observer.spans.begin(None, SERVER)
        return self.context

    def note_success(self) -> None:
        """Record that the request succeeded, without a result that says more."""
        self.outcome = "ok"

    def note_error(self, code: int, message: str) -> None:
        """Record the JSON-RPC error with which the request ends."""
        self.outcome, self.code, self.message, self.result = "error", code, message, None

    def end(self, request: Request) -> None:
        """Record the end, before the response is sent. Later calls do nothing.

        What each call needs is written out here: a call of a function costs as much as five lines.
        """
        if self.is_ended:
            return
        self.is_ended = True
        seconds = perf_counter() - self.began
        observer, result = self.observer, self.result
        if result is not None:
            if "isError" in result and result["isError"] is True:
                self.outcome = "tool_error"
            elif "resultType" in result and result["resultType"] == "input_required":
                self.outcome = "input_required"
            else:
                self.outcome = "ok"
        if observer.exports:
            params = request.params
            name = params["name"] if type(params) is dict and "name" in params else ""
            key = request.method, name, request.revision.name, self.outcome, self.code
            try:
                operation = observer.known[key]
            except (KeyError, TypeError):  # the client may send a name of any type
                operation = observer.describe(request, key)
            if (durations := operation.durations) is not None:
                durations.waiting.append(seconds)
                if len(durations.waiting) >= MAX_WAITING:
                    durations.aggregate()
            context, queue, own, request_id = self.context, observer.queue, b"", request.id
            if queue is not None and (context is None or context.flags & SAMPLED):
                if type(request_id) is str:
                    request_id = request_id[:MAX_TEXT]
                if address := request.connection.address:
                    own = encode_client_address(address)
                if (
                    self.http is not None
                    or observer.captures_content
                    or request.method in _RESOURCE_METHODS
                ):
                    own += self._encode_own(request)
                span = (
                    context,
                    self.parent,
                    operation.shared,
                    self.start_ns,
                    seconds,
                    request_id,
                    own,
                )
                queue.waiting.append(span)
                if len(queue.waiting) >= queue.batch_size:
                    queue.handle_batch()
        if observer.logs_calls:
            self._log(request, seconds)
        if self.is_audited and observer.audit is not None:
            self._write_audit(observer.audit, request)

    def _encode_own(self, request: Request) -> bytes:
        """Encode what few requests have: links, session, URI of a resource, content."""
        own, method, params = b"", request.method, request.params
        if self.http is not None:
            own += self.http.link
            if not request.revision.is_modern:
                own += self.http.session
        if method in _RESOURCE_METHODS and type(uri := params.get("uri")) is str:
            own += _RESOURCE_URI.encode(mask(uri)[:MAX_TEXT])
        if not self.observer.captures_content:
            return own
        if method == "tools/call":
            own += _ARGUMENTS.encode(_format_content(params.get("arguments", {})))
            if self.result is not None and self.outcome == "ok":
                own += _RESULT.encode(_format_content(self.result))
        if self.message and classify_error(self.outcome, self.code):
            own += encode_message(mask(self.message)[:MAX_TEXT])
        return own

    def _log(self, request: Request, seconds: float) -> None:
        """Log one line: at info for a call, at debug for other requests."""
        level = "info" if request.method in _CALLS else "debug"
        if not is_logged(level):
            return
        method, target = self.observer.name_of(request)
        context = self.context or self.parent
        log(
            level,
            f"{method} {target}".rstrip(),
            {
                "request": str(request.id)[:40],
                "principal": hash_principal(request.principal),
                "tool": target,
                "outcome": self.outcome,
                "code": self.code or None,
                "status": self.status or None,
                "ms": round(seconds * 1000, 1),
                "upstream_ms": round(self.upstream_seconds * 1000, 1),
                "attempts": self.attempts,
                "trace": "" if context is None else context.trace_id.hex(),
            },
        )

    def _write_audit(self, audit: AuditFile, request: Request) -> None:
        changing = self.observer.find_changing_tool(request)
        if changing is None:
            return
        name, operation, arguments = changing
        context = self.context or self.parent
        entry: JsonObject = {
            "principal": request.principal,
            "client": request.connection.address,
            "tool": name,
            "operation": operation,
            "request": str(request.id),
            "outcome": self.outcome,
            "code": self.code,
            "status": self.status,
            "attempts": self.attempts,
            "trace": "" if context is None else context.trace_id.hex(),
        }
        audit.write(entry, arguments)


class RequestObserver:
    """Telemetry of a process; what is None is off."""

    def __init__(
        self,
        tools: Mapping[str, ToolFacts],
        prompts: Container[str] = (),
        *,
        spans: Spans | None = None,
        metrics: Metrics | None = None,
        audit: AuditFile | None = None,
        logs_calls: bool = False,
        captures_content: bool = False,
        transport: Attributes = (),
    ) -> None:
        """Create an observer; `prompts` are names, `transport` the attributes of the transport."""
        self._tools = tools
        self._prompts = prompts
        self.spans = spans
        self.metrics = metrics
        self.audit = audit
        self.logs_calls = logs_calls
        self.captures_content = captures_content
        self.exports = spans is not None or metrics is not None
        # The exporter then draws the ids of traces, unless a request to the API needs them before.
        self._needs_no_context = spans is None or (
            spans.samples_roots and not logs_calls and audit is None
        )
        self.queue = None if spans is None else spans.queue
        self.operations = OperationTable(transport, metrics)
        self.known: dict[tuple[str, Any, str, str, int], Operation] = {}
        """Operations by method, name, revision, outcome and code of requests."""
        self.attempts = AttemptTable(metrics)

    def begin(self, request: Request) -> Observation:
        """Begin the observation of a request."""
        params, parent = request.params, None
        if type(params) is dict and "_meta" in params:  # nothing is checked yet
            meta = params["_meta"]
            if type(meta) is dict and "traceparent" in meta:
                parent = parse_trace_context(meta["traceparent"], meta.get("tracestate"))
        if parent is None and self._needs_no_context:
            return Observation(self, time_ns(), perf_counter(), _http.get())
        context = None if self.spans is None else self._begin_span(self.spans, parent, request)
        return Observation(self, time_ns(), perf_counter(), _http.get(), parent, context)

    def enter_http(self, fields: Mapping[bytes, bytes]) -> None:
        """Set the HTTP request whose messages are received next, in this task.

        `fields` are its header fields, by lower-case name.
        """
        if b"traceparent" in fields or b"mcp-session-id" in fields:
            parent, state, session = (
                fields[name].decode("latin-1").strip(" \t") if name in fields else ""
                for name in (b"traceparent", b"tracestate", b"mcp-session-id")
            )
            link = parse_trace_context(parent, state)
            # The id of a session without authorization is a secret: only its hash is recorded.
            _http.set(
                HttpContext(
                    b"" if link is None else encode_link(link),
                    _SESSION_ID.encode(_hash(session)) if session else b"",
                )
            )
        elif _http.get() is not None:  # of an earlier request on this connection
            _http.set(None)

    def receive_notification(self, connection: Connection, method: str) -> None:
        """Record a notification of the client."""
        if not self.exports:
            return
        shown = method if method in _METHODS else _OTHER
        session = connection.session
        version = session.revision.name if session is not None else ""
        operation = self.operations.find(shown, "", version, "ok", 0)
        if operation.durations is not None:
            operation.durations.record(0.0)
        if self.spans is None:
            return
        context = self.spans.begin(None, SERVER, shown, (("mcp.method.name", shown),))
        if context.is_sampled:
            own = encode_client_address(connection.address)
            http = _http.get()
            if http is not None:
                own += http.link if session is None else http.link + http.session
            self.spans.queue.add((context, None, operation.shared, time_ns(), 0.0, None, own))

    def _begin_span(
        self, spans: Spans, parent: SpanContext | None, request: Request
    ) -> SpanContext:
        if not spans.reads_names:
            return spans.begin(parent, SERVER)
        method, target = self.name_of(request)
        name = f"{method} {target}" if target else method
        return spans.begin(parent, SERVER, name, describe_operation(method, target, "", "", 0))

    def describe(self, request: Request, key: tuple[str, Any, str, str, int]) -> Operation:
        """Return the operation of a key that is not in `known`, and add it if it is bounded."""
        method, target = self.name_of(request)
        operation = self.operations.find(method, target, *key[2:])
        # Other names are the client's invention: there is no end of them.
        if (method, target) == key[:2] and len(self.known) < MAX_OPERATIONS:
            self.known[key] = operation
        return operation

    def name_of(self, request: Request) -> tuple[str, str]:
        """Return the method of a request and its tool or prompt; "" if the server has none.

        Names that clients invent are not recorded, since their number has no limit.
        """
        method, params = request.method, request.params
        if method == "tools/call" and type(params) is dict:
            name = params.get("name")
            return method, name if type(name) is str and name in self._tools else ""
        if method == "prompts/get" and type(params) is dict:
            name = params.get("name")
            return method, name if type(name) is str and name in self._prompts else ""
        return (method if method in _METHODS else _OTHER), ""

    def find_changing_tool(self, request: Request) -> tuple[str, str, Any] | None:
        """Return name, operation and arguments of a call that changes something, else None."""
        if request.method != "tools/call" or type(request.params) is not dict:
            return None
        name, arguments = request.params.get("name"), request.params.get("arguments", {})
        facts = self._tools.get(name) if type(name) is str else None
        if facts is not None and facts.calls_another and type(arguments) is dict:
            name, arguments = arguments.get("name"), arguments.get("arguments", {})
            facts = self._tools.get(name) if type(name) is str else None
        if facts is None or not facts.is_changing:
            return None
        return str(name), facts.operation, arguments

    def close(self) -> None:
        """Export what is left, for at most `FLUSH_SECONDS`."""
        parts = [part for part in (self.spans, self.metrics) if part is not None]
        threads = [threading.Thread(target=part.shut_down, daemon=True) for part in parts]
        due = time.monotonic() + FLUSH_SECONDS
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, due - time.monotonic()))


def hash_principal(principal: str) -> str:
    """Return a short hash of a principal for the log; "" without authorization."""
    return _hash(principal)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


def _format_content(value: Any) -> str:
    """Return recorded arguments or results as JSON, masked and bounded."""
    return mask(json.dumps(value, ensure_ascii=False))[:MAX_CONTENT]
