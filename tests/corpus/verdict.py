"""Outcome of one document: generate its server in process, and check it as a client and its API."""

from __future__ import annotations

import compileall
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from mcpgen.diagnostics import Diagnostic, Severity
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options, Report
from mcpgen.testing.suite.generated import Suite
from tests.corpus.profile import departures
from tests.support.corpus import CorpusDocument

SHOWN_FAULTS = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a document, and all faults that were found."""

    outcome: str  # "served", "refused", or the kind of a failure
    tools: int = 0
    left_out: int = 0
    calls: int = 0
    uncalled: int = 0  # tools without a call that reaches the API: no sample arguments
    reasons: tuple[str, ...] = ()  # why it was refused
    warnings: int = 0  # that name a place
    left: tuple[str, ...] = ()  # why operations were skipped
    faults: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(slots=True)
class _Findings:
    calls: int = 0
    uncalled: int = 0
    faults: list[str] = field(default_factory=list)


def judge(document: CorpusDocument, *, models: bool = True) -> Verdict:
    """Generate a server of a document and check all of it."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "server"
        options = Options(models=models, cache=Path(folder) / "cache")
        report = new(str(document.path), target, options, lambda _: None)
        if report.outcome != "done" or report.plan is None:
            return _refused(report, started)
        found = _Findings()
        _check_operations(document, report, found)
        _check_package(target, str(report.plan.package), found)
        return Verdict(
            "served",
            tools=len(report.plan.tools),
            left_out=len(report.plan.skipped),
            calls=found.calls,
            uncalled=found.uncalled,
            warnings=sum(
                problem.at is not None and problem.severity is Severity.WARNING
                for problem in report.problems
            ),
            left=tuple(f"{item.code}: {item.reason}" for item in report.plan.skipped),
            faults=tuple(found.faults),
            seconds=time.monotonic() - started,
        )


def _refused(report: Report, started: float) -> Verdict:
    """Return the verdict on a refusal, with a fault if it has the wrong outcome or no location."""
    reasons = [problem for problem in report.problems if problem.severity is Severity.ERROR]
    faults = []
    if report.outcome != "rejected":
        faults.append(f"ended with {report.outcome} instead of rejected")
    located = [problem for problem in report.problems if problem.at is not None]
    if not located:
        faults.append("was refused without a place in the document")
    return Verdict(
        "refused",
        reasons=tuple(map(_told, reasons)),
        faults=tuple(faults),
        seconds=time.monotonic() - started,
    )


def _told(problem: Diagnostic) -> str:
    return f"{problem.code}: {problem.message}"


def _check_operations(document: CorpusDocument, report: Report, found: _Findings) -> None:
    """Check that every operation is a tool, or was skipped with a diagnostic."""
    assert report.plan is not None
    served = {tool.operation.key for tool in report.plan.tools}
    left = {item.operation: item for item in report.plan.skipped}
    if both := sorted(served & left.keys()):
        found.faults.append(f"served and left out: {both[:SHOWN_FAULTS]}")
    if len(served) + len(left) < document.operations:
        found.faults.append(
            f"of {document.operations} operations {len(served)} are served and {len(left)} left out"
        )
    told = {problem.code for problem in report.problems if problem.at is not None}
    found.faults += [
        f"`{item.operation}` was left out without a diagnostic"
        for item in left.values()
        if item.code not in told
    ]


def _check_package(target: Path, package: str, found: _Findings) -> None:
    """Check that the package compiles, imports, lists portable tools, and makes correct calls."""
    if not compileall.compile_dir(target / "src", quiet=2):
        found.faults.append("its Python does not compile")
        return
    sys.path.insert(0, str(target / "src"))
    for path in sorted((target / "src").rglob("*.py")):
        module = ".".join(path.relative_to(target / "src").with_suffix("").parts)
        if not module.endswith("__main__"):
            import_module(module.removesuffix(".__init__"))
    listing = target / "src" / package / "_generated" / "listing.json"
    for tool in json.loads(listing.read_bytes()):
        found.faults += [f"`{tool['name']}`: {text}" for text in departures(tool)]
    suite = Suite(package, target / "tests" / "generated")
    found.faults += _failures(suite)
    found.calls = sum(not (case.untested or case.expect["is_error"]) for case in suite.cases)
    reached = {case.tool for case in suite.cases if not case.untested and case.expect["request"]}
    unreached = {case.tool: case.untested for case in suite.cases if case.untested}
    found.uncalled = len(unreached.keys() - reached)


def _failures(suite: Suite) -> Iterator[str]:
    """Yield the failures of the generated tests."""
    for check in (
        suite.check_tool_list,
        suite.check_operations,
        suite.check_docstrings,
        suite.check_cases,
    ):
        try:
            check()
        except AssertionError as error:
            yield str(error)
    for case in suite.cases:
        # Handling of errors does not depend on the document, and is tested elsewhere.
        if not case.untested and not case.expect["is_error"]:
            try:
                suite.run(case)
            except AssertionError as error:
                yield re.sub(r"\s+", " ", str(error))
