"""A server's own tests, run as its owner would: by pytest, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec.structs import replace

from mcpgen.factory.testing.junit import read_report
from mcpgen.factory.testing.results import SuiteResult
from mcpgen.factory.testing.selection import SelectionError

MOST_SECONDS = 600
_MISUSED, _NOTHING_SELECTED = 4, 5  # pytest's exit codes


def run_suite(target: Path, *, select: str = "", junit: Path | None = None) -> SuiteResult:
    """Run the tests of the server at `target`, in its own environment if it has one.

    `select` is an expression of pytest's `-k`; `junit` gets a report in JUnit's XML.

    Raises:
        SelectionError: pytest cannot read `select`.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = junit.resolve() if junit else Path(folder, "junit.xml")
        report.unlink(missing_ok=True)  # an older one says nothing of this run
        chosen = ["-k", select] if select else []
        try:
            done = subprocess.run(  # noqa: S603  (the interpreter, and words of our own)
                [
                    *(_interpreter(target), "-m", "pytest", "-q", "--no-header"),
                    *("-p", "no:cacheprovider", f"--junitxml={report}", *chosen),
                ],
                cwd=target,
                env=_environment(target),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=MOST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode("utf-8", "replace")
            return SuiteResult(False, f"not done after {MOST_SECONDS} s", said)
        output = done.stdout.decode("utf-8", "replace")
        if select and done.returncode == _MISUSED:
            raise SelectionError(output.strip().splitlines()[-1])
        if not report.is_file():
            lines = output.strip().splitlines()
            return SuiteResult(False, lines[-1].strip("= ") if lines else "no tests", output)
        groups = read_report(report)
    if done.returncode == _NOTHING_SELECTED:
        return SuiteResult.of((), output)
    return replace(SuiteResult.of(groups, output), passed=done.returncode == 0)


def _environment(target: Path) -> dict[str, str]:
    source, path = str(target.resolve() / "src"), os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([source, path]) if path else source}


def _interpreter(target: Path) -> str:
    folder, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    own = target.resolve() / ".venv" / folder / name
    return str(own) if own.is_file() else sys.executable
