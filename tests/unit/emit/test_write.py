"""Tests that a project is written completely or not at all, wherever a run is interrupted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcpgen.emit import write as writing
from mcpgen.emit.write import (
    CutShortError,
    JournalDamagedError,
    OutsideTargetError,
    is_interrupted,
    roll_forward,
    write,
)
from mcpgen.ir.file_set import Owner, PlannedFile


class CutError(BaseException):
    """An error in place of a kill of the process: nothing catches it."""


def planned(path: str, text: str) -> PlannedFile:
    return PlannedFile(path, text.encode(), Owner.GENERATED)


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


def test_write_leaves_only_the_written_files(tmp_path: Path) -> None:
    old_project(tmp_path)
    write(tmp_path, NEW, ["gone/deep/x.txt"])
    assert tree(tmp_path) == AFTER
    assert not (tmp_path / "gone").exists()
    assert not (tmp_path / ".mcpgen/stage").exists()


def test_a_run_interrupted_at_any_step_is_undone_or_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupts the run before its first, second, ... change of the disk, until one completes."""
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


def test_a_full_disk_leaves_the_project_unchanged(
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


MANY = tuple(planned(f"many/{number}.txt", str(number)) for number in range(30))


def test_more_files_than_threads_are_all_written(tmp_path: Path) -> None:
    write(tmp_path, MANY, [])
    assert tree(tmp_path) == {file.path: file.content.decode() for file in MANY}


@pytest.mark.parametrize("refused", ["0", "13", "29", "journal.json"])
def test_a_file_that_cannot_be_staged_leaves_the_project_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    old_project(tmp_path)
    before = tree(tmp_path)
    open_file = os.open

    def refuse(path: Path, *more: int, **options: int) -> int:
        if Path(path).parent.name == "stage" and Path(path).name == refused:
            raise PermissionError(13, "Permission denied", str(path))
        return open_file(path, *more, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(PermissionError, match=refused):
            write(tmp_path, MANY, [])
    assert tree(tmp_path) == before
    assert not (tmp_path / ".mcpgen/stage").exists()


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "a\\..\\x", "C:x"])
def test_a_path_outside_the_project_is_rejected(tmp_path: Path, path: str) -> None:
    target = tmp_path / "t"
    target.mkdir()
    with pytest.raises(OutsideTargetError):
        write(target, (planned(path, "x"),), [])
    with pytest.raises(OutsideTargetError):
        write(target, (), [path])
    assert tree(tmp_path) == {}


def test_a_link_outside_the_project_is_rejected(tmp_path: Path) -> None:
    target, outside = tmp_path / "t", tmp_path / "outside"
    target.mkdir()
    outside.mkdir()
    (target / "src").symlink_to(outside)
    with pytest.raises(OutsideTargetError, match="symbolic link"):
        write(target, (planned("a/x.py", "x"), planned("src/x.py", "x")), [])
    assert tree(outside) == {}


def test_an_unchanged_file_keeps_its_modification_time(tmp_path: Path) -> None:
    old_project(tmp_path)
    os.utime(tmp_path / "mine.txt", ns=(1, 1))
    write(tmp_path, NEW, [])
    assert (tmp_path / "mine.txt").stat().st_mtime_ns == 1


def test_an_edit_made_after_an_interruption_is_kept(
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
def test_a_blocked_path_is_reported_before_anything_is_written(tmp_path: Path, path: str) -> None:
    old_project(tmp_path)
    before = tree(tmp_path)
    with pytest.raises(OSError, match="in the way"):
        write(tmp_path, (*NEW, planned(path, "x")), [])
    assert tree(tmp_path) == before


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    old_project(tmp_path)
    (tmp_path / "a/one.txt").chmod(0o755)
    write(tmp_path, NEW, [])
    assert (tmp_path / "a/one.txt").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("is_refused", ["replace", "unlink"])
def test_a_write_that_fails_midway_is_completed_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_refused: str
) -> None:
    old_project(tmp_path)
    with monkeypatch.context() as patch:
        real = getattr(Path, is_refused)

        def refuse(self: Path, *rest: object, **more: object) -> object:
            if {self.name, *(getattr(each, "name", "") for each in rest)} & {"two.txt", "x.txt"}:
                raise PermissionError(13, "Permission denied", str(self))
            return real(self, *rest)

        patch.setattr(Path, is_refused, refuse)
        with pytest.raises(CutShortError, match="Permission denied"):
            write(tmp_path, NEW, ["gone/deep/x.txt"])
    assert is_interrupted(tmp_path)
    assert roll_forward(tmp_path)
    assert tree(tmp_path) == AFTER


def left_journal(target: Path, journal: object) -> None:
    (target / ".mcpgen/stage").mkdir(parents=True)
    (target / ".mcpgen/stage/0").write_text("from elsewhere")
    text = journal if isinstance(journal, str) else json.dumps(journal)
    (target / ".mcpgen/journal.json").write_text(text)


@pytest.mark.parametrize(
    ("writes", "deletes"),
    [(["../out.txt"], []), ([], ["../out.txt"]), (["link/out.txt"], []), (["out.txt"], [])],
)
def test_a_journal_with_a_path_outside_the_project_is_rejected(
    tmp_path: Path, writes: list[str], deletes: list[str]
) -> None:
    """The journal may come with a folder from an untrusted source."""
    target, out = tmp_path / "t", tmp_path / "out.txt"
    target.mkdir()
    out.write_text("mine")
    (target / "link").symlink_to(tmp_path)
    (target / "out.txt").symlink_to(out)
    before = "b6d9a56a6d7bb3a7eaa2d3e4a8f6b1b0"
    left_journal(target, {"writes": writes, "deletes": deletes, "before": {"../out.txt": before}})
    with pytest.raises(JournalDamagedError, match=r"journal\.json leads out"):
        roll_forward(target)
    assert out.read_text() == "mine"
    assert (target / "out.txt").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.txt", "t"]


@pytest.mark.parametrize("journal", ["{", [], {"writes": ["a"]}, "[" * 100_000])
def test_an_invalid_journal_is_rejected(tmp_path: Path, journal: object) -> None:
    old_project(tmp_path)
    left_journal(tmp_path, journal)
    before = tree(tmp_path)
    with pytest.raises(JournalDamagedError, match="not what mcpgen writes"):
        roll_forward(tmp_path)
    assert tree(tmp_path) == before


def test_a_journal_deletes_only_files_with_a_recorded_hash(tmp_path: Path) -> None:
    old_project(tmp_path)
    left_journal(tmp_path, {"writes": [], "deletes": ["mine.txt"], "before": {}})
    assert roll_forward(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_link_within_the_project_is_kept(tmp_path: Path) -> None:
    old_project(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/two.txt").write_text("old two")
    (tmp_path / "two.txt").symlink_to("docs/two.txt")
    write(tmp_path, NEW, [])
    assert (tmp_path / "two.txt").is_symlink()
    assert (tmp_path / "docs/two.txt").read_text() == "new two"


def test_a_link_outside_the_project_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    target, outside = tmp_path / "t", tmp_path / "outside.txt"
    old_project(target)
    outside.write_text("not the project's")
    (target / "two.txt").symlink_to(outside)
    before = tree(target)
    with pytest.raises(OutsideTargetError, match=r"two\.txt is a symbolic link"):
        write(target, NEW, [])
    assert tree(target) == before
    assert (target / "two.txt").is_symlink()


def test_deleting_a_link_keeps_its_target(tmp_path: Path) -> None:
    target, outside = tmp_path / "t", tmp_path / "outside.txt"
    old_project(target)
    outside.write_text("not the project's")
    (target / "gone.txt").symlink_to(outside)
    write(target, NEW, ["gone.txt"])
    assert not (target / "gone.txt").is_symlink()
    assert outside.read_text() == "not the project's"
