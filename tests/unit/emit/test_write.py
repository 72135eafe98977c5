"""All of a project is written or nothing, wherever a run is cut."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mcpgen.emit import write as writing
from mcpgen.emit.write import (
    BusyError,
    OutsideTargetError,
    exclusive,
    is_interrupted,
    roll_forward,
    write,
)
from mcpgen.ir.file_set import Owner, PlannedFile


class CutError(BaseException):
    """Stands for the process being killed: nothing catches it."""


def planned(path: str, text: str, **more: bool) -> PlannedFile:
    return PlannedFile(path, text.encode(), Owner.GENERATED, **more)


NEW = (planned("a/one.txt", "new one"), planned("two.txt", "new two"), planned("mcpgen.lock", "l"))


def old_project(target: Path) -> None:
    (target / "a").mkdir(parents=True)
    (target / "a/one.txt").write_text("old one")
    (target / "gone/deep").mkdir(parents=True)
    (target / "gone/deep/x.txt").write_text("x")
    (target / "mine.txt").write_text("mine")


def tree(target: Path) -> dict[str, str]:
    return {
        path.relative_to(target).as_posix(): path.read_text()
        for path in sorted(target.rglob("*"))
        if path.is_file()
    }


AFTER = {
    "a/one.txt": "new one",
    "mcpgen.lock": "l",
    "mine.txt": "mine",
    "two.txt": "new two",
}


def test_files_are_written_and_deleted_and_nothing_else_is_left(tmp_path: Path) -> None:
    old_project(tmp_path)
    write(tmp_path, NEW, ["gone/deep/x.txt"])
    assert tree(tmp_path) == AFTER
    assert not (tmp_path / "gone").exists()
    assert not (tmp_path / ".mcpgen/stage").exists()


def test_a_run_cut_at_any_step_is_undone_or_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cuts the run before its first, second, ... change of the disk, until one goes through."""
    outcomes: list[bool] = []
    for step in range(100):
        target = tmp_path / str(step)
        old_project(target)
        before = tree(target)
        with monkeypatch.context() as patch:
            cut_before_step(patch, step)
            try:
                write(target, NEW, ["gone/deep/x.txt"])
            except CutError:
                pass
            else:
                break
        was_begun = roll_forward(target)
        assert tree(target) in ([AFTER] if was_begun else [before, AFTER])
        assert not is_interrupted(target)
        assert not roll_forward(target)
        outcomes.append(tree(target) == AFTER)
    assert outcomes == sorted(outcomes), "once begun, a run is always finished"
    assert set(outcomes) == {True, False}


def cut_before_step(patch: pytest.MonkeyPatch, step: int) -> None:
    left = [step]

    def counted(name: str, owner: object) -> None:
        original = getattr(owner, name)

        def tick(*args: object, **kwargs: object) -> object:
            if left[0] == 0:
                raise CutError(name)
            left[0] -= 1
            return original(*args, **kwargs)

        patch.setattr(owner, name, tick)

    for name in ("mkdir", "replace", "unlink"):
        counted(name, Path)
    counted("open", os)
    counted("fsync", os)


def test_a_full_disk_leaves_the_project_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_project(tmp_path)
    before = tree(tmp_path)

    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        write(tmp_path, NEW, [])
    assert tree(tmp_path) == before
    assert not is_interrupted(tmp_path)


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "a\\..\\x", "C:x"])
def test_no_path_leads_out(tmp_path: Path, path: str) -> None:
    target = tmp_path / "t"
    target.mkdir()
    with pytest.raises(OutsideTargetError):
        write(target, (planned(path, "x"),), [])
    with pytest.raises(OutsideTargetError):
        write(target, (), [path])
    assert tree(tmp_path) == {}


def test_no_link_leads_out(tmp_path: Path) -> None:
    target, outside = tmp_path / "t", tmp_path / "outside"
    target.mkdir()
    outside.mkdir()
    (target / "src").symlink_to(outside)
    with pytest.raises(OutsideTargetError, match="symbolic link"):
        write(target, (planned("src/x.py", "x"),), [])
    assert tree(outside) == {}


def test_a_file_that_is_not_written_keeps_its_time(tmp_path: Path) -> None:
    old_project(tmp_path)
    os.utime(tmp_path / "mine.txt", ns=(1, 1))
    write(tmp_path, NEW, [])
    assert (tmp_path / "mine.txt").stat().st_mtime_ns == 1


def test_an_executable_is_one(tmp_path: Path) -> None:
    write(tmp_path, (planned("run", "x", is_executable=True), planned("data", "x")), [])
    assert os.access(tmp_path / "run", os.X_OK)
    assert not os.access(tmp_path / "data", os.X_OK)


def test_two_runs_do_not_meet(tmp_path: Path) -> None:
    with exclusive(tmp_path):
        second = exclusive(tmp_path)
        with pytest.raises(BusyError, match=f"process {os.getpid()}"):
            second.__enter__()
    assert list(tmp_path.iterdir()) == []


def test_the_mark_of_a_dead_process_holds_nobody(tmp_path: Path) -> None:
    (tmp_path / ".mcpgen").mkdir()
    process = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(process, 0)
    (tmp_path / ".mcpgen/running").write_text(str(process))
    with exclusive(tmp_path):
        assert (tmp_path / ".mcpgen/running").read_text() == str(os.getpid())


def test_two_runs_do_not_meet_where_the_disk_knows_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(writing.os, "link", refuse)
    test_two_runs_do_not_meet(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="a mark is believed there")
def test_a_dead_mark_is_looked_at_by_one_process_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the slower of two would remove the mark that the quicker one put meanwhile."""
    import fcntl

    others: list[str] = []

    def is_running(process: int) -> bool:
        folder = os.open(tmp_path / ".mcpgen", os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            others.append("may look")
        except BlockingIOError:
            others.append("wait")
        finally:
            os.close(folder)
        return False

    (tmp_path / ".mcpgen").mkdir()
    (tmp_path / ".mcpgen/running").write_text("4711")
    monkeypatch.setattr(writing, "_is_running", is_running)
    with exclusive(tmp_path):
        assert others[0] == "wait"


def test_a_full_disk_leaves_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"), exclusive(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_mark_goes_when_a_run_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), exclusive(tmp_path):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_an_edit_made_after_the_cut_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_project(tmp_path)
    with monkeypatch.context() as patch:
        moves = iter(range(100))
        real = Path.replace

        def cut_at_the_first_file(self: Path, target: Path) -> Path:
            if next(moves) == 1:
                raise CutError
            return real(self, target)

        patch.setattr(Path, "replace", cut_at_the_first_file)
        with pytest.raises(CutError):
            write(tmp_path, NEW, ["gone/deep/x.txt"])
    (tmp_path / "a/one.txt").write_text("edited since")
    (tmp_path / "gone/deep/x.txt").write_text("edited since")
    assert roll_forward(tmp_path)
    found = tree(tmp_path)
    assert found.pop("gone/deep/x.txt") == "edited since"
    [copy] = [path for path in found if path.startswith(".mcpgen/rescued/a/one.txt.")]
    assert found.pop(copy) == "edited since"
    assert found == AFTER


@pytest.mark.parametrize("path", ["a", "mine.txt/below/it"])
def test_what_is_in_the_way_is_found_before_anything_is_written(tmp_path: Path, path: str) -> None:
    old_project(tmp_path)
    before = tree(tmp_path)
    with pytest.raises(OSError, match="in the way"):
        write(tmp_path, (*NEW, planned(path, "x")), [])
    assert tree(tmp_path) == before


@pytest.mark.parametrize("content", ["", "x"])
def test_a_mark_that_names_nobody_holds_nobody(tmp_path: Path, content: str) -> None:
    (tmp_path / ".mcpgen").mkdir()
    (tmp_path / ".mcpgen/running").write_text(content)
    (tmp_path / ".mcpgen/running.999999999").write_text("999999999")
    with exclusive(tmp_path):
        assert [path.name for path in (tmp_path / ".mcpgen").iterdir()] == ["running"]


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    old_project(tmp_path)
    (tmp_path / "a/one.txt").chmod(0o755)
    write(tmp_path, NEW, [])
    assert (tmp_path / "a/one.txt").stat().st_mode & 0o777 == 0o755
