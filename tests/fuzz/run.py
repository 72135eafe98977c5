"""Loop that runs cases on one target, and its measurements."""

from __future__ import annotations

import contextlib
import json
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.fuzz.cases import MAX_CORPUS_BYTES, Case, FaultError, Target, load_corpus

_MAX_POOL = 1500
_MAX_SAVED_FAULTS = 50
_MAX_FAULTS = 500
_VARIABLE = re.compile(r"0x\w+|\d+|'[^']*'")  # differs between two faults of one cause
_LIMIT_SECONDS = 60
_WARM_UP = 0.3  # of the time; memory is compared with what was in use then


@dataclass
class Summary:
    """The measurements of one run of a target."""

    target: str
    cases: int = 0
    outcomes: int = 0
    seconds: float = 0.0
    slow: int = 0
    slowest_seconds: float = 0.0
    slowest_case: str = ""
    faults: dict[str, int] = field(default_factory=dict)
    growth_mb: dict[str, float] = field(default_factory=dict)
    """Growth of each process after the warm-up."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    """Raise a fault if a case runs in Python for far too long."""

    def give_up(*_: object) -> None:
        raise FaultError(f"no end after {_LIMIT_SECONDS} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_LIMIT_SECONDS)
    try:
        yield
    except FaultError as fault:  # while the next case was made
        print(f"no case was made: {fault}", file=sys.stderr)
    finally:
        signal.alarm(0)


class Fuzzer:
    """A loop that runs the corpus, then new cases and mutations of cases with new outcomes."""

    def __init__(self, target: Target, seed: int, found: Path) -> None:
        self.summary = Summary(target.name)
        self._target = target
        self._found = found
        self._chance = random.Random(f"{seed} {target.name}")
        self._outcomes: set[str] = set()
        self._pool: list[Case] = []
        self._memory: dict[str, int] = {}

    def replay(self, cases: list[Case]) -> None:
        """Run stored cases."""
        for case in cases:
            self._run(case)

    def run_cases(self, count: int) -> Summary:
        """Replay the corpus, and run a number of further cases."""
        self.replay(load_corpus(self._target.name))
        for _ in range(count):
            self._run(self._next())
        return self.summary

    def run(self, seconds: float, report: Callable[[str], None]) -> Summary:
        """Run for a number of seconds; `report` gets a line about every 30 seconds."""
        began = time.monotonic()
        self.replay(load_corpus(self._target.name))
        next_report = began + 30
        while (now := time.monotonic()) < began + seconds:
            if not self._memory and now > began + _WARM_UP * seconds:
                self._measure()
            if now > next_report:
                next_report = now + 30
                report(self._progress(now - began))
            if sum(self.summary.faults.values()) >= _MAX_FAULTS:
                report(f"{self._target.name}: stopped after {_MAX_FAULTS} faults")
                break
            with _time_limit():
                self._run(self._next())
        self._compare_memory()
        self.summary.seconds = time.monotonic() - began
        self.summary.outcomes = len(self._outcomes)
        return self.summary

    def _next(self) -> Case:
        if self._pool and self._chance.random() < 0.6:
            return self._target.mutate(self._chance.choice(self._pool), self._chance)
        return self._target.generate(self._chance)

    def _run(self, case: Case) -> None:
        began = self._target.clock()
        try:
            outcome = self._target.run(case)
        except Exception as error:  # noqa: BLE001  (whatever a case raises is a finding)
            kind = "" if isinstance(error, FaultError) else f"{type(error).__name__}: "
            self._note_fault(case, f"{kind}{error}")
        else:
            self._note_outcome(case, outcome)
        seconds = self._target.clock() - began
        self.summary.cases += 1
        if seconds > self.summary.slowest_seconds:
            self.summary.slowest_seconds, self.summary.slowest_case = seconds, case.digest
        if seconds > self._target.slow_seconds:
            self.summary.slow += 1
            if self.summary.slow <= _MAX_SAVED_FAULTS:
                case.save(self._found / "slow", f"{seconds:.1f} s")

    def _note_fault(self, case: Case, text: str) -> None:
        kind = _VARIABLE.sub("…", text.splitlines()[0])[:160] if text else "no text"
        known = self.summary.faults.get(kind, 0)
        self.summary.faults[kind] = known + 1
        if known < 3 and len(self.summary.faults) <= _MAX_SAVED_FAULTS:
            case.save(self._found / "faults", text[:4000])

    def _note_outcome(self, case: Case, outcome: str) -> None:
        is_full = len(self._pool) == _MAX_POOL  # outcomes are not remembered without end
        if is_full or outcome in self._outcomes or case.size > MAX_CORPUS_BYTES:
            return
        self._outcomes.add(outcome)
        self._pool.append(case)
        case.save(self._found / "interesting", outcome)

    def _measure(self) -> None:
        self._target.settle()
        self._memory = self._target.resident_bytes()

    def _compare_memory(self) -> None:
        self._target.settle()
        for name, now in self._target.resident_bytes().items():
            before = self._memory.get(name, now)
            self.summary.growth_mb[name] = round((now - before) / 1e6, 1)

    def _progress(self, seconds: float) -> str:
        summary = self.summary
        memory = ", ".join(
            f"{name} {size / 1e6:.0f} MB" for name, size in self._target.resident_bytes().items()
        )
        return (
            f"{summary.target}: {seconds:.0f} s, {summary.cases} cases, "
            f"{len(self._outcomes)} outcomes, {sum(summary.faults.values())} faults, "
            f"{summary.slow} slow (at most {summary.slowest_seconds:.1f} s), {memory}"
        )
