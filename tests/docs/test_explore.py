"""Tests that `mcpgen explore` in a real terminal shows what its documentation page shows."""

from __future__ import annotations

import pytest

from tests.docs.explore_captures import (
    PAGE,
    capture_all,
    list_captures,
    normalize,
    write_captures,
)


@pytest.mark.parametrize("duration", ["8 ms", "31 ms", "120 ms", "1.4 s", "12.5 s"])
def test_a_duration_of_any_width_makes_the_same_capture(duration: str) -> None:
    cell = f"done in {duration}"
    assert (
        normalize(f"│ {cell:<20}│ list_pets: {cell}")
        == f"│ {'done in 12 ms':<20}│ list_pets: done in 12 ms"
    )


@pytest.mark.slow
def test_the_captures_of_the_page_are_current() -> None:
    captures = capture_all()
    page = PAGE.read_text("utf-8")
    assert sorted(list_captures(page)) == sorted(captures)
    assert page == write_captures(page, captures), "run `make update-docs`"
