"""Tests of the project lock: one run at a time, and locks of dead processes are ignored."""

from __future__ import annotations

import fcntl
import os
import signal
from pathlib import Path

import pytest

from mcpgen.emit import write as holding
from mcpgen.emit.write import BusyError, lock_project


def test_a_second_run_raises_busy_error(tmp_path: Path) -> None:
    with lock_project(tmp_path):
        second = lock_project(tmp_path)
        with pytest.raises(BusyError, match=f"process {os.getpid()}"):
            second.__enter__()
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_killed_run_is_released(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        with lock_project(tmp_path):
            os.write(writing, b"held")
            signal.pause()
    assert os.read(reading, 4) == b"held"
    with pytest.raises(BusyError, match=f"process {process}"):
        lock_project(tmp_path).__enter__()
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with lock_project(tmp_path):
        assert (tmp_path / ".mcpgen/running").read_text() == str(os.getpid())


@pytest.mark.parametrize("process", ["own", "parent", "1", "-1", "9" * 30, ""])
def test_a_lock_file_without_a_holder_is_ignored(tmp_path: Path, process: str) -> None:
    """Its process id may be reused, even by this process: containers number from 1."""
    named = {"own": str(os.getpid()), "parent": str(os.getppid())}
    (tmp_path / ".mcpgen").mkdir()
    (tmp_path / ".mcpgen/running").write_text(named.get(process, process))
    with lock_project(tmp_path):
        assert (tmp_path / ".mcpgen/running").read_text() == str(os.getpid())
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_that_is_a_link_is_rejected(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    (tmp_path / ".mcpgen").mkdir()
    (tmp_path / ".mcpgen/running").symlink_to(mine)
    with pytest.raises(OSError, match="symbolic link"), lock_project(tmp_path):
        pass
    assert mine.read_text() == "mine"


def test_a_lock_file_removed_by_its_holder_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / ".mcpgen/running"
    real, opened = fcntl.flock, [0]

    def lock(handle: int, how: int) -> None:
        opened[0] += 1
        if opened[0] == 1:
            mark.unlink()
        real(handle, how)

    monkeypatch.setattr(holding.fcntl, "flock", lock)
    with lock_project(tmp_path):
        assert opened == [2]
        assert mark.exists()


def no_locks(handle: int, how: int) -> None:
    raise OSError(37, "No locks available")


def test_without_file_locks_the_process_id_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding.fcntl, "flock", no_locks)
    dead = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(dead, 0)
    mark = tmp_path / ".mcpgen/running"
    mark.parent.mkdir()

    mark.write_text(str(os.getppid()))
    with pytest.raises(BusyError, match=f"process {os.getppid()}"):
        lock_project(tmp_path).__enter__()

    for process in (dead, os.getpid()):
        mark.parent.mkdir(exist_ok=True)
        mark.write_text(str(process))
        with lock_project(tmp_path):
            assert mark.read_text() == str(os.getpid())


def test_the_lock_file_is_removed_when_a_run_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), lock_project(tmp_path):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(handle: int, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(holding.os, "write", no_space)
    with pytest.raises(OSError, match="No space"), lock_project(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
