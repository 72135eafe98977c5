"""A collector, and observers that export to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource

from mcpgen.runtime.telemetry.metrics import Metrics
from mcpgen.runtime.telemetry.observer import RequestObserver
from mcpgen.runtime.telemetry.spans import Spans
from mcpgen.runtime.telemetry.tool_facts import ToolFacts
from tests.support.otlp_receiver import OtlpReceiver

MakeObserver = Callable[..., RequestObserver]
FACTS = {
    "tool_0": ToolFacts("GET /zero", is_changing=False),
    "echo": ToolFacts("POST /echo", is_changing=True),
    "fail": ToolFacts("GET /fail", is_changing=False),
}


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    receiver = OtlpReceiver()
    yield receiver
    receiver.close()


@pytest.fixture
def make_observer(
    receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakeObserver]:
    """Yield a function that makes observers with all signals; `environ` adds variables."""
    made: list[RequestObserver] = []

    def make(environ: dict[str, str] | None = None, **more: Any) -> RequestObserver:
        for name, value in {**receiver.environment, **(environ or {})}.items():
            monkeypatch.setenv(name, value)
        resource = Resource.create({"service.name": "tested"})
        metrics = Metrics(resource)
        metrics.start()
        transport = (("network.transport", "pipe"),)
        options = {"spans": Spans(resource), "metrics": metrics, "transport": transport, **more}
        observer = RequestObserver(FACTS, {"review"}, **options)
        made.append(observer)
        return observer

    yield make
    for observer in made:
        observer.close()
