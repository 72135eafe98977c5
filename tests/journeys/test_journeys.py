"""Tests of the first hour of a user, command by command, with the output that the user sees."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tests.journeys.runner import fits, journeys, run_page
from tests.support.wheel import pip_command, uv_command

# An installation into an empty environment, and one that brings a package of an extra. In the
# others uv takes the place of pip, which would do the same again for 8 seconds.
WITH_PIP = {"1-one-document", "5-confirm"}


@pytest.mark.parametrize("path", journeys(), ids=lambda path: path.stem)
def test_the_journey_prints_the_documented_output(
    path: Path, tmp_path: Path, updates: bool
) -> None:
    page = path.read_text()

    seen = run_page(page, tmp_path, pip_command if path.stem in WITH_PIP else uv_command)

    if updates:
        path.write_text(seen)
        return
    names = (f"{path.name}, expected", f"{path.name}, seen")
    lines = (page.splitlines(), seen.splitlines())
    assert seen == page, "\n" + "\n".join(difflib.unified_diff(*lines, *names, lineterm=""))


@pytest.mark.parametrize(
    ("expected", "actual", "is_fit"),
    [
        (["a"], ["a"], True),
        (["a"], ["b"], False),
        (["a"], ["a", "b"], False),
        (["port …!"], ["port 80!"], True),
        (["port …!"], ["port 80?"], False),
        (["a", "…", "d"], ["a", "b", "c", "d"], True),
        (["a", "…", "d"], ["a", "d"], True),
        (["a", "…", "d"], ["a", "b", "c"], False),
        (["(a) [b]"], ["(a) [b]"], True),
    ],
)
def test_a_placeholder_matches_text_or_lines(
    expected: list[str], actual: list[str], is_fit: bool
) -> None:
    assert fits(expected, actual) is is_fit
