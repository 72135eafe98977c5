"""Tests of the server's log: one bounded line per record, and queues that never block."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

import pytest

from mcpgen.runtime.process import log, output_queue
from mcpgen.runtime.process.log import (
    MAX_ERROR_TEXT,
    MAX_LINE_BYTES,
    MAX_LINES_PER_SECOND,
    PACKAGE_FOLDER,
    LineLimit,
    _find_handlers_folder,
    describe_error,
    format_line,
)
from mcpgen.runtime.process.output_queue import MAX_QUEUED_BYTES, MAX_QUEUED_LINES, OutputQueue

SECONDS = 20.0


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize(
    "character", ["\0", "\t", "\n", "\r", "\x1b", "\x7f", "\x85", "\x9b", "\u200b", "\u202e"]
)
def test_control_and_invisible_characters_are_escaped_in_the_log(character: str) -> None:
    line = format_line("error", f"a{character}b")
    assert line.endswith("b\n")
    assert line[:-1].isprintable()


@pytest.mark.parametrize(
    "text", ["x" * 10_000, "\0" * 10_000, "\u20ac" * 10_000, "\U0001f600" * 999]
)
def test_a_line_is_at_most_one_kilobyte(text: str) -> None:
    line = format_line("error", text)
    assert len(line.encode()) <= MAX_LINE_BYTES
    assert line.endswith("\n")


def test_the_location_of_an_error_with_a_long_message_is_logged() -> None:
    with pytest.raises(ValueError, match="x") as raised:
        int("x" + "\x1b" * 4_000)
    assert "test_log.py:" in format_line("error", describe_error(raised.value))


def test_an_error_whose_str_fails_is_described() -> None:
    class UnreadableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe_error(UnreadableError()) == "UnreadableError: (no text: its __str__ failed)"


def test_secrets_are_masked_before_a_text_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_hide", lambda text: text.replace("canary-0123456789", "***"))
    for length in range(MAX_ERROR_TEXT - 20, MAX_ERROR_TEXT + 1):
        error = ValueError("x" * length + "canary-0123456789")
        assert "cana" not in format_line("error", describe_error(error))
    for length in range(MAX_LINE_BYTES - 30, MAX_LINE_BYTES + 1):
        assert "cana" not in format_line("error", "x" * length + "canary-0123456789")


def test_lines_above_the_limit_per_second_are_counted() -> None:
    now, written = [10.0], list[str]()
    limit = LineLimit(written.append, clock=lambda: now[0])
    for number in range(MAX_LINES_PER_SECOND + 3):
        limit.write(f"{number}\n")
    assert written == [f"{number}\n" for number in range(MAX_LINES_PER_SECOND)]
    now[0] = 11.0
    limit.write("next\n")
    reason = f"there were more than {MAX_LINES_PER_SECOND} in a second"
    assert written[-2:] == [f"warning: 3 lines were dropped because {reason}\n", "next\n"]


def test_a_queue_writes_all_lines(pipe: tuple[int, int]) -> None:
    queue = OutputQueue(pipe[1], "stderr")
    for number in range(100):
        queue.put(f"{number}\n".encode())
    assert queue.flush(SECONDS)
    assert os.read(pipe[0], 65_536) == b"".join(b"%d\n" % number for number in range(100))


@pytest.mark.parametrize("line", [b"x\n", b"x" * 2_000 + b"\n"], ids=["many", "long"])
def test_an_unread_queue_is_bounded_and_counts_dropped_lines(
    pipe: tuple[int, int], line: bytes
) -> None:
    queue = OutputQueue(pipe[1], "stderr")
    queue.put(b"z" * 100_000 + b"\n")  # more than the pipe takes
    for _ in range(10 * MAX_QUEUED_LINES):
        queue.put(line)
    assert not queue.flush(0)
    read, kept, dropped = b"", 0, 0
    while kept + dropped < 10 * MAX_QUEUED_LINES:
        read += os.read(pipe[0], 65_536)
        kept = read.count(line)
        numbers = re.findall(rb"warning: ([0-9,]+) lines were dropped because stderr", read)
        dropped = sum(int(number.replace(b",", b"")) for number in numbers)
    assert kept + dropped == 10 * MAX_QUEUED_LINES
    assert len(read) < MAX_QUEUED_BYTES + 200_000


def test_a_line_longer_than_the_queue_is_written(
    pipe: tuple[int, int],
) -> None:
    queue = OutputQueue(pipe[1], "stderr")
    size = 2 * MAX_QUEUED_BYTES
    queue.put(b"x" * size)
    read = 0
    while read < size:
        read += len(os.read(pipe[0], 65_536))
    assert queue.flush(SECONDS)


def test_a_queue_survives_a_closed_reader() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    queue = OutputQueue(writing, "stderr")
    queue.put(b"lost\n")
    assert queue.flush(SECONDS)
    queue.put(b"lost as well\n")
    os.close(writing)


def test_a_queue_writes_to_a_non_blocking_pipe(
    pipe: tuple[int, int],
) -> None:
    os.set_blocking(pipe[1], False)
    queue = OutputQueue(pipe[1], "stderr")
    queue.put(b"x" * 200_000)
    time.sleep(0)
    read = 0
    while read < 200_000:
        read += len(os.read(pipe[0], 65_536))
    assert queue.flush(SECONDS)


def test_a_queue_retries_when_its_thread_cannot_start(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    queue = OutputQueue(pipe[1], "stderr")
    with monkeypatch.context() as patch:
        patch.setattr(output_queue.threading.Thread, "start", refuse)
        queue.put(b"one\n")
    queue.put(b"two\n")
    assert queue.flush(SECONDS)
    assert os.read(pipe[0], 100) == b"one\ntwo\n"


def test_a_package_whose_path_starts_like_mcpgen_is_a_handlers_package() -> None:
    ours = PACKAGE_FOLDER.rstrip(os.sep)
    assert _find_handlers_folder(f"{ours}_shop/handlers/a.py") == f"{ours}_shop/handlers/"
    assert _find_handlers_folder(f"{ours}/runtime/handlers/features.py") == ""
