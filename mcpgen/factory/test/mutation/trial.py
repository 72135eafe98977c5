"""Putting one mutant before the tests that could notice it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from mcpgen.factory.test.mutation.mutants import Mutant
from mcpgen.factory.test.mutation.package import PackageFiles
from mcpgen.factory.test.overlay import Overlay
from mcpgen.testing.suite.cases import Case
from mcpgen.testing.suite.generated import Suite

# Checks that start processes see the disk, where no mutant is.
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
            check = getattr(suite, name, None)
            if check is not None and _fails(check):
                return name, False
        return "", False

    def _all_cases(self) -> Iterator[Case]:
        """Every case, the first of each tool before the second of any."""
        longest = max(map(len, self._cases.values()), default=0)
        for number in range(longest):
            for cases in self._cases.values():
                yield from cases[number : number + 1]


def _fails(test: Callable[[], object]) -> bool:
    try:
        test()
    except Exception:  # noqa: BLE001  (as in pytest: whatever a test raises, it has failed)
        return True
    return False
