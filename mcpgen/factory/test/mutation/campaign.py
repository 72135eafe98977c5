"""All mutants of a package, a fair choice of them, and the verdict on each."""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from mcpgen.factory.test.mutation.contracts import OPERATORS as CONTRACT_OPERATORS
from mcpgen.factory.test.mutation.contracts import make_contract_mutants
from mcpgen.factory.test.mutation.handlers import OPERATORS as HANDLER_OPERATORS
from mcpgen.factory.test.mutation.handlers import make_handler_mutants
from mcpgen.factory.test.mutation.mutants import Mutant
from mcpgen.factory.test.mutation.package import PackageFiles
from mcpgen.factory.test.mutation.schemas import OPERATORS as SCHEMA_OPERATORS
from mcpgen.factory.test.mutation.schemas import make_schema_mutants
from mcpgen.factory.test.mutation.server import OPERATORS as SERVER_OPERATORS
from mcpgen.factory.test.mutation.server import make_server_mutants
from mcpgen.factory.test.mutation.trial import Bench, Verdict

OPERATORS: Final = {
    **{name: (does, "handlers") for name, (does, _) in HANDLER_OPERATORS.items()},
    **{name: (does, "contracts") for name, (does, _) in CONTRACT_OPERATORS.items()},
    **{name: (does, "argument schemas") for name, does in SCHEMA_OPERATORS.items()},
    **{name: (does, "server contract") for name, does in SERVER_OPERATORS.items()},
}
"""What each operator does, and where, by its id."""


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
    in_turn = [each for row in zip_longest(*_order_operators(by_operator)) for each in row if each]
    wanted = {mutant.id for mutant in in_turn[:most]}
    return [mutant for mutant in mutants if mutant.id in wanted]


def _order_operators(by_operator: dict[str, list[Mutant]]) -> Iterator[list[Mutant]]:
    return (by_operator[operator] for operator in OPERATORS if operator in by_operator)


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


_bench: list[Any] = []  # of a worker process, which has one package


def _begin(project: str) -> None:
    logging.disable(logging.CRITICAL)  # a server with a fault has much to say
    _bench.append(Bench(Path(project)))


def _failure() -> str:
    bench: Bench = _bench[0]
    return bench.failure()


def _judge(mutant: Mutant) -> Verdict:
    bench: Bench = _bench[0]
    return bench.judge(mutant)
