"""Tests of span identifiers, and of the decision of `traceidratio`."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

from mcpgen.runtime.telemetry.otlp import CLIENT, SERVER
from mcpgen.runtime.telemetry.spans import Spans
from mcpgen.runtime.telemetry.trace_context import (
    ContextSource,
    SpanContext,
    make_root,
    parse_trace_context,
)

COUNT = 1000  # several draws of random bytes
FIRST_BIT = 0x80


def test_ids_differ_and_are_never_zero() -> None:
    source = ContextSource()
    roots = [source.draw_root() for _ in range(COUNT)]
    parent = make_root(roots[0], is_sampled=True)
    children = [source.make_child(parent, is_sampled=True) for _ in range(COUNT)]
    trace_ids = {trace_id for trace_id, _ in roots}
    span_ids = {span_id for _, span_id in roots} | {child.span_id for child in children}
    assert len(trace_ids) == COUNT
    assert len(span_ids) == 2 * COUNT
    assert {len(it) for it in trace_ids} == {16}
    assert {len(it) for it in span_ids} == {8}
    assert all(it[0] & FIRST_BIT for it in trace_ids | span_ids)
    assert {child.trace_id for child in children} == {parent.trace_id}


def test_the_last_56_bits_of_a_trace_id_are_random() -> None:
    """Each bit is set in some ids and not in others; samplers also read the bit before them."""
    source = ContextSource()
    numbers = [int.from_bytes(source.draw_root()[0][8:], "big") for _ in range(COUNT)]
    for bit in range(64):
        assert {number >> bit & 1 for number in numbers} == {0, 1}


def test_a_new_trace_context_is_a_valid_header() -> None:
    source = ContextSource()
    for is_sampled in (True, False):
        root = make_root(source.draw_root(), is_sampled=is_sampled)
        assert parse_trace_context(root.format_parent()) == replace(root, is_remote=True)
        assert root.is_sampled is is_sampled


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.5, 1.0])
def test_traceidratio_decides_as_the_sampler_of_the_sdk(
    ratio: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", str(ratio))
    sampler = TraceIdRatioBased(ratio)
    low = [sampler.bound - 1, sampler.bound, sampler.bound + 1]
    numbers = [(1 << 127) + it % (1 << 64) for it in low]
    spans = Spans(Resource.create({}))
    try:
        roots = [spans.begin(None, SERVER) for _ in range(COUNT)]
        for root in roots:
            number = int.from_bytes(root.trace_id, "big")
            assert root.is_sampled is sampler.should_sample(None, number, "").decision.is_sampled()
        for number in numbers:
            remote = SpanContext(number.to_bytes(16, "big"), bytes(7) + b"\1", 1, is_remote=True)
            decision = sampler.should_sample(None, number, "").decision
            child = spans.begin(remote, CLIENT)
            assert child.is_sampled is decision.is_sampled()
    finally:
        spans.shut_down()
