"""Tests of lines that must fit into a skill."""

from __future__ import annotations

from mcpgen.plan.skills.writing import take_lines


def test_lines_beyond_the_budget_are_counted_and_not_written() -> None:
    written: list[int] = []

    def write(number: int) -> str:
        written.append(number)
        return f"{number:036}"  # 10 tokens, with 4 bytes for the list

    assert take_lines(range(9), 30, "{} more", write=write) == (f"{0:036}", f"{1:036}", "7 more")
    assert written == [0, 1, 2]


def test_lines_that_fit_need_no_note() -> None:
    assert take_lines(["a", "b"], 20, "{} more") == ("a", "b")
