"""Tests of the files of the user's cache that belong to a project's folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcpgen.pipeline import folder_cache
from mcpgen.pipeline.folder_cache import FolderCache


def test_each_folder_and_kind_has_its_own_file(tmp_path: Path) -> None:
    first, second = (FolderCache(tmp_path, "cases", tmp_path / name) for name in ("a", "b"))
    other = FolderCache(tmp_path, "skeleton", tmp_path / "a")
    assert not first.exists
    first.write(b"first")
    assert [each.read(bytes) for each in (first, second, other)] == [b"first", None, None]
    assert (first.exists, second.exists, other.exists) == (True, False, False)


@pytest.mark.parametrize("damage", ["changed", "cut", "empty", "folder"])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, damage: str) -> None:
    cache = FolderCache(tmp_path, "cases", tmp_path / "project")
    cache.write(b"content")
    [path] = (tmp_path / "cases").iterdir()
    content = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        damaged = {"changed": content[:-1] + b"?", "cut": content[:-1], "empty": b""}
        path.write_bytes(damaged[damage])
    assert cache.read(bytes) is None


def test_a_value_of_another_type_is_as_good_as_none(tmp_path: Path) -> None:
    cache = FolderCache(tmp_path, "cases", tmp_path / "project")
    cache.write({"a": 1})
    assert cache.read(dict[str, int]) == {"a": 1}
    assert cache.read(list[int]) is None


def test_a_cache_that_cannot_be_written_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    cache = FolderCache(tmp_path / "file", "cases", tmp_path / "project")
    cache.write(b"content")
    assert cache.read(bytes) is None


def test_the_files_that_are_oldest_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_cache, "MAX_BYTES", 2_500)
    caches = [FolderCache(tmp_path, "cases", tmp_path / str(number)) for number in range(4)]
    for cache in caches:
        cache.write(b"x" * 900)
        for path in (tmp_path / "cases").iterdir():
            about = path.stat()
            os.utime(path, (about.st_atime, about.st_mtime - 10))
    assert [bool(cache.read(bytes)) for cache in caches] == [False, False, True, True]
