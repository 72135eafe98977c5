"""Tests of the end of a process that ran the command line."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(script: str) -> subprocess.CompletedProcess[str]:
    start = "import atexit, sys\nfrom mcpgen import __main__\n"
    command = [sys.executable, "-c", start + script]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("code", [0, 3])
def test_the_process_ends_with_the_exit_code_after_all_handlers_and_output(code: int) -> None:
    done = run(f"""
def main():
    atexit.register(lambda: print("cleaned up"))
    sys.stdout.write("x" * 100_000 + "\\n")
    return {code}
class Freed:
    def __del__(self): print("freed")
kept = Freed()
__main__.main = main
__main__.run_process()
""")
    assert done.returncode == code
    assert done.stdout.endswith("x\ncleaned up\n")  # and no object was freed
    assert len(done.stdout) > 100_000
    assert done.stderr == ""


def test_the_end_after_an_exception_is_that_of_python() -> None:
    done = run("def main(): raise KeyError('a bug')\n__main__.main = main\n__main__.run_process()")
    assert done.returncode == 1
    assert done.stderr.endswith("KeyError: 'a bug'\n")


def test_a_caller_of_main_ends_as_it_wants() -> None:
    done = run("sys.argv[1:] = ['--version']\n__main__.main()\nsys.exit(7)")
    assert done.returncode == 7
