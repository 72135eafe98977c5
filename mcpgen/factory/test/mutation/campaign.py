"""Mutation campaigns: the mutants of a package, a balanced selection of them, and verdicts."""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Final

from msgspec import Struct

from mcpgen.factory.test.mutation.contracts import OPERATORS as CONTRACT_OPERATORS
from mcpgen.factory.test.mutation.contracts import (
    SCHEMA_OPERATORS,
    SERVER_OPERATORS,
    make_contract_mutants,
    make_schema_mutants,
    make_server_mutants,
)
from mcpgen.factory.test.mutation.handlers import OPERATORS as HANDLER_OPERATORS
from mcpgen.factory.test.mutation.handlers import make_handler_mutants
from mcpgen.factory.test.mutation.mutants import Mutant, PackageFiles
from mcpgen.factory.test.overlay import Overlay
from mcpgen.testing.suite.cases import Case
from mcpgen.testing.suite.generated import Suite

# These run in-process: a started process would read the unchanged files from the disk.
_OF_THE_WHOLE: Final = (
    "check_tool_list",
    "check_operations",
    "check_docstrings",
    "check_snapshot",
    "check_annotations",
)


class Verdict(Struct, frozen=True):
    """Result of testing a mutant. `killer` is the case or check that failed, "" if none did."""

    mutant: Mutant
    killer: str = ""
    is_call: bool = False  # a test case that calls tools found the fault

    @property
    def outcome(self) -> str:
        """The outcome: "killed", "survived" or "equivalent"."""
        if self.mutant.equivalent:
            return "equivalent"
        return "killed" if self.killer else "survived"


class Bench:
    """Tests mutants of one package, one after the other, in this process.

    Each mutant is imported anew from memory; nothing is written. The cases of the mutant's tool are
    run, or all cases for a fault of the server, and then the checks of the whole package.
    """

    def __init__(self, project: Path) -> None:
        """Read the package.

        Raises:
            NoPackageError: there is none to test.
        """
        self._files = PackageFiles.read(project)
        self._overlay = Overlay(self._files.name, project)
        self._folder = project / "tests" / "generated"
        self._cases: dict[str, list[Case]] = {}
        for case in Suite(self._files.name, self._folder).cases:
            if not case.untested:
                self._cases.setdefault(case.tool, []).append(case)

    def failure(self) -> str:
        """Return the first case or check that fails without a fault; "" if all pass."""
        with self._overlay.import_with({}):
            return self._first_failure("")[0]

    def judge(self, mutant: Mutant) -> Verdict:
        """Run the cases and checks that could detect the fault, until one fails."""
        if mutant.equivalent:
            return Verdict(mutant)
        with self._overlay.import_with(mutant.files(self._files.originals)):
            killer, is_call = self._first_failure(mutant.tool)
        return Verdict(mutant, killer, is_call)

    def _first_failure(self, tool: str) -> tuple[str, bool]:
        suite = Suite(self._files.name, self._folder)
        for case in self._cases.get(tool, ()) if tool else self._all_cases():
            if _fails(lambda case=case: suite.run(case)):  # type: ignore[misc]
                return case.id, True
        for name in _OF_THE_WHOLE:
            if _fails(getattr(suite, name)):
                return name, False
        return "", False

    def _all_cases(self) -> Iterator[Case]:
        """Yield all cases: first the first one of each tool, then the second ones, and so on."""
        for row in zip_longest(*self._cases.values()):
            yield from filter(None, row)


def _fails(test: Callable[[], object]) -> bool:
    try:
        test()
    except Exception:  # noqa: BLE001  (as in pytest: whatever a test raises, it has failed)
        return True
    return False


OPERATORS: Final = (*HANDLER_OPERATORS, *CONTRACT_OPERATORS, *SCHEMA_OPERATORS, *SERVER_OPERATORS)


class UnsoundSuiteError(Exception):
    """The tests fail without any fault, so that they cannot detect one."""


class Campaign(Struct, frozen=True):
    """The verdicts on the mutants of one package that were tried."""

    possible: int  # number of mutants, tested or not
    verdicts: tuple[Verdict, ...]

    def those(self, outcome: str) -> list[Verdict]:
        """Return the verdicts with this outcome: "killed", "survived" or "equivalent"."""
        return [verdict for verdict in self.verdicts if verdict.outcome == outcome]

    @property
    def score(self) -> float | None:
        """Share of killed mutants, 0 to 1, among those not equivalent; None if there are none."""
        counted = len(self.verdicts) - len(self.those("equivalent"))
        return len(self.those("killed")) / counted if counted else None


def list_mutants(package: PackageFiles) -> list[Mutant]:
    """Return all mutants of a package, in the same order in every run."""
    return [
        *make_handler_mutants(package),
        *make_contract_mutants(package),
        *make_schema_mutants(package),
        *make_server_mutants(package),
    ]


def choose_mutants(mutants: Sequence[Mutant], most: int) -> list[Mutant]:
    """Select up to `most` mutants, of each operator in turn; of one operator, ordered by a hash.

    With 0, all are selected. The selection depends only on the mutants.
    """
    if most == 0 or len(mutants) <= most:
        return list(mutants)
    by_operator: dict[str, list[Mutant]] = {}
    for mutant in sorted(mutants, key=lambda each: hashlib.sha256(each.id.encode()).digest()):
        by_operator.setdefault(mutant.operator, []).append(mutant)
    by_turn = (by_operator[name] for name in OPERATORS if name in by_operator)
    in_turn = [each for row in zip_longest(*by_turn) for each in row if each]
    chosen = {mutant.id for mutant in in_turn[:most]}
    return [mutant for mutant in mutants if mutant.id in chosen]


def run_campaign(
    project: Path, *, most: int, jobs: int, progress: Callable[[str], None]
) -> Campaign:
    """Test mutants of the package in `project`, `jobs` at a time.

    Raises:
        NoPackageError: it contains no package with generated tests.
        UnsoundSuiteError: its tests fail without a fault.
    """
    project = project.resolve()
    mutants = list_mutants(PackageFiles.read(project))
    tried = choose_mutants(mutants, most)
    verdicts: list[Verdict] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _begin, (str(project),)) as pool:
        if failure := pool.submit(_failure).result():
            raise UnsoundSuiteError(failure)
        for verdict in pool.map(_judge, tried):
            verdicts.append(verdict)
            progress(f"{len(verdicts)} of {len(tried)} mutants")
    return Campaign(len(mutants), tuple(verdicts))


_bench: list[Bench] = []  # of a worker process, which has one package


def _begin(project: str) -> None:
    logging.disable(logging.CRITICAL)  # a server with a fault logs much
    _bench.append(Bench(Path(project)))


def _failure() -> str:
    return _bench[0].failure()


def _judge(mutant: Mutant) -> Verdict:
    return _bench[0].judge(mutant)
