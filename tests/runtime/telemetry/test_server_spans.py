"""Tests of spans and metrics of MCP requests, for all methods and revisions, at a collector."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

import pytest

from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.errors import ProtocolError, ToolError, UnknownToolError
from mcpgen.runtime.process import log
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.versions import REVISIONS
from mcpgen.runtime.telemetry.observer import MAX_CONTENT, RequestObserver
from mcpgen.runtime.upstream.response.redaction import Redactor
from tests.runtime.telemetry.attribute_table import check_all
from tests.runtime.telemetry.conftest import MakeObserver
from tests.support.otlp_receiver import OtlpReceiver, Span, read_attributes
from tests.support.protocol_client import PROMPTS, RESOURCES, Peer, definition

REVISION_NAMES = [revision.name for revision in REVISIONS]
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01", "tracestate": "vendor=1"}
URI = RESOURCES[0]["uri"]
PARAMS: dict[str, dict[str, Any]] = {
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": PROMPTS[0]["name"]},
        "argument": {"name": "any", "value": ""},
    },
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}},
    "logging/setLevel": {"level": "info"},
    "prompts/get": {"name": PROMPTS[0]["name"], "arguments": {"code": "x"}},
    "resources/read": {"uri": URI},
    "resources/subscribe": {"uri": URI},
    "resources/unsubscribe": {"uri": URI},
    "subscriptions/listen": {"notifications": {}},
    "tools/call": {"name": "tool_0", "arguments": {}},
}


@contextmanager
def disabled_logging() -> Iterator[None]:
    """Keep the exporter's own records out of the output of the tests."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def make_peer(revision: str, observer: RequestObserver) -> Peer:
    return Peer(revision, definition(observer=observer))


def spans_of(receiver: OtlpReceiver, count: int) -> list[Span]:
    receiver.wait_for(lambda: len(receiver.spans) >= count)
    assert len(receiver.spans) == count
    return receiver.spans


@pytest.mark.parametrize("revision", REVISION_NAMES)
def test_every_method_has_one_span_with_the_attributes_of_the_conventions(
    revision: str, make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    peer = make_peer(revision, make_observer())
    methods = sorted(peer.revision.request_methods)
    for method in methods:
        for call in peer.send(peer.request(method, **PARAMS.get(method, {}))):
            assert isinstance(call, Request)
            call.answer({})
    spans = spans_of(receiver, len(methods))
    assert [span.attributes["mcp.method.name"] for span in spans] == methods
    by_method = {span.attributes["mcp.method.name"]: span for span in spans}
    assert {span.attributes["mcp.protocol.version"] for span in spans} <= {revision, "2025-06-18"}
    assert by_method["tools/call"].name == "tools/call tool_0"
    assert by_method["tools/call"].attributes["gen_ai.operation.name"] == "execute_tool"
    assert by_method["prompts/get"].attributes["gen_ai.prompt.name"] == "review"
    assert by_method["resources/read"].name == "resources/read"
    assert by_method["resources/read"].attributes["mcp.resource.uri"] == URI
    assert all(span.status == 0 and "error.type" not in span.attributes for span in spans)
    receiver.wait_for(lambda: "mcp.server.operation.duration" in receiver.metrics)
    check_all(receiver)


def test_notifications_have_spans(make_observer: MakeObserver, receiver: OtlpReceiver) -> None:
    peer = make_peer("2025-06-18", make_observer())
    peer.notify("notifications/initialized")
    peer.notify("notifications/made/up")
    spans = spans_of(receiver, 2)
    assert [span.name for span in spans] == ["notifications/initialized", "_OTHER"]
    assert all("jsonrpc.request.id" not in span.attributes for span in spans)
    check_all(receiver)


@pytest.mark.parametrize(
    ("error", "code", "is_failure"),
    [
        (ProtocolError(-32602, "invalid"), "-32602", False),
        (ProtocolError(-32601, "unknown"), "-32601", False),
        (ProtocolError(-32600, "invalid"), "-32600", False),
        (ProtocolError(-32002, "no resource"), "-32002", False),
        (ProtocolError(-32000, "server error"), "-32000", True),
        (ProtocolError(-32099, "server error"), "-32099", True),
        (UnknownToolError("made up"), "-32602", False),
        (ToolError("broken"), "-32603", True),
        (RuntimeError("a secret"), "-32603", True),
    ],
    ids=lambda value: str(value)[:20],
)
def test_only_errors_of_the_server_mark_the_span_as_failed(
    error: Exception,
    code: str,
    is_failure: bool,
    make_observer: MakeObserver,
    receiver: OtlpReceiver,
) -> None:
    peer = make_peer("2026-07-28", make_observer())
    peer.call().fail(error)
    (span,) = spans_of(receiver, 1)
    assert span.attributes["rpc.response.status_code"] == code
    assert span.attributes.get("error.type") == (code if is_failure else None)
    assert span.status == (2 if is_failure else 0)
    assert span.message == ""
    check_all(receiver)


def test_a_result_with_is_error_is_a_tool_error(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    peer = make_peer("2025-11-25", make_observer())
    peer.call().succeed(ToolResult((Text("no"),), is_error=True))
    (span,) = spans_of(receiver, 1)
    assert (span.status, span.attributes["error.type"]) == (2, "tool_error")
    check_all(receiver)


def test_a_cancelled_request_has_a_span_that_did_not_fail(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    peer = make_peer("2025-11-25", make_observer())
    call = peer.call()
    peer.cancel(call.id)
    call.succeed(ToolResult((Text("too late"),)))
    spans = spans_of(receiver, 2)
    assert sorted(span.name for span in spans) == [
        "notifications/cancelled",
        "tools/call tool_0",
    ]
    assert {span.status for span in spans} == {0}
    check_all(receiver)


def test_names_that_a_client_makes_up_are_not_recorded(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    peer = make_peer("2025-11-25", make_observer())
    peer.error("made/up")
    peer.call(name="another").fail(UnknownToolError("another"))
    spans = spans_of(receiver, 2)
    assert [span.name for span in spans] == ["_OTHER", "tools/call"]
    assert "gen_ai.tool.name" not in spans[1].attributes


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_parent_of_a_span_is_in_the_meta_of_the_request(
    revision: str, make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    observer = make_observer()
    peer = make_peer(revision, observer)
    linked = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    copy_context().run(
        lambda: (
            observer.enter_http({b"traceparent": linked}),
            peer.call(_meta=PARENT).succeed(ToolResult(())),
        )
    )
    (span,) = spans_of(receiver, 1)
    assert (span.trace_id, span.parent_id) == (TRACE, "00f067aa0ba902b7")
    assert span.trace_state == "vendor=1"
    assert span.links == (("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"),)


@pytest.mark.parametrize(
    "parent",
    [
        7,
        "",
        "00-" + "0" * 32 + "-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-00f067aa0ba902b7-01",
        f"00-{TRACE}-00f067aa0ba902b7-01-more",
        f"00-{TRACE.upper()}-00f067aa0ba902b7-01",
        "0" * 10_000,
    ],
    ids=range(8),
)
def test_an_invalid_traceparent_is_ignored(
    parent: Any, make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    peer = make_peer("2026-07-28", make_observer())
    peer.call(_meta={"traceparent": parent}).succeed(ToolResult(()))
    (span,) = spans_of(receiver, 1)
    assert span.parent_id == ""


@pytest.mark.parametrize(
    ("environ", "flags", "is_recorded"),
    [
        ({}, "00", False),
        ({}, "01", True),
        ({"OTEL_TRACES_SAMPLER": "always_on"}, "00", True),
        ({"OTEL_TRACES_SAMPLER": "always_off"}, "01", False),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}, "01", False),
        ({"OTEL_TRACES_SAMPLER": "parentbased_always_off"}, "01", True),
    ],
)
def test_the_sampler_of_the_environment_decides(
    environ: dict[str, str],
    flags: str,
    is_recorded: bool,
    make_observer: MakeObserver,
    receiver: OtlpReceiver,
) -> None:
    observer = make_observer(environ)
    peer = make_peer("2026-07-28", observer)
    meta = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-{flags}"}
    peer.call(_meta=meta).succeed(ToolResult(()))
    observer.close()
    assert len(receiver.spans) == is_recorded
    assert "mcp.server.operation.duration" in receiver.metrics  # sampled or not


def test_arguments_and_results_are_recorded_only_if_that_is_turned_on(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    for captures in (False, True):
        peer = make_peer("2026-07-28", make_observer(captures_content=captures))
        call = peer.call(arguments={"text": "private", "long": "x" * 10_000})
        call.succeed(ToolResult((Text("answer"),)))
    off, on = sorted(spans_of(receiver, 2), key=lambda it: len(it.attributes))
    assert "private" not in str(off)
    assert "answer" not in str(off)
    assert on.attributes["gen_ai.tool.call.arguments"].startswith('{"text": "private"')
    assert len(on.attributes["gen_ai.tool.call.arguments"]) == MAX_CONTENT
    assert "answer" in on.attributes["gen_ai.tool.call.result"]
    check_all(receiver)


def test_recorded_arguments_are_masked(
    make_observer: MakeObserver, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_hide", Redactor(("hunter2222",)).clean)
    peer = make_peer("2026-07-28", make_observer(captures_content=True))
    peer.call(arguments={"text": "hunter2222"}).succeed(ToolResult(()))
    (span,) = spans_of(receiver, 1)
    assert span.attributes["gen_ai.tool.call.arguments"] == '{"text": "***"}'


def test_durations_have_the_buckets_of_the_conventions(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    peer = make_peer("2026-07-28", make_observer())
    for _ in range(3):
        peer.call().succeed(ToolResult(()))
    metric = receiver.wait_for(
        lambda: (
            (it := receiver.metrics.get("mcp.server.operation.duration"))
            and it.histogram.data_points[0].count == 3
            and it
        )
    )
    (point,) = metric.histogram.data_points
    bounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
    assert (metric.unit, list(point.explicit_bounds)) == ("s", bounds)
    assert sum(point.bucket_counts) == 3
    assert read_attributes(point.attributes)["gen_ai.tool.name"] == "tool_0"


def test_an_unreachable_collector_neither_delays_nor_fails_a_call(
    make_observer: MakeObserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(log, "_sink", lines.append)
    nobody = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_BSP_MAX_QUEUE_SIZE": "600"}
    observer = make_observer({**nobody, "OTEL_EXPORTER_OTLP_TIMEOUT": "1"})
    peer = make_peer("2026-07-28", observer)
    with disabled_logging():
        for _ in range(2_000):
            peer.call().succeed(ToolResult(()))
        assert len(peer.frames()) == 2_000
        observer.close()
