"""Tests of the processes of a session, and their memory."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from mcpgen.factory.robustness.processes import (
    CAN_MEASURE,
    describe_process,
    kill_all,
    list_processes,
    measure_memory,
    wait_for_end,
)

pytestmark = pytest.mark.skipif(not CAN_MEASURE, reason="/proc is that of Linux")
PARENT = "import subprocess, sys; subprocess.Popen(['sleep', '60']); print(1, flush=True); input()"


def test_children_are_found_after_the_end_of_their_parent() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        (sys.executable, "-c", PARENT), stdin=pipe, stdout=pipe, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert len(list_processes(process.pid)) == 2
        size = measure_memory(process.pid)
        assert size is not None
        assert size > 1024 * 1024
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.wait(timeout=60)
    left = asyncio.run(wait_for_end(process.pid, 0.2))
    assert [describe_process(it) for it in left] == ["sleep"]
    kill_all(left)
    assert asyncio.run(wait_for_end(process.pid, 10)) == []
    assert measure_memory(process.pid) is None


def test_this_process_is_in_its_session() -> None:
    assert os.getpid() in list_processes(os.getsid(0))
