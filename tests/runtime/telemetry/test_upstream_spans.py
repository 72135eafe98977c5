"""Tests of spans, metrics and trace context of the requests that a call sends to the API."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Any

import pytest

from mcpgen.runtime.content import ToolResult
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.telemetry.observer import RequestObserver
from mcpgen.runtime.upstream.client import ApiClient
from mcpgen.runtime.upstream.errors import ConnectError
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.runtime.upstream.request.parameters import ParameterRule
from mcpgen.runtime.upstream.request.rules import RequestRules
from tests.runtime.telemetry.attribute_table import check_all
from tests.runtime.telemetry.conftest import MakeObserver
from tests.support.fake_upstream import JSON, FakeEnvironment, FakeUpstream, run
from tests.support.otlp_receiver import OtlpReceiver, Span
from tests.support.protocol_client import Peer, definition

RULES = RequestRules(
    "GET",
    "/pets/{petId}",
    parameters=(ParameterRule("path", "petId"), ParameterRule("query", "note")),
)
OK = HttpResponse(200, JSON, b'{"ok":true}')
BUSY = HttpResponse(503, JSON, b"{}")
STATE = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}


def make_client(upstream: FakeUpstream, **contract: Any) -> ApiClient:
    usual: dict[str, Any] = {
        "name": "pets",
        "env_prefix": "PETS_",
        "servers": [{"url": "https://api.example/v1"}],
        "security_schemes": {},
        "environment": [],
    }
    return ApiClient(
        {**usual, **contract}, {}, send=upstream.send, environment=FakeEnvironment().build()
    )


def start_call(observer: RequestObserver, **meta: str) -> Request:
    peer = Peer("2026-07-28", definition(observer=observer))
    return peer.call(_meta={**STATE, **meta, "baggage": "user=alice"})


async def send(client: ApiClient, owner: Request, rules: RequestRules = RULES) -> None:
    api = client.bind("get_pet", rules)
    api.owner = owner
    try:
        await api.request(
            rules.method,
            rules.path,
            path_params={"petId": "private-id"},
            query={"note": "private-note"},
            returns=None,
        )
    finally:
        if owner.observation is not None:
            owner.observation.end(owner)


def client_spans(receiver: OtlpReceiver, count: int) -> list[Span]:
    def find() -> list[Span]:
        return [span for span in receiver.spans if span.kind == 3]

    receiver.wait_for(lambda: len(find()) >= count)
    return find()


def test_each_attempt_has_a_span_with_the_attributes_of_the_conventions(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    upstream = FakeUpstream((BUSY, ConnectError("failed"), OK))
    owner = start_call(make_observer())
    run(send(make_client(upstream), owner))
    spans = client_spans(receiver, 3)
    server = receiver.wait_for_span("tools/call tool_0")
    assert {(span.name, span.parent_id) for span in spans} == {
        ("GET /pets/{petId}", server.span_id)
    }
    assert {span.trace_id for span in spans} == {server.trace_id}
    found = [
        (
            span.attributes.get("http.response.status_code"),
            span.attributes.get("error.type"),
            span.attributes.get("http.request.resend_count"),
            span.status,
        )
        for span in spans
    ]
    assert found == [(503, "503", None, 2), (None, "ConnectError", 1, 2), (200, None, 2, 0)]
    attributes = spans[0].attributes
    assert (attributes["server.address"], attributes["server.port"]) == ("api.example", 443)
    assert attributes["url.template"] == "/pets/{petId}"
    receiver.wait_for(lambda: "mcpgen.upstream.retries" in receiver.metrics)
    retries = receiver.metrics["mcpgen.upstream.retries"].sum
    assert (retries.is_monotonic, retries.data_points[0].as_int) == (True, 2)
    for name in ("mcpgen.upstream.circuit.open", "mcpgen.upstream.queue.length"):
        assert receiver.metrics[name].gauge.data_points[0].as_int == 0
    bounds = receiver.metrics["http.client.request.duration"].histogram.data_points[0]
    assert list(bounds.explicit_bounds)[:3] == [0.005, 0.01, 0.025]
    check_all(receiver)


def test_the_attempts_of_a_new_trace_are_below_the_span_of_its_request(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    owner = Peer("2026-07-28", definition(observer=make_observer())).call()
    run(send(make_client(FakeUpstream((BUSY, OK))), owner))
    spans = client_spans(receiver, 2)
    server = receiver.wait_for_span("tools/call tool_0")
    assert server.parent_id == ""
    assert {(span.trace_id, span.parent_id) for span in spans} == {
        (server.trace_id, server.span_id)
    }


def test_arguments_are_not_in_the_url_of_a_span(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    run(send(make_client(FakeUpstream()), start_call(make_observer())))
    (span,) = client_spans(receiver, 1)
    assert span.attributes["url.full"] == "https://api.example/v1/pets/REDACTED"
    assert "private" not in str(span)


def test_the_url_has_the_arguments_if_recording_is_turned_on(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    owner = start_call(make_observer(captures_content=True))
    run(send(make_client(FakeUpstream()), owner))
    (span,) = client_spans(receiver, 1)
    url = "https://api.example/v1/pets/private-id?note=private-note"
    assert span.attributes["url.full"] == url


def test_the_api_receives_the_trace_context_of_the_attempt(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    upstream = FakeUpstream((BUSY, OK))
    run(send(make_client(upstream), start_call(make_observer(), tracestate="vendor=1")))
    spans = client_spans(receiver, 2)
    sent = [dict(request.headers) for request in upstream.requests]
    assert [fields["traceparent"] for fields in sent] == [
        f"00-{span.trace_id}-{span.span_id}-01" for span in spans
    ]
    assert {fields["tracestate"] for fields in sent} == {"vendor=1"}
    assert not any("baggage" in fields for fields in sent)


def test_another_origin_than_the_configured_one_receives_no_trace_context(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    elsewhere = RequestRules(
        RULES.method,
        RULES.path,
        RULES.parameters,
        servers=({"url": "https://elsewhere.example"},),
    )
    upstream = FakeUpstream()
    run(send(make_client(upstream), start_call(make_observer()), elsewhere))
    client_spans(receiver, 1)
    assert upstream.only_request.url.startswith("https://elsewhere.example/")
    assert "traceparent" not in dict(upstream.only_request.headers)


def test_a_cancelled_attempt_has_a_span(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    async def scenario() -> None:
        started = asyncio.Event()

        async def hang(_: HttpRequest) -> HttpResponse:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

        upstream = FakeUpstream()
        upstream.send = hang  # type: ignore[method-assign]
        task = asyncio.create_task(send(make_client(upstream), start_call(make_observer())))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scenario())
    (span,) = client_spans(receiver, 1)
    assert (span.status, span.attributes["error.type"]) == (2, "cancelled")
    check_all(receiver)


def test_without_an_observer_requests_are_sent_as_they_are() -> None:
    upstream = FakeUpstream()
    owner = Peer("2026-07-28").call(_meta=STATE)
    assert owner.observation is None
    run(send(make_client(upstream), owner))
    assert "traceparent" not in dict(upstream.only_request.headers)


def test_an_answered_request_needs_no_garbage_collector(make_observer: MakeObserver) -> None:
    def count_requests() -> int:
        return sum(type(it) is Request for it in gc.get_objects())

    peer = Peer("2026-07-28", definition(observer=make_observer()))
    gc.collect()
    gc.disable()
    try:
        before = count_requests()
        for _ in range(10):
            peer.call().succeed(ToolResult(()))
        peer.events.clear()
        assert count_requests() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("is_on", [False, True])
def test_a_request_runs_code_of_telemetry_only_with_an_observer(
    is_on: bool, make_observer: MakeObserver
) -> None:
    entered: set[str] = set()

    def note(frame: Any, event: str, argument: object) -> None:
        entered.add(str(frame.f_globals.get("__name__", "")))

    peer = Peer("2026-07-28", definition(observer=make_observer() if is_on else None))
    sys.setprofile(note)
    try:
        peer.call().succeed(ToolResult(()))
    finally:
        sys.setprofile(None)
    assert "mcpgen.runtime.protocol.request" in entered
    assert any(name.startswith("mcpgen.runtime.telemetry") for name in entered) is is_on
