"""Tests of duration histograms, which aggregate many values at a time."""

from __future__ import annotations

from bisect import bisect_left

import pytest

from mcpgen.runtime.telemetry.metrics import MCP_BOUNDS, DurationSeries
from mcpgen.runtime.telemetry.otlp import MAX_WAITING

VALUES = [0.0, *MCP_BOUNDS, 0.0101, 0.3, 299.9, 300.1, 9000.0]


@pytest.mark.parametrize("repeats", [1, MAX_WAITING])
def test_each_duration_is_in_the_bucket_that_its_upper_bound_closes(repeats: int) -> None:
    series = DurationSeries(MCP_BOUNDS)
    for value in VALUES * repeats:
        series.record(value)
        assert len(series.waiting) < MAX_WAITING
    series.aggregate()
    counts = [0] * (len(MCP_BOUNDS) + 1)
    for value in VALUES:
        counts[bisect_left(MCP_BOUNDS, value)] += repeats
    assert series.counts == counts
    assert series.total == pytest.approx(sum(VALUES) * repeats)
    assert (series.least, series.most) == (0.0, 9000.0)


def test_nothing_is_counted_twice_or_lost_by_a_further_aggregation() -> None:
    series = DurationSeries(MCP_BOUNDS)
    series.record(0.5)
    for _ in range(2):
        series.aggregate()
    assert (sum(series.counts), series.total) == (1, 0.5)
