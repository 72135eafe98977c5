"""Sampling and export of spans, with the OpenTelemetry SDK's sampler and HTTP client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider, sampling
from opentelemetry.trace import NonRecordingSpan, SpanKind, set_span_in_context
from opentelemetry.trace import SpanContext as SdkContext
from opentelemetry.trace.span import TraceFlags

from mcpgen.runtime.telemetry.export_session import make_session
from mcpgen.runtime.telemetry.otlp import (
    Attributes,
    SpanRecord,
    encode_request,
    encode_resource,
    encode_spans,
)
from mcpgen.runtime.telemetry.span_queue import SpanQueue
from mcpgen.runtime.telemetry.trace_context import (
    SAMPLED,
    ContextSource,
    SpanContext,
    make_root,
)

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

_KINDS: Final = {2: SpanKind.SERVER, 3: SpanKind.CLIENT}


class EncodedSpanExporter(OTLPSpanExporter):
    """The SDK's exporter for spans that are encoded already.

    The public `export` takes `ReadableSpan` objects, and encoding one with nine attributes takes
    300,000 instructions, more than a whole call without an API. So this class passes its own
    encoding to the private `_client`, for which there is no public interface: it retries,
    compresses and authenticates as the `OTEL_EXPORTER_OTLP_*` variables say. `pyproject.toml` pins
    the versions that have it.
    """

    def __init__(self, resource: Resource) -> None:
        super().__init__(session=make_session())
        self._encoded_resource = encode_resource(resource.attributes)

    def export_encoded(self, spans: Sequence[bytes]) -> None:
        """Send spans (`encode_spans`). The client logs failures."""
        self._client.export(encode_request(self._encoded_resource, spans))


class Spans:
    """Recorder of the spans of a process."""

    def __init__(self, resource: Resource) -> None:
        # The provider reads OTEL_TRACES_SAMPLER; its tracers are not used.
        sampler: Any = TracerProvider(resource=resource, shutdown_on_exit=False).sampler
        self._sampler = sampler
        self._follows_parent = sampler is sampling.DEFAULT_ON
        self._samples_all = sampler is sampling.ALWAYS_ON
        self.samples_roots = self._follows_parent or self._samples_all
        """Whether every span without a parent is recorded, so that its ids can be drawn later."""
        self.reads_names = type(sampler).__module__ != sampling.__name__
        """Whether the sampler may read names and attributes. Those of the SDK do not."""
        is_ratio = type(sampler) is sampling.TraceIdRatioBased
        self._bound: int | None = sampler.bound if is_ratio else None
        self._contexts = ContextSource()
        self._exporter: Any = EncodedSpanExporter(resource)
        self.queue: SpanQueue[SpanRecord] = SpanQueue(self._export)

    def begin(
        self, parent: SpanContext | None, kind: int, name: str = "", attributes: Attributes = ()
    ) -> SpanContext:
        """Return the context of a new span. Nothing is recorded before `record`.

        `name` and `attributes` are needed only if the sampler reads them (`reads_names`).
        """
        if parent is None:
            ids = self._contexts.draw_root()
            is_sampled = self.samples_roots or self._decide(None, ids[0], kind, name, attributes)
            return make_root(ids, is_sampled=is_sampled)
        if self._follows_parent or not (parent.is_remote or self.reads_names):
            is_sampled = bool(parent.flags & SAMPLED)
        else:
            is_sampled = self._samples_all or self._decide(
                parent, parent.trace_id, kind, name, attributes
            )
        return self._contexts.make_child(parent, is_sampled=is_sampled)

    def _decide(
        self,
        parent: SpanContext | None,
        trace_id: bytes,
        kind: int,
        name: str,
        attributes: Attributes,
    ) -> bool:
        """Ask the SDK's sampler, or decide as its `TraceIdRatioBased` does."""
        if self._bound is not None:
            return int.from_bytes(trace_id[8:], "big") < self._bound
        result = self._sampler.should_sample(
            _to_sdk_context(parent),
            int.from_bytes(trace_id, "big"),
            name,
            _KINDS[kind],
            dict(attributes),
        )
        return bool(result.decision.is_sampled())

    def _export(self, records: Sequence[SpanRecord]) -> None:
        self._exporter.export_encoded(encode_spans(records, self._contexts.draw_roots))

    def shut_down(self) -> None:
        """Export the queued spans, and stop."""
        self.queue.shut_down()
        self._exporter.shutdown()


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
