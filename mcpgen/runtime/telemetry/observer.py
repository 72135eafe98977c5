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

from mcpgen.runtime.process.log import is_logged, log, mask
from mcpgen.runtime.protocol.versions import REVISIONS
from mcpgen.runtime.telemetry.attempts import AttemptTable
from mcpgen.runtime.telemetry.operations import (
    OperationTable,
    describe_operation,
    encode_client_address,
)
from mcpgen.runtime.telemetry.otlp import (
    SERVER,
    Attributes,
    TextAttribute,
    encode_link,
    encode_span,
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
"""How long the end of the process waits for the export of the last spans and measurements."""
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
).union(*(revision.request_methods for revision in REVISIONS))
_RESOURCE_METHODS: Final = frozenset(
    {"resources/read", "resources/subscribe", "resources/unsubscribe"}
)
_REQUEST_ID: Final = TextAttribute("jsonrpc.request.id")
_RESOURCE_URI: Final = TextAttribute("mcp.resource.uri")
_SESSION_ID: Final = TextAttribute("mcp.session.id")
_ARGUMENTS: Final = TextAttribute("gen_ai.tool.call.arguments")
_RESULT: Final = TextAttribute("gen_ai.tool.call.result")


class HttpContext(NamedTuple):
    """What is recorded of an HTTP request."""

    link: bytes  # to its trace context, encoded
    session: bytes  # attribute with the hash of its session, encoded


_http: ContextVar[HttpContext | None] = ContextVar("http", default=None)
"""The HTTP request that is being answered, if anything of it is recorded."""


class Observation:
    """One request, from its arrival to its end."""

    __slots__ = (
        "_began",
        "_http",
        "_is_audited",
        "_is_ended",
        "_parent",
        "_request",
        "_start_ns",
        "attempts",
        "code",
        "context",
        "message",
        "observer",
        "outcome",
        "result",
        "status",
        "upstream_seconds",
    )

    def __init__(self, observer: RequestObserver, request: Request) -> None:
        self.observer = observer
        self._request = request
        self._is_audited = False
        self._is_ended = False
        self._http = _http.get()
        self._parent = parent = _read_parent(request.params)
        self.context = None if observer.spans is None else observer.begin_span(parent, request)
        self.outcome = "cancelled"  # unless a response is sent
        self.code = 0  # of the JSON-RPC error; 0 for none
        self.message = ""
        self.result: JsonObject | None = None
        self.attempts = 0
        self.status = 0  # of the last response of the API
        self.upstream_seconds = 0.0
        self._start_ns = time_ns()
        self._began = perf_counter()

    def authorize(self) -> None:
        """Check that a call that changes something can be audited.

        Raises:
            ProtocolError: the audit file cannot be written.
        """
        observer = self.observer
        if observer.audit is None or observer.find_changing_tool(self._request) is None:
            return
        observer.audit.check()
        self._is_audited = True

    def note_success(self) -> None:
        """Record that the request succeeded."""
        self.outcome = "ok"

    def note_result(self, result: JsonObject) -> None:
        """Record the result of the request."""
        if result.get("isError") is True:
            self.outcome = "tool_error"
        elif result.get("resultType") == "input_required":
            self.outcome = "input_required"
        else:
            self.outcome = "ok"
        if self.observer.captures_content:
            self.result = result

    def note_error(self, code: int, message: str) -> None:
        """Record the JSON-RPC error with which the request ends."""
        self.outcome, self.code, self.message = "error", code, message

    def end(self) -> None:
        """Record the end, before the response is sent. Later calls do nothing."""
        if self._is_ended:
            return
        self._is_ended = True
        seconds = perf_counter() - self._began
        observer = self.observer
        if observer.exports:
            self._record(seconds)
        if observer.logs_calls:
            self._log(seconds)
        if self._is_audited and observer.audit is not None:
            self._write_audit(observer.audit, self._request)

    def _record(self, seconds: float) -> None:
        """Record the span and the duration."""
        observer, request = self.observer, self._request
        method, target = observer.name_of(request)
        operation = observer.operations.find(
            method, target, request.revision.name, self.outcome, self.code
        )
        if operation.durations is not None:
            operation.durations.record(seconds)
        context, spans = self.context, observer.spans
        if spans is None or context is None or not context.flags & SAMPLED:
            return
        captures = observer.captures_content
        spans.record(
            encode_span(
                context,
                self._parent,
                operation.shared,
                self._start_ns,
                seconds,
                self._encode_own_attributes(method),
                has_failed=operation.has_failed,
                message=mask(self.message)[:MAX_TEXT] if captures else "",
            )
        )

    def _encode_own_attributes(self, method: str) -> bytes:
        """Encode the attributes and links that differ between requests."""
        request = self._request
        own = _REQUEST_ID.encode(str(request.id)[:MAX_TEXT])
        own += encode_client_address(request.connection.address)
        if self._http is not None:
            own += self._http.link
            if not request.revision.is_modern:
                own += self._http.session
        if method in _RESOURCE_METHODS and type(uri := request.params.get("uri")) is str:
            own += _RESOURCE_URI.encode(mask(uri)[:MAX_TEXT])
        if self.observer.captures_content and method == "tools/call":
            own += _ARGUMENTS.encode(_format_content(request.params.get("arguments", {})))
            if self.result is not None and self.outcome == "ok":
                own += _RESULT.encode(_format_content(self.result))
        return own

    def _log(self, seconds: float) -> None:
        """Log one line: at info for a call, at debug for other requests."""
        request = self._request
        level = "info" if request.method in _CALLS else "debug"
        if not is_logged(level):
            return
        method, target = self.observer.name_of(request)
        context = self.context or self._parent
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
        context = self.context or self._parent
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
        self.operations = OperationTable(transport, metrics)
        self.attempts = AttemptTable(metrics)

    def begin(self, request: Request) -> Observation:
        """Begin the observation of a request."""
        return Observation(self, request)

    def enter_http(self, traceparent: str | None, tracestate: str | None, session: str) -> None:
        """Set the HTTP request whose messages are received next, in this task."""
        if traceparent or session:
            link = parse_trace_context(traceparent, tracestate)
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
            self.spans.record(encode_span(context, None, operation.shared, time_ns(), 0.0, own))

    def begin_span(self, parent: SpanContext | None, request: Request) -> SpanContext | None:
        """Return the context of the span of a request; None without tracing."""
        if self.spans is None:
            return None
        if not self.spans.reads_names:
            return self.spans.begin(parent, SERVER)
        method, target = self.name_of(request)
        name = f"{method} {target}" if target else method
        return self.spans.begin(parent, SERVER, name, describe_operation(method, target, "", "", 0))

    def name_of(self, request: Request) -> tuple[str, str]:
        """Return the method of a request and its tool or prompt; "" if the server has none.

        Names that a client made up are not recorded: there is no end of them.
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


def _read_parent(params: Any) -> SpanContext | None:
    """Return the trace context in `_meta` of a request, whose parameters are not checked yet."""
    meta = params.get("_meta") if type(params) is dict else None
    if type(meta) is not dict or "traceparent" not in meta:
        return None
    return parse_trace_context(meta["traceparent"], meta.get("tracestate"))
