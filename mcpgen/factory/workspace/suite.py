"""A server's own tests, run as its owner would: by pytest, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MOST_SECONDS = 600


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """How a run of a server's tests ended."""

    passed: bool
    summary: str  # pytest's last line: "12 passed in 0.41s"
    output: str


def run_suite(target: Path) -> SuiteResult:
    """Run the tests of the server at `target`, in its own environment if it has one."""
    source = str(target / "src")
    path = os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([source, path]) if path else source,
    }
    try:
        done = subprocess.run(  # noqa: S603  (the interpreter, and words of our own)
            [_interpreter(target), "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"],
            cwd=target,
            env=environment,
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
    lines = output.strip().splitlines()
    return SuiteResult(done.returncode == 0, lines[-1].strip("= ") if lines else "", output)


def _interpreter(target: Path) -> str:
    folder, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    own = target / ".venv" / folder / name
    return str(own) if own.is_file() else sys.executable
