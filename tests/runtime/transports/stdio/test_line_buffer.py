"""Tests of splitting a byte stream into lines, however it arrives."""

from __future__ import annotations

import pytest

from mcpgen.runtime.transports.stdio.pipe import Line, LineBuffer, TruncatedLine

BOUND = 100


def feed(data: bytes, size: int) -> list[Line | None]:
    """Split data that is read in pieces of a size; None stands for an overlong line."""
    buffer = LineBuffer(BOUND)
    lines = [line for at in range(0, len(data), size) for line in buffer.feed(data[at : at + size])]
    return [None if isinstance(line, TruncatedLine) else line for line in lines + buffer.finish()]


@pytest.mark.parametrize("size", [1, 7, 50, 99])
@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\r\n\r\n \nb", [b"a\r", b"b"]),
        (b"a\n" + b"x" * 200 + b"\nb\n", [b"a", None, b"b"]),
        (b"a\n\r" + b"x" * 200 + b"\nb\n", [b"a", None, b"b"]),
        (b"\r" * 200 + b"\nb\n", [None, b"b"]),
        (b"b\n" + b" " * 200, [b"b", None]),
    ],
    ids=["blank lines", "long", "long after a carriage return", "only blanks", "no line end"],
)
def test_lines_do_not_depend_on_how_the_bytes_were_split(
    data: bytes, lines: list[Line | None], size: int
) -> None:
    assert feed(data, size) == lines
