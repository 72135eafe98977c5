"""All mutants of a package, a fair choice of them, and the verdict on each."""

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
    """What the tests said of a mutant. `killer` is the case or check that failed; "": none did."""

    mutant: Mutant
    killer: str = ""
    is_call: bool = False  # a tool was called, and that showed the fault

    @property
    def outcome(self) -> str:
        """Say "killed", "survived" or "equivalent"."""
        if self.mutant.equivalent:
            return "equivalent"
        return "killed" if self.killer else "survived"


class Bench:
    """Tries mutants of one package, one after the other, in this process.

    Each is import_with afresh from memory; nothing is written. The cases of the tool that has the
    fault are run, or all of them where the fault is the server's, and then the checks of the whole.
    """

    def __init__(self, project: Path) -> None:
        """Read the package.

        Raises:
            NoPackageError: there is none to judge.
        """
        self._files = PackageFiles.read(project)
        self._overlay = Overlay(self._files.name, project)
        self._folder = project / "tests" / "generated"
        self._cases: dict[str, list[Case]] = {}
        for case in Suite(self._files.name, self._folder).cases:
            if not case.untested:
                self._cases.setdefault(case.tool, []).append(case)

    def failure(self) -> str:
        """Give what fails without any fault; "" where all is well."""
        with self._overlay.import_with({}):
            return self._first_failure("")[0]

    def judge(self, mutant: Mutant) -> Verdict:
        """Run what could notice the fault, until something does."""
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
        """Every case, the first of each tool before the second of any."""
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
    """The tests fail without any fault, so that they cannot judge one."""


class Campaign(Struct, frozen=True):
    """The verdicts on the mutants of one package that were tried."""

    possible: int  # mutants that there are, tried or not
    verdicts: tuple[Verdict, ...]

    def those(self, outcome: str) -> list[Verdict]:
        """Give the verdicts with this outcome: "killed", "survived" or "equivalent"."""
        return [verdict for verdict in self.verdicts if verdict.outcome == outcome]

    @property
    def score(self) -> float | None:
        """Killed of those that are not equivalent, 0 to 1; None where there are none."""
        counted = len(self.verdicts) - len(self.those("equivalent"))
        return len(self.those("killed")) / counted if counted else None


def list_mutants(package: PackageFiles) -> list[Mutant]:
    """Give every mutant of a package, in the same order in every run."""
    return [
        *make_handler_mutants(package),
        *make_contract_mutants(package),
        *make_schema_mutants(package),
        *make_server_mutants(package),
    ]


def choose_mutants(mutants: Sequence[Mutant], most: int) -> list[Mutant]:
    """Take `most` mutants, of each operator in turn; within one by a hash, so from all over.

    0 takes all. The choice depends on nothing but the mutants.
    """
    if most == 0 or len(mutants) <= most:
        return list(mutants)
    by_operator: dict[str, list[Mutant]] = {}
    for mutant in sorted(mutants, key=lambda each: hashlib.sha256(each.id.encode()).digest()):
        by_operator.setdefault(mutant.operator, []).append(mutant)
    by_turn = (by_operator[name] for name in OPERATORS if name in by_operator)
    in_turn = [each for row in zip_longest(*by_turn) for each in row if each]
    wanted = {mutant.id for mutant in in_turn[:most]}
    return [mutant for mutant in mutants if mutant.id in wanted]


def run_campaign(
    project: Path, *, most: int, jobs: int, progress: Callable[[str], None]
) -> Campaign:
    """Try mutants of the package in `project`, `jobs` at a time.

    Raises:
        NoPackageError: it holds no package with generated tests.
        UnsoundSuiteError: its tests fail as it is.
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
    logging.disable(logging.CRITICAL)  # a server with a fault has much to say
    _bench.append(Bench(Path(project)))


def _failure() -> str:
    return _bench[0].failure()


def _judge(mutant: Mutant) -> Verdict:
    return _bench[0].judge(mutant)
