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
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from mcpgen.runtime.process.log import is_logged, log, mask
from mcpgen.runtime.protocol.jsonrpc import INTERNAL_ERROR
from mcpgen.runtime.protocol.versions import REVISIONS
from mcpgen.runtime.telemetry.otlp import (
    SERVER,
    Attributes,
    encode_shared,
    encode_span,
    encode_text_attribute,
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
MAX_HELD_BYTES: Final = 8192  # of spans that wait for the end of their call
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
_NOT_FOUND: Final = -32002  # of older revisions: the client asked for something unknown

_http: ContextVar[tuple[SpanContext | None, str]] = ContextVar("http", default=(None, ""))
"""Trace context and session of the HTTP request that is being answered."""


class Observation:
    """One request, from its arrival to its end."""

    __slots__ = (
        "_began",
        "_is_audited",
        "_is_ended",
        "_link",
        "_parent",
        "_request",
        "_session",
        "_spans",
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
        self._spans = b""  # of requests to the API, encoded
        self._link, self._session = _http.get()
        params = request.params
        meta = params.get("_meta") if type(params) is dict else None
        self._parent = (
            parse_trace_context(meta["traceparent"], meta.get("tracestate"))
            if type(meta) is dict and "traceparent" in meta
            else None
        )
        self.context = observer.begin_span(self._parent, request)
        self.outcome = "cancelled"  # unless a response is sent
        self.code = 0  # of the JSON-RPC error; 0 for none
        self.message = ""
        self.result: JsonObject | None = None
        self.attempts = 0
        self.status = 0  # of the last response of the API
        self.upstream_seconds = 0.0
        self._start_ns = time.time_ns()
        self._began = time.perf_counter()

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

    def add_span(self, span: bytes) -> None:
        """Record the span of a request to the API, together with that of this request."""
        self._spans += span
        spans = self.observer.spans
        if spans is not None and (self._is_ended or len(self._spans) > MAX_HELD_BYTES):
            spans.record(self._spans)
            self._spans = b""

    def end(self) -> None:
        """Record the end, before the response is sent. Later calls do nothing."""
        if self._is_ended:
            return
        self._is_ended = True
        seconds = time.perf_counter() - self._began
        observer, request = self.observer, self._request
        if observer.spans is not None or observer.metrics is not None:
            self._record(seconds)
        if observer.logs_calls:
            self._log(seconds)
        if self._is_audited and observer.audit is not None:
            self._write_audit(observer.audit, request)

    def _record(self, seconds: float) -> None:
        """Record the span and the duration."""
        observer, request = self.observer, self._request
        method, target = observer.name_of(request)
        error_type = classify_error(self.outcome, self.code)
        shared, attributes = _describe(
            method,
            target,
            request.revision.name,
            error_type,
            self.code,
            observer.transport,
            request.connection.address,
        )
        if observer.metrics is not None:
            observer.metrics.operations.record(seconds, attributes)
        context, spans = self.context, observer.spans
        if spans is None or context is None or not context.flags & SAMPLED:
            return
        captures = observer.captures_content
        spans.record(
            self._spans
            + encode_span(
                context,
                self._parent,
                shared,
                self._start_ns,
                self._start_ns + int(seconds * 1e9),
                self._encode_own_attributes(method),
                self._link,
                has_failed=bool(error_type),
                message=mask(self.message)[:MAX_TEXT] if captures else "",
            )
        )
        self._spans = b""

    def _encode_own_attributes(self, method: str) -> bytes:
        """Encode the attributes that differ between requests."""
        request = self._request
        own = encode_text_attribute("jsonrpc.request.id", str(request.id)[:MAX_TEXT])
        if self._session and not request.revision.is_modern:
            own += encode_text_attribute("mcp.session.id", self._session)
        if method in _RESOURCE_METHODS and type(uri := request.params.get("uri")) is str:
            own += encode_text_attribute("mcp.resource.uri", mask(uri)[:MAX_TEXT])
        if self.observer.captures_content and method == "tools/call":
            arguments = _format_content(request.params.get("arguments", {}))
            own += encode_text_attribute("gen_ai.tool.call.arguments", arguments)
            if self.result is not None and self.outcome == "ok":
                result = _format_content(self.result)
                own += encode_text_attribute("gen_ai.tool.call.result", result)
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
        self.transport = transport

    def begin(self, request: Request) -> Observation:
        """Begin the observation of a request."""
        return Observation(self, request)

    def enter_http(self, traceparent: str | None, tracestate: str | None, session: str) -> None:
        """Set the HTTP request whose messages are received next, in this task."""
        # The id of a session without authorization is a secret: only its hash is recorded.
        _http.set((parse_trace_context(traceparent, tracestate), _hash(session)))

    def receive_notification(self, connection: Connection, method: str) -> None:
        """Record a notification of the client."""
        if self.metrics is None and self.spans is None:
            return
        shown = method if method in _METHODS else _OTHER
        session = connection.session
        version = session.revision.name if session is not None else ""
        shared, attributes = _describe(
            shown, "", version, "", 0, self.transport, connection.address
        )
        if self.metrics is not None:
            self.metrics.operations.record(0.0, attributes)
        if self.spans is None:
            return
        link, session_hash = _http.get()
        has_session = bool(session_hash) and session is not None
        own = encode_text_attribute("mcp.session.id", session_hash) if has_session else b""
        context = self.spans.begin(None, shown, SERVER, attributes)
        if context.is_sampled:
            now = time.time_ns()
            self.spans.record(encode_span(context, None, shared, now, now, own, link))

    def begin_span(self, parent: SpanContext | None, request: Request) -> SpanContext | None:
        """Return the context of the span of a request; None without tracing."""
        if self.spans is None:
            return None
        if self.spans.samples_all:
            return self.spans.begin(parent, request.method, SERVER)
        method, target = self.name_of(request)
        name = f"{method} {target}" if target else method
        attributes: Attributes = (("mcp.method.name", method),)
        if target and method == "tools/call":
            attributes = (*attributes, ("gen_ai.tool.name", target))
        return self.spans.begin(parent, name, SERVER, attributes)

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


def classify_error(outcome: str, code: int) -> str:
    """Return `error.type`; "" for a request that did not fail because of the server.

    The semantic conventions for MCP count -32603 and -32000 to -32099 as errors. The client
    caused the others, and a resource that is not found.
    """
    if outcome == "tool_error":
        return outcome
    is_error = code == INTERNAL_ERROR or -32099 <= code <= -32000
    return str(code) if is_error and code != _NOT_FOUND else ""


def hash_principal(principal: str) -> str:
    """Return a short hash of a principal for the log; "" without authorization."""
    return _hash(principal)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


def _format_content(value: Any) -> str:
    """Return recorded arguments or results as JSON, masked and bounded."""
    return mask(json.dumps(value, ensure_ascii=False))[:MAX_CONTENT]


@lru_cache(maxsize=2048)
def _describe(
    method: str,
    target: str,
    version: str,
    error_type: str,
    code: int,
    transport: Attributes,
    address: str,
) -> tuple[bytes, Attributes]:
    """Return name, kind and attributes of a span, encoded, and the attributes of the duration."""
    attributes: list[tuple[str, Any]] = [("mcp.method.name", method)]
    if method == "tools/call":
        attributes.append(("gen_ai.operation.name", "execute_tool"))
        if target:
            attributes.append(("gen_ai.tool.name", target))
    elif target:
        attributes.append(("gen_ai.prompt.name", target))
    if error_type:
        attributes.append(("error.type", error_type))
    if code:
        attributes.append(("rpc.response.status_code", str(code)))
    if version:
        attributes.append(("mcp.protocol.version", version))
    shared = (*attributes, *transport)
    # Of an IPv6 client only the network is known here.
    is_address = address and ":" not in address
    own = (*shared, ("client.address", address)) if is_address else shared
    return encode_shared(f"{method} {target}" if target else method, SERVER, own), shared
