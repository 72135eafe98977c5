"""Aggregation of measurements, exported to OTLP at an interval by a thread.

The instruments of the OpenTelemetry SDK cost several times as much for each measurement. Only its
data classes and its exporter are used. The temporality is cumulative.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from math import inf
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from mcpgen.runtime.process.log import describe_error, log
from mcpgen.runtime.telemetry.environment import read_number
from mcpgen.runtime.telemetry.otlp import MAX_WAITING, Attributes

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

MCP_BOUNDS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""Bucket boundaries of `mcp.server.operation.duration`, in seconds."""
HTTP_BOUNDS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
)  # fmt: skip
"""Bucket boundaries of `http.client.request.duration`, in seconds."""
MAX_SERIES: Final = 2000  # of one instrument, as in the OpenTelemetry SDK
_OVERFLOW: Final[Attributes] = (("otel.metric.overflow", True),)
_DEFAULT_INTERVAL_MS: Final = 60_000
_MIN_INTERVAL_MS: Final = 100

Reading = tuple[str, bool, int]
"""State of the limits of an origin: its URL, whether the circuit is open, the queue's length."""


class DurationSeries:
    """Durations in seconds with the same attributes."""

    __slots__ = ("_bounds", "_lock", "counts", "least", "most", "total", "waiting")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.waiting: list[float] = []
        """Durations that are not aggregated yet, at most `MAX_WAITING`."""
        self._lock = threading.Lock()
        self.counts = [0] * (len(bounds) + 1)  # of the buckets
        self.total = 0.0
        self.least = inf
        self.most = 0.0

    def record(self, seconds: float) -> None:
        """Count one duration, at the latest with the next `aggregate`."""
        self.waiting.append(seconds)
        if len(self.waiting) >= MAX_WAITING:
            self.aggregate()

    def aggregate(self) -> None:
        """Add the recorded durations to the attributes; of many together, each costs little."""
        with self._lock:  # other threads may append meanwhile
            size = len(self.waiting)
            durations = sorted(self.waiting[:size])
            del self.waiting[:size]
            if not durations:
                return
            self.total += sum(durations)
            self.least = min(self.least, durations[0])
            self.most = max(self.most, durations[-1])
            start = 0
            for bucket, bound in enumerate(self._bounds):
                end = bisect_right(durations, bound, start)
                self.counts[bucket] += end - start
                start = end
            self.counts[-1] += len(durations) - start


class DurationHistogram:
    """Durations, by attributes."""

    def __init__(self, name: str, description: str, bounds: tuple[float, ...]) -> None:
        self._name = name
        self._description = description
        self._bounds = bounds
        self._series: dict[Attributes, DurationSeries] = {}

    def get_series(self, attributes: Attributes) -> DurationSeries:
        """Return the series of these attributes, or the common one of further combinations."""
        if attributes not in self._series and len(self._series) >= MAX_SERIES:
            attributes = _OVERFLOW
        return self._series.setdefault(attributes, DurationSeries(self._bounds))

    def collect(self, start_ns: int, now_ns: int) -> Metric:
        """Return the durations since the start."""
        points = []
        for attributes, series in list(self._series.items()):
            series.aggregate()
            counts = series.counts.copy()
            if not any(counts):
                continue
            points.append(
                HistogramDataPoint(
                    attributes=dict(attributes),
                    start_time_unix_nano=start_ns,
                    time_unix_nano=now_ns,
                    count=sum(counts),
                    sum=series.total,
                    bucket_counts=counts,
                    explicit_bounds=self._bounds,
                    min=series.least,
                    max=series.most,
                )
            )
        data = Histogram(points, AggregationTemporality.CUMULATIVE)
        return Metric(self._name, self._description, "s", data)


class Metrics:
    """All instruments of a process, and their export."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._start_ns = time.time_ns()
        self.operations = DurationHistogram(
            "mcp.server.operation.duration", "Duration of MCP requests.", MCP_BOUNDS
        )
        self.attempts = DurationHistogram(
            "http.client.request.duration", "Duration of HTTP requests to the API.", HTTP_BOUNDS
        )
        self._retries: dict[Attributes, int] = {}
        self._read_limits: list[Callable[[], Iterable[Reading]]] = []
        self._exporter = OTLPMetricExporter()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def count_retry(self, attributes: Attributes) -> None:
        """Count one repeated request."""
        if attributes not in self._retries and len(self._retries) >= MAX_SERIES:
            attributes = _OVERFLOW
        self._retries[attributes] = self._retries.get(attributes, 0) + 1

    def watch_limits(self, read: Callable[[], Iterable[Reading]]) -> None:
        """Report the limits that `read` returns from now on."""
        self._read_limits.append(read)

    def start(self) -> None:
        """Start to export at the interval of `OTEL_METRIC_EXPORT_INTERVAL`."""
        self._thread = threading.Thread(target=self._run, name="metrics-export", daemon=True)
        self._thread.start()

    def shut_down(self) -> None:
        """Export the last values, and stop."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._exporter.shutdown()

    def _run(self) -> None:
        name = "OTEL_METRIC_EXPORT_INTERVAL"
        seconds = read_number(name, _DEFAULT_INTERVAL_MS, least=_MIN_INTERVAL_MS) / 1000
        while not self._stop.wait(seconds):
            self._export()
        self._export()

    def _export(self) -> None:
        try:
            data = self.collect()
            if data.resource_metrics[0].scope_metrics[0].metrics:
                self._exporter.export(data)
        except Exception as error:  # noqa: BLE001  (the boundary: the thread must continue)
            log("warning", f"metrics were not exported: {describe_error(error)}")

    def collect(self) -> MetricsData:
        """Return the current values of all instruments."""
        now = time.time_ns()
        metrics = [
            self.operations.collect(self._start_ns, now),
            self.attempts.collect(self._start_ns, now),
            self._collect_retries(now),
            *self._collect_limits(now),
        ]
        used = [metric for metric in metrics if metric.data.data_points]
        scope = ScopeMetrics(InstrumentationScope("mcpgen"), used, "")
        return MetricsData([ResourceMetrics(self._resource, [scope], "")])

    def _collect_retries(self, now: int) -> Metric:
        points = [
            NumberDataPoint(dict(attributes), self._start_ns, now, count)
            for attributes, count in list(self._retries.items())
        ]
        data = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        return Metric("mcpgen.upstream.retries", "Repeated requests to the API.", "{request}", data)

    def _collect_limits(self, now: int) -> list[Metric]:
        circuits, queues = [], []
        for read in self._read_limits.copy():
            for origin, is_open, waiting in read():
                attributes: dict[str, Any] = {"mcpgen.upstream.origin": origin}
                circuits.append(NumberDataPoint(attributes, 0, now, int(is_open)))
                queues.append(NumberDataPoint(attributes, 0, now, waiting))
        return [
            Metric(
                "mcpgen.upstream.circuit.open",
                "1 while the circuit breaker of an origin is open, else 0.",
                "1",
                Gauge(circuits),
            ),
            Metric(
                "mcpgen.upstream.queue.length",
                "Requests that wait for a free slot.",
                "{request}",
                Gauge(queues),
            ),
        ]
