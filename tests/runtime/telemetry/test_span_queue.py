"""Tests of the queue between calls and the span exporter, and of the exporter library's API."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

from mcpgen.runtime.telemetry import environment, span_queue
from mcpgen.runtime.telemetry.environment import read_number
from mcpgen.runtime.telemetry.span_queue import SpanQueue

SECONDS = 30.0  # a bound on every wait


class Collected:
    """Batches that a queue exported; the first one waits until `release` is set."""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []
        self.began = threading.Event()
        self.release = threading.Event()

    def export(self, spans: Sequence[bytes]) -> None:
        self.began.set()
        assert self.release.wait(SECONDS)
        self.batches.append(list(spans))


def make_queue(
    monkeypatch: pytest.MonkeyPatch, collected: Collected, **numbers: int
) -> tuple[SpanQueue, list[str]]:
    lines: list[str] = []
    monkeypatch.setattr(span_queue, "log", lambda level, text: lines.append(text))
    for name, number in {"SCHEDULE_DELAY": 600_000, **numbers}.items():
        monkeypatch.setenv(f"OTEL_BSP_{name}", str(number))
    return SpanQueue(collected.export), lines


def test_the_size_of_the_queue_counts_spans_and_further_ones_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collected = Collected()
    queue, lines = make_queue(monkeypatch, collected, MAX_QUEUE_SIZE=3, MAX_EXPORT_BATCH_SIZE=2)
    spans = [bytes([number]) for number in range(7)]
    queue.add(spans[0])
    queue.add(spans[1])  # a batch, which the thread takes out of the queue
    assert collected.began.wait(SECONDS)
    for span in spans[2:]:
        queue.add(span)
    collected.release.set()
    queue.shut_down()
    assert collected.batches == [spans[:2], spans[2:4], spans[4:5]]
    assert lines == ["2 spans were dropped: 3 waited for export"]


def test_a_batch_is_exported_before_its_time_if_it_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collected = Collected()
    queue, _ = make_queue(monkeypatch, collected, MAX_EXPORT_BATCH_SIZE=2)
    queue.add(b"a")
    assert not collected.began.is_set()
    queue.add(b"b")
    assert collected.began.wait(SECONDS)
    collected.release.set()
    queue.shut_down()
    assert collected.batches == [[b"a", b"b"]]


def test_an_export_that_raises_does_not_end_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    exported: list[bytes] = []
    has_failed = threading.Event()

    def export(spans: Sequence[bytes]) -> None:
        if not has_failed.is_set():
            has_failed.set()
            raise RuntimeError("broken")
        exported.extend(spans)

    lines: list[str] = []
    monkeypatch.setattr(span_queue, "log", lambda level, text: lines.append(text))
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
    queue = SpanQueue(export)
    queue.add(b"a")
    assert has_failed.wait(SECONDS)
    queue.add(b"b")
    queue.shut_down()
    assert exported == [b"b"]
    assert len(lines) == 1
    assert "RuntimeError: broken" in lines[0]


@pytest.mark.parametrize("text", ["0", "-1", "many", "1e3", "²", "9" * 30])
def test_an_invalid_number_is_reported_and_the_default_applies(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(environment, "log", lambda level, line: lines.append(line))
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", text)
    assert read_number("OTEL_BSP_MAX_QUEUE_SIZE", 2048) == 2048
    assert len(lines) == 1
    assert "OTEL_BSP_MAX_QUEUE_SIZE" in lines[0]


def test_the_exporter_has_the_private_client_that_sends_encoded_spans() -> None:
    exporter = OTLPSpanExporter(endpoint="http://127.0.0.1:1/v1/traces")
    assert callable(exporter._client.export)
    exporter.shutdown()
