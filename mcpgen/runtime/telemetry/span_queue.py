"""Queue of finished spans, exported in batches by a thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from mcpgen.runtime.process.log import describe_error, log
from mcpgen.runtime.telemetry.environment import read_number

_DEFAULT_QUEUE_SIZE: Final = 2048
_DEFAULT_BATCH_SIZE: Final = 512
_DEFAULT_DELAY_MS: Final = 5000

Span = TypeVar("Span")


class SpanQueue(Generic[Span]):
    """Batching span processor (OpenTelemetry, Trace SDK, "Batching processor").

    The SDK's own costs several times as much for each span. `OTEL_BSP_MAX_QUEUE_SIZE`,
    `OTEL_BSP_MAX_EXPORT_BATCH_SIZE` (spans) and `OTEL_BSP_SCHEDULE_DELAY` (milliseconds) apply.
    """

    def __init__(self, export: Callable[[Sequence[Span]], None]) -> None:
        """Start the thread, which calls `export` with spans, oldest first."""
        self._export = export
        self._max_size = read_number("OTEL_BSP_MAX_QUEUE_SIZE", _DEFAULT_QUEUE_SIZE)
        batch_size = read_number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", _DEFAULT_BATCH_SIZE)
        self.batch_size = min(batch_size, self._max_size)
        self._delay_seconds = read_number("OTEL_BSP_SCHEDULE_DELAY", _DEFAULT_DELAY_MS) / 1000
        self.waiting: deque[Span] = deque()
        self._dropped = 0
        self._is_stopping = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spans-export", daemon=True)
        self._thread.start()

    def add(self, span: Span) -> None:
        """Add a span; drop it if the queue is full."""
        self.waiting.append(span)
        if len(self.waiting) >= self.batch_size:
            self.handle_batch()

    def handle_batch(self) -> None:
        """Wake the exporter, or drop the newest span if too many wait.

        It must be called after a span was added to at least `batch_size - 1` others.
        """
        if len(self.waiting) > self._max_size:
            self.waiting.pop()
            self._dropped += 1
        elif not self._wake.is_set():
            self._wake.set()

    def shut_down(self) -> None:
        """Export all spans, and end the thread."""
        self._is_stopping = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_stopping:
            is_full = self._wake.wait(self._delay_seconds)
            self._wake.clear()
            if not is_full:
                self._export_batch()
            while len(self.waiting) >= self.batch_size:
                self._export_batch()
        while self.waiting:
            self._export_batch()

    def _export_batch(self) -> None:
        spans = self.waiting
        batch = [spans.popleft() for _ in range(min(len(spans), self.batch_size))]
        try:
            if batch:
                self._export(batch)
        except Exception as error:  # noqa: BLE001  (the boundary: the thread must continue)
            log("warning", f"spans were not exported: {describe_error(error)}")
        dropped, self._dropped = self._dropped, 0
        if dropped:
            log("warning", f"{dropped} spans were dropped: {self._max_size} waited for export")
