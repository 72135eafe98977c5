"""Tests of the fuzzer's corpus, and a short `make fuzz` with a fixed seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.cases import CORPUS, Case, FaultError, load_corpus
from tests.fuzz.run import Fuzzer
from tests.fuzz.targets import NAMES, load_target

_CASES = {"documents": 4, "frames": 40, "functions": 4000, "responses": 20}


@pytest.mark.parametrize("name", NAMES)
def test_no_invariant_is_broken(name: str, tmp_path: Path) -> None:
    with load_target(name) as target:
        summary = Fuzzer(target, 1, tmp_path).run_cases(_CASES[name])
    assert not summary.faults, summary.faults
    assert not summary.slow, f"{summary.slowest_case}: {summary.slowest_seconds:.1f} s"
    assert summary.cases == _CASES[name] + len(load_corpus(name))


def test_a_fault_is_counted_and_its_input_is_stored(tmp_path: Path) -> None:
    with load_target("functions") as target:
        fuzzer = Fuzzer(target, 1, tmp_path)
        fuzzer.replay([Case("functions", (b"no such function", b"data"))] * 2)
    assert list(fuzzer.summary.faults.values()) == [2]
    (stored,) = (tmp_path / "faults").iterdir()
    assert Case.load(stored).parts == (b"no such function", b"data")


def test_every_stored_case_belongs_to_a_target() -> None:
    for path in CORPUS.glob("*.json"):
        case = Case.load(path)
        assert case.target in NAMES
        assert path.name == f"{case.target}-{case.digest}.json"


def test_memory_that_grows_is_measured(tmp_path: Path) -> None:
    kept: list[bytes] = []
    with load_target("functions") as target:
        target.run = lambda case: str(kept.append(bytes(200_000)))  # type: ignore[method-assign]
        summary = Fuzzer(target, 1, tmp_path).run(1.0, print)
    assert summary.growth_mb["fuzzer"] > 30, summary
    assert issubclass(FaultError, AssertionError)
