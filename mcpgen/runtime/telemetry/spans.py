"""Sampling and export of spans, with the OpenTelemetry SDK's sampler, queue and HTTP client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.sampling import DEFAULT_ON
from opentelemetry.trace import NonRecordingSpan, SpanKind, set_span_in_context
from opentelemetry.trace import SpanContext as SdkContext
from opentelemetry.trace.span import TraceFlags

from mcpgen.runtime.telemetry.otlp import Attributes, encode_request, encode_resource
from mcpgen.runtime.telemetry.trace_context import (
    SAMPLED,
    SpanContext,
    make_child,
    make_root,
    make_trace_id,
)

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

_KINDS: Final = {2: SpanKind.SERVER, 3: SpanKind.CLIENT}


_SAMPLED: Final = SdkContext(1, 1, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


class _QueuedSpans:
    """Encoded spans of a call, with the one attribute that the SDK's batch processor reads."""

    __slots__ = ("data",)
    context = _SAMPLED

    def __init__(self, data: bytes) -> None:
        self.data = data


class _EncodedSpanExporter(OTLPSpanExporter):
    """The SDK's exporter with the encoder of `otlp`."""

    def __init__(self, resource: Resource) -> None:
        super().__init__()
        self._encoded_resource = encode_resource(resource.attributes)

    def export(self, spans: Sequence[Any]) -> SpanExportResult:
        """Send spans of the type `_QueuedSpans`."""
        data = encode_request(self._encoded_resource, [queued.data for queued in spans])
        result = self._client.export(data)
        return SpanExportResult.SUCCESS if result.success else SpanExportResult.FAILURE


class Spans:
    """Recorder of the spans of a process."""

    def __init__(self, resource: Resource) -> None:
        # The provider reads OTEL_TRACES_SAMPLER; its tracers are not used.
        self._sampler: Any = TracerProvider(resource=resource, shutdown_on_exit=False).sampler
        self.samples_all = self._sampler is DEFAULT_ON
        """Whether the sampler is the default, which reads neither names nor attributes."""
        self._processor: Any = BatchSpanProcessor(_EncodedSpanExporter(resource))
        self._add: Any = self._processor.on_end

    def begin(
        self, parent: SpanContext | None, name: str, kind: int, attributes: Attributes = ()
    ) -> SpanContext:
        """Return the context of a new span. Nothing is recorded before `record`."""
        if self.samples_all:
            if parent is not None:
                return make_child(parent, is_sampled=bool(parent.flags & SAMPLED))
            return make_root(make_trace_id(), is_sampled=True)
        trace_id = make_trace_id() if parent is None else parent.trace_id
        number = int.from_bytes(trace_id, "big")
        result = self._sampler.should_sample(
            _to_sdk_context(parent), number, name, _KINDS[kind], dict(attributes)
        )
        is_sampled = result.decision.is_sampled()
        if parent is None:
            return make_root(trace_id, is_sampled=is_sampled)
        return make_child(parent, is_sampled=is_sampled)

    def record(self, spans: bytes) -> None:
        """Queue spans for export (`encode_span`); drop spans if the queue is full.

        They count as one in the queue and in a batch, since each export costs as much as many
        spans.
        """
        self._add(_QueuedSpans(spans))

    def shut_down(self) -> None:
        """Export the queued spans, and stop."""
        self._processor.shutdown()


def _to_sdk_context(parent: SpanContext | None) -> Any:
    if parent is None:
        return None
    context = SdkContext(
        int.from_bytes(parent.trace_id, "big"),
        int.from_bytes(parent.span_id, "big"),
        is_remote=parent.is_remote,
        trace_flags=TraceFlags(parent.flags),
    )
    return set_span_in_context(NonRecordingSpan(context))
