"""Tests of Markdown of bounded length: what is cut, and the note about it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from mcpgen.factory.review.bounded import Section, compose, measure, share

LINES = st.lists(st.text(st.characters(exclude_characters="\n"), max_size=60), max_size=60)


def numbered(count: int, word: str = "line") -> list[str]:
    return [f"- {word} {number}" for number in range(count)]


def test_everything_is_shown_if_it_fits() -> None:
    text = compose("# Title\n", [Section("## A", numbered(3)), Section("## B", [])], 1000, "there")
    assert text == "# Title\n\n## A\n\n- line 0\n- line 1\n- line 2\n"


def test_a_cut_section_says_how_much_is_missing_and_where_it_is() -> None:
    text = compose("# Title\n", [Section("## A", numbered(1000))], 500, "see `there`")
    shown = text.count("- line")
    assert 0 < shown < 1000
    assert text.endswith(f"\n\nand {1000 - shown:,} more: see `there`\n")


def test_a_long_section_leaves_room_for_the_next() -> None:
    sections = [Section("## A", numbered(9999)), Section("## B", numbered(5, "other"))]
    text = compose("# Title\n", sections, 2000, "there")
    assert text.count("- other") == 5
    assert text.count("- line") > 50


def test_the_first_sections_are_cut_last() -> None:
    sections = [Section(f"## {name}", numbered(9999, name)) for name in "ABC"]
    text = compose("# Title\n", sections, 4000, "there")
    counts = [text.count(f"- {name} ") for name in "ABC"]
    assert counts[0] > counts[1] > 0
    assert counts[2] > 0


def test_the_head_of_a_table_stays_with_its_rows() -> None:
    section = Section("## A", numbered(1000), ("| a |", "|---|"))
    assert "\n| a |\n|---|\n- line 0\n" in compose("", [section], 300, "there")


@given(st.text(max_size=300), st.lists(LINES, max_size=5), st.integers(min_value=0, max_value=2000))
def test_the_limit_is_never_exceeded(head: str, sections: list[list[str]], limit: int) -> None:
    made = [Section(f"## {number}", lines) for number, lines in enumerate(sections)]
    assert measure(compose(head, made, limit, "there")) <= limit


@given(LINES, st.integers(min_value=100, max_value=2000))
def test_no_line_is_lost_without_a_count(lines: list[str], limit: int) -> None:
    text = compose("# Title\n", [Section("## A", lines)], limit, "THERE")
    found = re.search(r"\nand ([\d,]+) more: THERE\n\Z", text)
    missing = int(found[1].replace(",", "")) if found else 0
    body = "".join(f"{line}\n" for line in lines[: len(lines) - missing])
    assert body in text or not lines


@given(st.text())
def test_length_is_measured_as_code_hosts_do(text: str) -> None:
    assert measure(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


@given(
    st.lists(st.integers(min_value=0, max_value=10_000), max_size=20),
    st.integers(min_value=0, max_value=50_000),
)
def test_shares_fit_together_and_leave_nothing_to_short_texts(
    lengths: list[int], limit: int
) -> None:
    most = share(lengths, limit)
    used = sum(min(length, most) for length in lengths)
    assert used <= limit
    if sum(lengths) > limit:
        assert limit - used < len(lengths)  # only rounding is lost
    else:
        assert used == sum(lengths)
