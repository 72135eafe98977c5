"""Tests of the age of evidence in words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mcpgen.factory.status.age import describe_age
from mcpgen.pipeline.project.evidence import format_time
from tests.unit.factory.status.conftest import NOW


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(minutes=59), "59 minutes ago"),
        (timedelta(minutes=60), "1 hour ago"),
        (timedelta(hours=23), "23 hours ago"),
        (timedelta(hours=24), "1 day ago"),
        (timedelta(days=3), "3 days ago"),
        (timedelta(days=59), "59 days ago"),
        (timedelta(days=60), "2 months ago"),
        (timedelta(days=729), "24 months ago"),
        (timedelta(days=730), "2 years ago"),
        (-timedelta(hours=1), "just now"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(ago: timedelta, words: str) -> None:
    assert describe_age(format_time(NOW - ago), NOW) == words


def test_other_offsets_are_converted() -> None:
    assert describe_age("2026-11-24T13:00:00+02:00", NOW) == "1 hour ago"


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-24", "2026-11-24T10:00:00", "3"])
def test_a_time_that_is_missing_or_invalid_has_no_age(text: str) -> None:
    assert describe_age(text, NOW) == ""
