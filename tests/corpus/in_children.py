"""Run work on many documents, each in its own process with a time limit."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Generic, TypeVar

Work = TypeVar("Work")
Result = TypeVar("Result")

_FORK = multiprocessing.get_context("fork")  # children need not import modules again


@dataclass(frozen=True, slots=True)
class Failure:
    """Reason why a child has no result ("timeout", "crashed" or "raised"), and its output."""

    kind: str
    text: str


@dataclass(slots=True)
class _Child(Generic[Work]):
    work: Work
    process: ForkProcess
    answer: Connection
    until: float


def in_children(
    run: Callable[[Work], Result], works: Sequence[Work], *, at_once: int, seconds: float
) -> Iterator[tuple[Work, Result | Failure]]:
    """Run `run` on each item in child processes; yield the results in order of completion."""
    waiting = list(reversed(works))
    running: dict[int, _Child[Work]] = {}
    while waiting or running:
        while waiting and len(running) < at_once:
            child = _start(run, waiting.pop(), seconds)
            running[child.answer.fileno()] = child
        first = min(child.until for child in running.values())
        ready = wait(
            [child.answer for child in running.values()], max(0.0, first - time.monotonic())
        )
        for key, child in list(running.items()):
            if child.answer in ready or child.until <= time.monotonic():
                del running[key]
                yield child.work, _end(child, has_answered=child.answer in ready)


def _start(run: Callable[[Work], Result], work: Work, seconds: float) -> _Child[Work]:
    receiving, sending = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_in_child, args=(run, work, sending))
    process.start()
    sending.close()
    return _Child(work, process, receiving, time.monotonic() + seconds)


def _in_child(run: Callable[[Work], Result], work: Work, sending: Connection) -> None:
    try:
        sending.send(run(work))
    except Exception as error:  # noqa: BLE001  (what a document does to us is what we are after)
        last = "".join(traceback.format_exception(error)[-2:])
        sending.send(Failure("raised", last.strip()))


def _end(child: _Child[Work], *, has_answered: bool) -> Result | Failure:  # type: ignore[type-var]
    result: Result | Failure
    if has_answered:
        try:
            result = child.answer.recv()
        except EOFError:
            child.process.join()
            result = Failure("crashed", f"ended with {child.process.exitcode}")
    else:
        result = Failure("timeout", "took longer than it may")
        child.process.kill()
    child.process.join()
    child.answer.close()
    return result
