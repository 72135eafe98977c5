"""Work that a forked child does: the result is the same, whatever becomes of the child."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcpgen.pipeline.forked import Forked, ForkedAhead

needs_fork = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="nothing forks here"
)


def told_by(script: str) -> str:
    """Run a script in a process of its own, which has one thread only, and give what it prints."""
    start = "import os, signal, threading\nfrom mcpgen.pipeline.forked import Forked, ForkedAhead\n"
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
def test_the_work_is_done_by_another_process() -> None:
    assert told_by("with Forked(os.getpid) as work: print(work.result() != here)") == "True"


def test_what_is_not_worth_a_process_is_done_here() -> None:
    with Forked(os.getpid, is_worth_it=False) as work:
        assert work.result() == os.getpid()


def test_nothing_forks_beside_another_thread() -> None:
    script = """
waiting = threading.Event()
threading.Thread(target=waiting.wait).start()
with Forked(os.getpid) as work: print(work.result() == here)
waiting.set()
"""
    assert told_by(script) == "True"


def test_what_the_child_fails_at_is_done_here() -> None:
    script = """
def work():
    if os.getpid() != here: os._exit(3)
    return "done"
with Forked(work) as forked: print(forked.result())
"""
    assert told_by(script) == "done"


def test_what_the_work_raises_is_raised_here_and_told_once() -> None:
    script = """
def work(): raise LookupError("no such thing")
with Forked(work) as forked:
    try: forked.result()
    except LookupError as error: print(error)
"""
    assert told_by(script) == "no such thing"


def test_what_cannot_be_sent_is_made_here() -> None:
    script = "with Forked(lambda: print) as work: work.result()('made')"
    assert told_by(script) == "made"


@needs_fork
def test_a_child_that_nobody_waits_for_is_ended() -> None:
    script = """
try:
    with Forked(signal.pause): raise KeyError("first")
except KeyError as error: print(error)
try: os.waitpid(-1, os.WNOHANG)
except ChildProcessError: print("none is left")
"""
    assert told_by(script) == "'first'\nnone is left"


@needs_fork
def test_a_child_that_is_ended_takes_its_temporary_folder_along(tmp_path: Path) -> None:
    script = f"""
import glob, tempfile
def work():
    with tempfile.TemporaryDirectory(dir={str(tmp_path)!r}) as folder:
        open(folder + "/in use", "w").close()
        signal.pause()
with Forked(work):
    while not glob.glob({str(tmp_path)!r} + "/*/in use"): pass
print(os.listdir({str(tmp_path)!r}))
"""
    assert told_by(script) == "[]"


@needs_fork
def test_the_child_holds_no_file_of_its_parent_open() -> None:
    script = """
reading, writing = os.pipe()
def is_open():
    try: return bool(os.fstat(writing))
    except OSError: return False
with Forked(is_open) as work: print(work.result())
"""
    assert told_by(script) == "False"


@needs_fork
def test_who_is_forked_ahead_gets_ready_and_does_the_work_that_is_named_later() -> None:
    script = """
got_ready = []
def ready(): got_ready.append(True)
def work(): return bool(got_ready) and os.getpid() != here
with ForkedAhead(ready) as ahead:
    ahead.begin(work)
    print(ahead.result(), got_ready)
"""
    assert told_by(script) == "True []"


def test_who_is_not_forked_ahead_gets_nothing_ready() -> None:
    with ForkedAhead[int](lambda: pytest.fail("not needed here"), is_worth_it=False) as ahead:
        ahead.begin(os.getpid)
        assert ahead.result() == os.getpid()


@needs_fork
def test_a_child_that_ends_before_it_is_told_its_work_loses_nothing() -> None:
    script = """
def ready(): os._exit(3)
with ForkedAhead(ready) as ahead:
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    ahead.begin(os.getpid)
    print(ahead.result() == here)
"""
    assert told_by(script) == "True"


@needs_fork
def test_a_child_that_is_never_told_its_work_is_ended() -> None:
    script = """
with ForkedAhead(int): pass
try: os.waitpid(-1, os.WNOHANG)
except ChildProcessError: print("none is left")
"""
    assert told_by(script) == "none is left"


@needs_fork
def test_a_child_that_outlives_its_parent_ends_by_itself() -> None:
    script = """
if os.fork() == 0:
    ForkedAhead(int)
    os._exit(0)
os.wait()
"""
    assert told_by(script) == ""  # which waits until nobody holds its output open
