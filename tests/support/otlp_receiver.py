"""An OTLP collector on loopback that decodes what a server exports, and can wait for more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SECONDS = 30.0  # a bound on every wait


@dataclass(frozen=True)
class Span:
    """A span as read by the collector."""

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    trace_state: str
    links: tuple[tuple[str, str], ...]
    status: int
    message: str
    nanoseconds: int
    attributes: dict[str, Any]


class OtlpReceiver:
    """A small HTTP server, which answers 200 unless `status` is changed."""

    def __init__(self) -> None:
        self.status = 200
        self.resources: list[dict[str, Any]] = []
        self.scopes: list[str] = []
        self.spans: list[Span] = []
        self.metrics: dict[str, Any] = {}  # by name, the latest
        self.headers: list[dict[str, str]] = []
        self.changed = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.receive(self.path, dict(self.headers), body)
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a server exports to this collector without delay."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "OTEL_METRIC_EXPORT_INTERVAL": "200",
        }

    def receive(self, path: str, headers: dict[str, str], body: bytes) -> None:
        with self.changed:
            self.headers.append(headers)
            if path == "/v1/traces":
                self._add_spans(ExportTraceServiceRequest.FromString(body))
            elif path == "/v1/metrics":
                self._add_metrics(ExportMetricsServiceRequest.FromString(body))
            self.changed.notify_all()

    def _add_spans(self, request: Any) -> None:
        for resource in request.resource_spans:
            self.resources.append(read_attributes(resource.resource.attributes))
            for scope in resource.scope_spans:
                self.scopes.append(scope.scope.name)
                self.spans += map(_read_span, scope.spans)

    def _add_metrics(self, request: Any) -> None:
        for resource in request.resource_metrics:
            self.resources.append(read_attributes(resource.resource.attributes))
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    self.metrics[metric.name] = metric

    def wait_for(self, condition: Callable[[], Any]) -> Any:
        """Wait until a condition on the received data is true; return its value."""
        due = time.monotonic() + SECONDS
        with self.changed:
            while not (value := condition()):
                remaining = due - time.monotonic()
                assert remaining > 0, [span.name for span in self.spans]
                self.changed.wait(remaining)
            return value

    def wait_for_span(self, name: str) -> Span:
        """Wait for the first span of this name."""
        spans: list[Span] = self.wait_for(lambda: [it for it in self.spans if it.name == name])
        return spans[0]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def read_attributes(attributes: Any) -> dict[str, Any]:
    found = {it.key: getattr(it.value, it.value.WhichOneof("value")) for it in attributes}
    assert len(found) == len(attributes), "an attribute occurs twice"
    return found


def _read_span(span: Any) -> Span:
    return Span(
        span.name,
        span.kind,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.trace_state,
        tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        span.status.code,
        span.status.message,
        span.end_time_unix_nano - span.start_time_unix_nano,
        read_attributes(span.attributes),
    )
