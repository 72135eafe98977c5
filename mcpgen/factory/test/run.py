"""Run of a server's own tests by pytest, in one or more child processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from xml.etree import ElementTree

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.contract.extras import MODULE_OF_EXTRA
from mcpgen.factory.junit import Group, join_reports
from mcpgen.factory.packages import find_package
from mcpgen.factory.test.parts import divide_tests
from mcpgen.factory.test.results import SuiteResult, read_report

Selection = Callable[[Iterable[str]], bool]
"""Returns whether a test with these names is selected."""

_TOKEN = re.compile(r"\s*([()]|[\w:+.\[\]\\/-]+)")


class SelectionError(Exception):
    """An invalid expression."""


def parse_selection(expression: str) -> Selection:
    """Parse words, `and`, `or`, `not` and parentheses; a word selects all names that contain it.

    An empty expression selects every test.

    Raises:
        SelectionError: the expression is invalid.
    """
    if not expression.strip():
        return lambda _: True
    selects = _Parser(expression).parse()
    return lambda names: selects([name.lower() for name in names])


class _Parser:
    """A parser with one method for each rule of the grammar."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._at = 0

    def parse(self) -> Selection:
        selects = self._parse_or()
        if self._expression[self._at :].strip():
            raise self._error("`and`, `or` or the end")
        return selects

    def _parse_or(self) -> Selection:
        selects = [self._parse_and()]
        while self._accept("or"):
            selects.append(self._parse_and())
        return lambda names: any(each(names) for each in selects)

    def _parse_and(self) -> Selection:
        selects = [self._parse_term()]
        while self._accept("and"):
            selects.append(self._parse_term())
        return lambda names: all(each(names) for each in selects)

    def _parse_term(self) -> Selection:
        if self._accept("not"):
            other = self._parse_term()
            return lambda names: not other(names)
        if self._accept("("):
            selects = self._parse_or()
            if not self._accept(")"):
                raise self._error("`)`")
            return selects
        word = self._next()
        if word in {"", ")", "and", "or"}:
            raise self._error("a word, `not` or `(`")
        self._accept(word)
        return lambda names: any(word.lower() in name for name in names)

    def _next(self) -> str:
        found = _TOKEN.match(self._expression, self._at)
        return found[1] if found else ""

    def _accept(self, token: str) -> bool:
        found = _TOKEN.match(self._expression, self._at)
        if found is None or found[1] != token:
            return False
        self._at = found.end()
        return True

    def _error(self, expected: str) -> SelectionError:
        rest = self._expression[self._at :].strip()
        found = f"`{rest}`" if rest else "the end"
        return SelectionError(f"`{self._expression}`: expected {expected}, found {found}")


MAX_SECONDS = 3600  # an API of 500 operations takes a minute of CPU, on a busy machine ten
_CHECK_SECONDS = 60
_FIND_MISSING = """
import sys
from importlib.util import find_spec
print(*(name for name in sys.argv[1:] if find_spec(name) is None))
"""
_MISUSED, _NOTHING_SELECTED = 4, 5  # pytest's exit codes


class MissingPackagesError(Exception):
    """Packages that the tests need are not installed in the Python that runs them."""

    def __init__(self, packages: Sequence[str], python: str, help: str) -> None:
        named = " and ".join(packages)
        verb = "is" if len(packages) == 1 else "are"
        super().__init__(f"cannot run the tests: {named} {verb} not installed")
        self.why = f"the tests run with {python}"
        self.help = help


def check_packages(target: Path, *, also_here: bool = False) -> None:
    """Check that the packages that a server's tests import are installed.

    `also_here` includes the Python of mcpgen, in which mutants are tested.

    Raises:
        NoPackageError: there is no server.
        MissingPackagesError: one is not installed.
    """
    needed = {"pytest": "pytest", "mcpgen": "mcpgen"}
    for extra in find_package(target).contract.get("extras", {}):
        needed[MODULE_OF_EXTRA[extra]] = f"mcpgen[{extra}]"
    own = _find_interpreter(target)
    for python in dict.fromkeys((own, sys.executable) if also_here else (own,)):
        missing = [needed[module] for module in _find_missing_modules(python, target, needed)]
        if missing and python == sys.executable:
            raise MissingPackagesError(
                missing,
                "the Python of mcpgen",
                "run `pip install 'mcpgen[cli]'`, which installs what its commands need",
            )
        if missing:
            shown = Path(python).relative_to(target.resolve()).as_posix()
            raise MissingPackagesError(
                missing,
                f"{shown}, the server's own Python",
                f"run `{shown} -m pip install -e '.[test]'` in the server's folder",
            )


def _find_missing_modules(python: str, target: Path, modules: Iterable[str]) -> list[str]:
    done = subprocess.run(  # noqa: S603  (the interpreter, and words of our own)
        [python, "-c", _FIND_MISSING, *modules],
        cwd=target,
        env=find_package(target).environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_CHECK_SECONDS,
        check=False,
    )
    return done.stdout.decode("utf-8", "replace").split()


def run_suite(
    target: Path,
    *,
    select: str = "",
    junit: Path | None = None,
    seconds: float = MAX_SECONDS,
    processes: int = 1,
) -> SuiteResult:
    """Run the tests of the server at `target`, in its own environment if it has one.

    `select` is an expression for pytest's `-k`; `junit` is the file for a JUnit XML report. The
    tests are stopped after `seconds`. Many tests are divided over at most `processes`.

    Raises:
        SelectionError: pytest cannot read `select`.
        OSError: the report cannot be written.
    """
    if junit is not None:
        junit.unlink(missing_ok=True)  # from an earlier run
    parts = [("-k", select)] if select else divide_tests(target, processes)
    with tempfile.TemporaryDirectory() as folder:
        runs = [_Run(Path(folder, str(number)), part) for number, part in enumerate(parts)]
        codes = _run_pytest(target, runs, seconds)
        output = "\n".join(run.read_output() for run in runs)
        if codes is None:
            return SuiteResult(False, f"stopped after {seconds:g} s", output)
        if select and codes == {_MISUSED}:
            raise SelectionError(output.strip().splitlines()[-1])
        groups: list[Group] = []
        for run in runs:
            try:
                groups += read_report(run.report)
            except (FileNotFoundError, ElementTree.ParseError):  # pytest did not finish
                lines = run.read_output().strip().splitlines()
                return SuiteResult(False, lines[-1].strip("= ") if lines else "no tests", output)
        if junit is not None:
            join_reports([run.report for run in runs], junit)
    result = SuiteResult.of(tuple(groups), output)
    if codes == {_NOTHING_SELECTED}:
        return result
    return replace(result, passed=codes <= {0, _NOTHING_SELECTED})


class _Run(Struct, frozen=True):
    """A run of a part of the tests."""

    stem: Path  # of its files: the report, the options, and without a suffix the output
    options: tuple[str, ...]  # of pytest

    @property
    def report(self) -> Path:
        """The JUnit XML report."""
        return self.stem.with_suffix(".xml")

    def start(self, target: Path) -> subprocess.Popen[bytes]:
        """Start pytest."""
        options = self.stem.with_suffix(".txt")  # they can be too many for a command line
        options.write_text("\n".join(self.options), encoding="utf-8")
        with self.stem.open("wb") as output:
            return subprocess.Popen(  # noqa: S603  (the interpreter, and words of our own)
                [
                    *(_find_interpreter(target), "-m", "pytest", "-q", "--no-header"),
                    *("-p", "no:cacheprovider", f"--junitxml={self.report}", f"@{options}"),
                ],
                cwd=target,
                env=find_package(target).environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def read_output(self) -> str:
        """Return what pytest has printed."""
        return self.stem.read_text("utf-8", errors="replace")


def _run_pytest(target: Path, runs: Sequence[_Run], seconds: float) -> set[int] | None:
    """Run all parts at the same time; return their exit codes, or None if the time ran out."""
    ends = monotonic() + seconds
    with ExitStack() as stack:
        started: list[subprocess.Popen[bytes]] = []
        for run in runs:
            started.append(stack.enter_context(run.start(target)))
            stack.callback(started[-1].kill)  # nothing if it has ended
        try:
            return {process.wait(max(ends - monotonic(), 0)) for process in started}
        except subprocess.TimeoutExpired:
            return None


def _find_interpreter(target: Path) -> str:
    folder, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    own = target.resolve() / ".venv" / folder / name
    return str(own) if own.is_file() else sys.executable
