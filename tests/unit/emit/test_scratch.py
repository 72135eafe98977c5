"""Tests that runs leave nothing in the temporary directory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mcpgen.emit.scratch import scratch_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="knows no lock of a folder")

KILLED_WHILE_FORMATTING = """
import os, signal, subprocess
from mcpgen.emit.format import format_files
from mcpgen.ir.file_set import Owner, PlannedFile
subprocess.run = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
format_files((PlannedFile("a.py", b"a = 1", Owner.GENERATED),))
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def grow_old(folder: Path) -> None:
    os.utime(folder, (0, 0))


def test_a_scratch_folder_is_empty_and_removed_afterwards(temporary: Path) -> None:
    with scratch_folder() as folder:
        assert not list(folder.iterdir())
        (folder / "file").touch()
    assert not list(temporary.iterdir())


def test_a_scratch_folder_of_a_killed_run_is_removed_by_the_next_run(temporary: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED_WHILE_FORMATTING], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = temporary.iterdir()
    assert (left / "a.py").is_file()
    grow_old(left)
    with scratch_folder() as folder:
        assert list(temporary.iterdir()) == [folder]


def test_an_old_scratch_folder_in_use_is_kept(temporary: Path) -> None:
    with scratch_folder() as long_at_work:
        grow_old(long_at_work)
        with scratch_folder():
            assert long_at_work.is_dir()


def test_a_new_scratch_folder_without_a_lock_is_kept(temporary: Path) -> None:
    made = temporary / "mcpgen-scratch-made"
    made.mkdir()
    with scratch_folder():
        assert made.is_dir()


def test_a_link_that_looks_like_a_scratch_folder_is_not_followed(temporary: Path) -> None:
    precious = temporary / "precious"
    precious.mkdir()
    (precious / "file").touch()
    grow_old(precious)
    (temporary / "mcpgen-scratch-link").symlink_to(precious)
    with scratch_folder():
        assert (precious / "file").is_file()


def test_a_scratch_folder_that_cannot_be_removed_is_ignored(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = temporary / "mcpgen-scratch-left"
    left.mkdir()
    grow_old(left)

    def refuse(_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("shutil.rmtree", refuse)
    with scratch_folder() as folder:
        assert folder.is_dir()
        monkeypatch.undo()


def test_an_unlistable_temporary_directory_is_used(temporary: Path) -> None:
    temporary.chmod(0o300)
    try:
        if os.access(temporary, os.R_OK):
            pytest.skip("root may list every folder")
        with scratch_folder() as folder:
            (folder / "file").touch()
    finally:
        temporary.chmod(0o700)
