"""Tests of work in a forked child: the result is the same, whatever happens to the child."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcpgen.forked import Forked, ForkedAhead

needs_fork = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="nothing forks here"
)


def told_by(script: str) -> str:
    """Run a script in a separate process with a single thread, and return its output."""
    start = "import os, signal, threading\nfrom mcpgen.forked import Forked, ForkedAhead\n"
    start += "here = os.getpid()\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", start + script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return (done.stdout + done.stderr).strip()


@needs_fork
def test_work_runs_in_a_child_process() -> None:
    assert told_by("with Forked(os.getpid) as work: print(work.result() != here)") == "True"


@needs_fork
def test_a_child_has_children_of_its_own() -> None:
    script = """
def work():
    with Forked(os.getpid) as inner:
        return os.getpid(), inner.result()
with Forked(work) as outer: child, grandchild = outer.result()
print(len({here, child, grandchild}))
"""
    assert told_by(script) == "3"


@needs_fork
def test_a_child_that_is_stopped_stops_its_own_children() -> None:
    script = """
import time
reading, writing = os.pipe()
def wait():
    while True: time.sleep(0.01)  # a signal just before a long one would not end it
def work():
    with Forked(wait) as inner:
        os.write(writing, b"%d" % inner._pid)
        wait()
with Forked(work, inherited=writing) as outer:
    pid = int(os.read(reading, 20))
print(os.path.exists(f"/proc/{pid}"))
"""
    assert told_by(script) == "False"


def test_inexpensive_work_runs_in_the_parent() -> None:
    with Forked(os.getpid, is_worth_it=False) as work:
        assert work.result() == os.getpid()


def test_work_runs_in_the_parent_if_other_threads_exist() -> None:
    script = """
waiting = threading.Event()
threading.Thread(target=waiting.wait).start()
with Forked(os.getpid) as work: print(work.result() == here)
waiting.set()
"""
    assert told_by(script) == "True"


@needs_fork
def test_the_animation_of_a_terminal_does_not_prevent_forks() -> None:
    script = """
import io
from mcpgen.cli.output.report import Printer
class Terminal(io.StringIO):
    def isatty(self): return True
os.environ["TERM"] = "xterm"
with Printer(stderr=Terminal()).progress() as progress:
    progress("plan")
    print(threading.active_count())
    with Forked(os.getpid) as work: print(work.result() != here)
    print(threading.active_count())
"""
    assert told_by(script) == "2\nTrue\n2"


@needs_fork
def test_a_child_is_stopped_at_the_end_of_the_process() -> None:
    script = """
work = Forked(signal.pause)
import atexit
def find_child():
    try: os.waitpid(-1, os.WNOHANG)
    except ChildProcessError: print("none is left")
atexit._run_exitfuncs()
find_child()
"""
    assert told_by(script) == "none is left"


def test_work_is_repeated_in_the_parent_if_the_child_dies() -> None:
    script = """
def work():
    if os.getpid() != here: os._exit(3)
    return "done"
with Forked(work) as forked: print(forked.result())
"""
    assert told_by(script) == "done"


def test_an_exception_of_the_child_is_raised_once_in_the_parent() -> None:
    script = """
def work(): raise LookupError("no such thing")
with Forked(work) as forked:
    try: forked.result()
    except LookupError as error: print(error)
"""
    assert told_by(script) == "no such thing"


def test_a_result_that_cannot_be_pickled_is_computed_in_the_parent() -> None:
    script = "with Forked(lambda: print) as work: work.result()('made')"
    assert told_by(script) == "made"


@needs_fork
def test_a_child_whose_result_is_not_used_is_stopped() -> None:
    script = """
try:
    with Forked(signal.pause): raise KeyError("first")
except KeyError as error: print(error)
try: os.waitpid(-1, os.WNOHANG)
except ChildProcessError: print("none is left")
"""
    assert told_by(script) == "'first'\nnone is left"


@needs_fork
def test_a_stopped_child_removes_its_temporary_folder(tmp_path: Path) -> None:
    script = f"""
import glob, tempfile
def work():
    with tempfile.TemporaryDirectory(dir={str(tmp_path)!r}) as folder:
        os.mkdir(folder + "/in use")
        signal.pause()
with Forked(work):
    while not glob.glob({str(tmp_path)!r} + "/*/in use"): pass
print(os.listdir({str(tmp_path)!r}))
"""
    assert told_by(script) == "[]"


@needs_fork
def test_the_child_closes_inherited_file_descriptors() -> None:
    script = """
reading, writing = os.pipe()
def is_open():
    try: return bool(os.fstat(writing))
    except OSError: return False
with Forked(is_open) as work: print(work.result())
"""
    assert told_by(script) == "False"


@needs_fork
def test_forked_ahead_prepares_before_its_work_is_assigned() -> None:
    script = """
got_ready = []
def ready(): got_ready.append(True)
def work(): return bool(got_ready) and os.getpid() != here
with ForkedAhead(ready) as ahead:
    ahead.begin(work)
    print(ahead.result(), got_ready)
"""
    assert told_by(script) == "True []"


def test_forked_ahead_without_a_child_prepares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpgen.forked._may_fork", lambda: False)
    with ForkedAhead[int](lambda: pytest.fail("not needed here")) as ahead:
        ahead.begin(os.getpid)
        assert ahead.result() == os.getpid()


@needs_fork
def test_work_runs_in_the_parent_if_the_child_dies_before_assignment() -> None:
    script = """
def ready(): os._exit(3)
with ForkedAhead(ready) as ahead:
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    ahead.begin(os.getpid)
    print(ahead.result() == here)
"""
    assert told_by(script) == "True"


@needs_fork
def test_a_child_without_assigned_work_is_stopped() -> None:
    script = """
with ForkedAhead(int): pass
try: os.waitpid(-1, os.WNOHANG)
except ChildProcessError: print("none is left")
"""
    assert told_by(script) == "none is left"


@needs_fork
def test_a_child_that_missed_its_signal_ends_without_assigned_work() -> None:
    script = """
def ready():
    try:
        os.kill(here, signal.SIGUSR1)
        signal.pause()
    except KeyboardInterrupt:
        pass  # as Python does in the callback of a weak reference
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
with ForkedAhead(ready): signal.sigwait({signal.SIGUSR1})
print("ended")
"""
    assert told_by(script) == "ended"


@needs_fork
def test_a_child_exits_when_its_parent_exits() -> None:
    script = """
if os.fork() == 0:
    ForkedAhead(int)
    os._exit(0)
os.wait()
"""
    assert told_by(script) == ""  # which waits until nobody holds its output open
