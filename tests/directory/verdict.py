"""Verdict on one document of the directory: generate, install, start and test its server."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hatchling.build import build_wheel

from mcpgen.diagnostics import Severity
from mcpgen.factory.test.run import run_suite
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options, Report
from tests.corpus.profile import departures
from tests.directory.source import (
    DirectoryDocument,
    count_operations,
    read_document,
)

START_SECONDS = 120
SUITE_SECONDS = 7200
CPU_SECONDS = 900  # of each process; does not depend on what else the machine does
SHOWN = 5
_WARM_UP = b"""\
openapi: 3.0.0
info: {title: Warm up, version: "1"}
servers: [{url: https://warm.example}]
paths: {/: {get: {operationId: getRoot, responses: {"200": {description: Warm.}}}}}
"""
_HANDSHAKE = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "directory", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


@dataclass(slots=True)
class Verdict:
    """The verdict on a document.

    `cpu` has the seconds of each step, of this process and of its children. "import" is the time of
    the modules of `new`, which are imported once for all documents. `megabytes` has the highest
    memory of a process up to the end of a step.
    """

    outcome: str = "served"  # "served", "refused", "absent", "timeout", "crashed" or "raised"
    operations: int = 0  # in the document
    served: int = 0
    skipped: dict[str, int] = field(default_factory=dict)  # by the rule that skipped them
    reasons: list[str] = field(default_factory=list)  # of a refusal
    passed: int = 0  # generated tests
    failed: int = 0
    untested: int = 0
    faults: list[str] = field(default_factory=list)
    cpu: dict[str, float] = field(default_factory=dict)
    megabytes: dict[str, float] = field(default_factory=dict)
    listed: int = 0  # tools that the started server lists


@dataclass(frozen=True, slots=True)
class Directory:
    """A commit of a copy of the directory."""

    repository: Path
    commit: str
    import_seconds: float = 0.0  # CPU; see `warm_up`


def warm_up() -> float:
    """Import the modules of `new`, so that forks need not; return the CPU seconds.

    What the tests import is imported as well, and counts as memory of the generation.
    """
    seconds = []
    with tempfile.TemporaryDirectory() as own:
        source = Path(own, "openapi.yaml")
        source.write_bytes(_WARM_UP)
        for name in ("first", "second"):  # only the first imports
            before = _measure_cpu()
            import copier  # noqa: F401  (`new` imports it in a fork)

            options = Options(cache=Path(own, name, "cache"))
            new(str(source), Path(own, name, "server"), options, lambda _: None)
            seconds.append(_measure_cpu() - before)
    import tests.directory.suite  # noqa: F401  (imported once for all forks)

    gc.freeze()
    return round(seconds[0] - seconds[1], 3)


def examine(work: tuple[Directory, DirectoryDocument]) -> Verdict:
    """Generate a server of a document, install it, list its tools, and run its tests."""
    directory, document = work
    if not document.size:
        return Verdict("absent")
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    text = read_document(directory.repository, directory.commit, document)
    verdict = Verdict(operations=count_operations(text), cpu={"import": directory.import_seconds})
    with tempfile.TemporaryDirectory() as own:
        folder = Path(own)
        source = folder / Path(document.path).name
        source.write_bytes(text)
        del text
        with _measured("generate", verdict):
            report = _generate(source, folder / "server", verdict)
        if report.outcome != "done" or report.plan is None:
            return verdict
        package = str(report.plan.package)
        with _measured("check", verdict):
            _check_plan(report, verdict)
            _check_listing(folder / "server" / "src" / package / "_generated", verdict)
        with _measured("install", verdict):
            installed = _install(folder / "server", folder / "installed")
        with _measured("start", verdict):
            _start(installed, package, verdict)
        with _measured("test", verdict):
            _test(folder / "server", verdict)
    return verdict


@contextlib.contextmanager
def _measured(step: str, verdict: Verdict) -> Iterator[None]:
    before = _measure_cpu()
    yield
    verdict.cpu[step] = round(_measure_cpu() - before, 3)
    used = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    verdict.megabytes[step] = round(max(resource.getrusage(who).ru_maxrss for who in used) / 1024)


def _measure_cpu() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _generate(source: Path, target: Path, verdict: Verdict) -> Report:
    report = new(str(source), target, Options(cache=target.parent / "cache"), lambda _: None)
    if report.outcome != "done":
        errors = [each for each in report.problems if each.severity is Severity.ERROR]
        verdict.outcome = "refused"
        verdict.reasons = [f"{each.code}: {each.message}" for each in errors]
        if report.outcome != "rejected" or not any(each.at for each in errors):
            verdict.faults.append(f"`new` ended with {report.outcome}, and names no place")
    return report


def _check_plan(report: Report, verdict: Verdict) -> None:
    """Check that every operation is a tool, or is skipped with a located diagnostic."""
    assert report.plan is not None
    served = {tool.operation.key for tool in report.plan.tools}
    skipped = {item.operation: item.code for item in report.plan.skipped}
    verdict.served, verdict.skipped = len(served), dict(Counter(skipped.values()))
    if len(served | skipped.keys()) < verdict.operations:
        verdict.faults.append(
            f"of {verdict.operations} operations, {len(served)} are served and {len(skipped)}"
            " are skipped"
        )
    placed = {problem.code for problem in report.problems if problem.at is not None}
    for operation, code in skipped.items():
        if code not in placed:
            verdict.faults.append(f"`{operation}` is skipped without a place")


def _check_listing(generated: Path, verdict: Verdict) -> None:
    for tool in json.loads((generated / "listing.json").read_bytes()):
        verdict.faults += [f"`{tool['name']}`: {text}" for text in departures(tool)]


def _install(project: Path, target: Path) -> Path:
    """Build the wheel of a project and unpack it, as an installer does; return the folder."""
    with contextlib.chdir(project), contextlib.redirect_stdout(io.StringIO()):
        name = build_wheel(str(target))
    with zipfile.ZipFile(target / name) as wheel:
        wheel.extractall(target)
    return target


def _start(installed: Path, package: str, verdict: Verdict) -> None:
    """Start the installed package as a client would, and list its tools."""
    done = subprocess.run(
        [sys.executable, "-m", package],
        input="".join(json.dumps(message) + "\n" for message in _HANDSHAKE),
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *sys.path])},
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    tools = next((each["result"]["tools"] for each in answers if each.get("id") == 2), [])
    verdict.listed = len(tools)
    if not tools:
        verdict.faults.append(f"lists no tools: {done.stderr[-300:]}")


def _test(project: Path, verdict: Verdict) -> None:
    """Run the generated tests of a project; if one fails, run all of them with `mcpgen test`."""
    from tests.directory.suite import run_generated_tests

    counts = run_generated_tests(project)
    if counts is not None:
        verdict.passed, verdict.untested = counts
        return
    suite = run_suite(project, seconds=SUITE_SECONDS)
    for group in suite.groups:
        verdict.passed += len(group.passed)
        verdict.failed += len(group.failed)
        verdict.untested += len(group.untested)
        verdict.faults += [
            f"{group.name}: {test}: {reason[:300]}" for test, reason in group.failed[:SHOWN]
        ]
    if not suite.passed and not verdict.failed:
        verdict.failed = 1
        verdict.faults.append(f"the tests ended with {suite.summary}: {suite.output[-300:]}")
