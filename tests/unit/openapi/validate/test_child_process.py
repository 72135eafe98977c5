"""A child process that is asked one question after the other."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

import pytest

from mcpgen.openapi.validate.child_process import ChildProcess

needs_pipes = pytest.mark.skipif(os.name == "nt", reason="one question a process there")
READ = "import sys; read = sys.stdin.buffer; ask = lambda: read.read(int(read.readline()))\n"
ANSWERS_ALL = READ + "while True: print(len(ask()), flush=True)"

Start = Callable[[str], ChildProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[ChildProcess] = []

    def run(program: str) -> ChildProcess:
        started.append(ChildProcess([sys.executable, "-I", "-c", program]))
        return started[-1]

    yield run
    for process in started:
        process.end()


def asked(process: ChildProcess, size: int, seconds: float = 30) -> bytes:
    """Ask a question of so many bytes, and wait for the answer."""
    process.send(b"x" * size)
    return process.receive(seconds)


@needs_pipes
def test_each_question_has_its_answer_however_long_it_is(start: Start) -> None:
    process = start(ANSWERS_ALL)
    sizes = (0, 1, 1_000_000, 5)
    assert [int(asked(process, size)) for size in sizes] == list(sizes)
    assert process.is_usable


def test_a_process_that_says_nothing_is_ended(start: Start) -> None:
    process = start(READ + "while True: ask()")
    with pytest.raises(TimeoutError):
        asked(process, 1_000_000, 0.2)
    assert not process.is_usable


def test_a_process_that_reads_nothing_is_ended(start: Start) -> None:
    process = start("while True: pass")
    with pytest.raises(TimeoutError):
        asked(process, 1_000_000, 0.2)
    assert not process.is_usable


@pytest.mark.parametrize("said", ["", "half an answer"])
def test_a_process_that_ends_instead_of_answering_is_told_from_one_that_answers(
    start: Start, said: str
) -> None:
    process = start(READ + f"ask(); sys.stdout.write({said!r})")
    with pytest.raises(EOFError):
        asked(process, 1)
    assert not process.is_usable


@needs_pipes
def test_an_answer_without_an_end_is_not_read_for_ever(start: Start) -> None:
    process = start(READ + "ask()\nwhile True: sys.stdout.write('x' * 100_000)")
    with pytest.raises(EOFError):
        asked(process, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_fork_does_not_use_its_parents_process(start: Start) -> None:
    process = start(ANSWERS_ALL)
    child = os.fork()
    if not child:
        found = process.is_usable
        process.end()  # which is the parent's to do
        os._exit(found)
    assert os.waitpid(child, 0)[1] == 0
    assert process.is_usable
